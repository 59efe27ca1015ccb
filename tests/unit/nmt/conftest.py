"""What tests of the model and of its network share."""

import pytest


@pytest.fixture(params=[False, True], ids=["no feeding", "input feeding"])
def input_feeding(request):
    return request.param

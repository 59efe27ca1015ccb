"""Small models and a split for them."""

import numpy as np
import pytest
from splits import SIZE, Pairs

from trellex.text.vocabulary import UNK


@pytest.fixture(scope="module")
def pairs(sources):
    """References of known words and UNK, one of them empty."""
    random = np.random.default_rng(1)
    return Pairs(
        sources, [np.append(random.integers(3, SIZE, length), UNK) for length in (7, 2, 0, 9)] + [sources[0][:0]]
    )


@pytest.fixture
def model_of(model_of):
    """Makes a model of SIZE target words."""
    return lambda head, **options: model_of(head, target_size=SIZE, **options).model

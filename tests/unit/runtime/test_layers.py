"""Every family of heads can be built in torch, exported and loaded."""

import pytest

from trellex.heads import HeadSpec
from trellex.heads.build import HEADS
from trellex.heads.distribution import Distribution
from trellex.nmt.build import NETWORKS
from trellex.runtime import export, model
from trellex.runtime.layers import LAYERS


def test_there_is_one_for_every_family():
    assert set(LAYERS) == set(HEADS) == set(HeadSpec.families)
    assert all(issubclass(layer, Distribution) for layer in LAYERS.values())


def test_there_is_a_network_for_every_kind_of_settings():
    types = {settings.model_fields["type"].default for settings in NETWORKS}
    assert set(export.NETWORKS) == set(model.NETWORKS) == types


@pytest.mark.parametrize("head", ["softmax", "binary-ec", "hybrid-9-ec"])
def test_what_is_loaded_is_of_the_family(both, head):
    ours, theirs, _ = both(head)
    assert type(theirs.model.layer) is LAYERS[type(ours.head)]
    assert theirs.head == ours.head == ours.model.head.spec
    assert (theirs.model.layer.hidden_size, theirs.model.layer.vocab_size) == (16, 40)
    assert theirs.step is None

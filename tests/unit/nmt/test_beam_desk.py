"""A step of beams asks for no value: it is computed for tensors that have none."""

import pytest
import torch
from torch import nn

from trellex.heads import build_head
from trellex.nmt.beam_desk import BeamDesk
from trellex.nmt.lstm.decoder import DecoderState

H, V = 8, 40


class Network:
    """What a desk needs of one."""

    def __init__(self):
        self.embedding = nn.Embedding(V, H)

    def start(self, source, _):
        sentences, columns = source.shape
        sizes = [(H,), (H,), (H,), (columns, H), (columns, H), (columns,)]
        return DecoderState(*(torch.zeros(sentences, *size) for size in sizes))

    def step(self, state, words):
        h = self.embedding(words) + state.h
        return h, state._replace(h=h, c=state.c + h, output=h)


def desk_of(head):
    """One of 4 sentences, 5 hypotheses each and 3 words, which are read."""
    network = Network()
    desk = BeamDesk(network, build_head(head, hidden_size=H, vocab=V, embedding=network.embedding), (4, 5, 3), None)
    with torch.no_grad():
        desk._encoded()
    return desk


TREE = {"type": "hierarchical", "code": "frequency"}
HEADS = ["softmax", {"type": "softmax", "tied": True}, "differentiated", "free", TREE]


@pytest.mark.parametrize("head", HEADS, ids=str)
@torch.no_grad()
def test_a_step_asks_for_no_value(head):
    with torch.device("meta"):
        desk = desk_of(head)
        desk.move(torch.empty(desk.size, dtype=torch.uint8))
        desk._stepped()
        with pytest.raises((RuntimeError, NotImplementedError)):  # so would any that did
            desk._chosen.sum().item()


@torch.no_grad()
def test_encoded_sources_stay_in_their_place_and_are_not_copied():
    desk = desk_of("softmax")
    places = [desk._state.states, desk._state.keys, desk._state.mask]
    before, of_h = [place._version for place in places], desk._state.h._version
    desk._stepped()
    assert [place._version for place in places] == before
    assert desk._state.h._version > of_h  # what hypotheses have for themselves is

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


@pytest.mark.parametrize("head", ["softmax", {"type": "softmax", "tied": True}, "differentiated", "free"], ids=str)
def test_a_step_asks_for_no_value(head):
    with torch.device("meta"):
        network = Network()
        desk = BeamDesk(network, build_head(head, hidden_size=H, vocab=V, embedding=network.embedding), (4, 5, 3), None)
        desk.move(torch.empty(desk.size, dtype=torch.uint8))
        with torch.inference_mode():
            desk._encoded()
            desk._stepped()
        with pytest.raises((RuntimeError, NotImplementedError)):  # so would any that did
            desk._chosen.sum().item()

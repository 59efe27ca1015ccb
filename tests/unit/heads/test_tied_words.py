"""Scores by the decoder's word vectors: where they begin, what precision they have, and those of some words alone."""

import math

import pytest
import torch
from torch import nn

from trellex.heads import Cost, build_head
from trellex.heads.tied import TiedWords

TIED = {"type": "softmax", "tied": True}


@pytest.mark.parametrize("spread", [0.1, 0.5, 3.0])
@pytest.mark.parametrize("size", [512, 128])
def test_the_loss_begins_near_that_of_equal_chances(size, spread):
    """Whatever the decoder's tanh puts out, though every word vector has the length √E."""
    torch.manual_seed(0)
    words = 1 << 14
    head = build_head(TIED, hidden_size=512, vocab=words, embedding=nn.Embedding(words, size))
    h, target = torch.tanh(spread * torch.randn(64, 512)), torch.randint(words, (64,))
    with torch.no_grad():
        assert head.loss(h, target).mean() == pytest.approx(math.log(words), abs=0.3)
        assert head._logits(h).std() > 0.02


def test_under_autocast_losses_and_probabilities_are_in_single_precision():
    embedding, h = nn.Embedding(50, 6), torch.randn(7, 4)
    head = build_head(TIED, hidden_size=4, vocab=50, embedding=embedding)
    words = torch.arange(7)
    expected = head.loss(h, words)
    with torch.autocast("cpu", torch.bfloat16):
        assert head.linear(h).dtype == torch.bfloat16
        values = [head.loss(h, words), -head.log_prob(h, words), head.topk(h, 3)[1]]
    assert all(value.dtype == torch.float32 for value in values)
    torch.testing.assert_close(values[0], expected, rtol=0, atol=0.05)
    torch.testing.assert_close(values[1], expected, rtol=0, atol=0.05)
    values[0].sum().backward()
    assert embedding.weight.grad.dtype == torch.float32
    assert embedding.weight.grad.any(-1).all()


def test_scores_of_some_words_are_those_among_all():
    words, some = TiedWords(4, nn.Embedding(50, 6)), torch.tensor([3, 0, 49])
    nn.init.normal_(words.bias)
    h = torch.randn(7, 4)
    scores = words.project(h) @ words.vectors[some].T + words.bias[some]
    torch.testing.assert_close(scores, words(h)[:, some])
    assert words.cost(3) == Cost(outputs=3, bits=0, parameters=50 + 4 * 6, multiply_adds=4 * 6 + 6 * 3)

"""Logits near the limits of their type: losses, gradients and log-probabilities are finite in every head."""

import pytest
import torch
from torch import nn

from trellex.heads import build_head

VOCAB, WORDS = 50, torch.tensor([0, 3, 15, 16, 40, 49, -100])
SPECS = [
    "softmax",
    {"type": "softmax", "label_smoothing": 0.1},
    {"type": "softmax", "tied": True},
    {"type": "softmax", "tied": True, "label_smoothing": 0.1},
    "binary",
    {"type": "binary", "loss": "cross_entropy"},
    "binary-ec",
    {"type": "binary-ec", "loss": "trellis"},
    {"type": "binary-ec", "mixtures": 3},
    "hybrid-16-ec",
    {"type": "hybrid-16-ec", "loss": "trellis", "label_smoothing": 0.1},
    {"type": "hybrid-16-ec", "mixtures": 2, "hidden_layer": 4},
    {"type": "binary-ec", "generators": "complete", "memory": 4},
    {"type": "hybrid-16-ec", "generators": "complete", "memory": 3, "label_smoothing": 0.1},
    {"type": "shelves", "code": "random", "words": 4, "visit": 3, "memory": 3},
    {"type": "shelves", "code": "random", "words": 4, "visit": 3, "memory": 3, "label_smoothing": 0.1},
    {"type": "shelves", "code": "random", "words": 8, "visit": 1, "memory": 3, "shelf_weight": 0.5},
    {"type": "shelves", "code": "random", "words": 2, "visit": 99, "memory": 3},
    {"type": "hierarchical", "code": "random"},
    {"type": "adaptive", "div_value": 2.0},
    "differentiated",
    {"type": "differentiated", "label_smoothing": 0.1},
    "free",
    {"type": "free", "bits": 8, "label_smoothing": 0.1},
]
LIMITS = {torch.float64: 1.7e308, torch.float32: 3.3e38, torch.bfloat16: 3.3e38, torch.float16: 6.5e4}


@pytest.fixture
def build():
    """A head whose logits are near the limits of a type, and hidden states."""

    def build(spec, kind, share):
        torch.manual_seed(3)
        embedding = nn.Embedding(VOCAB, 6, dtype=kind)
        head = build_head(spec, hidden_size=8, vocab=VOCAB, embedding=embedding).to(kind)
        with torch.no_grad():
            for name, parameter in head.named_parameters():
                if parameter.ndim == 1 and "hidden" not in name:
                    signs = torch.randint(0, 2, parameter.shape) * 2 - 1
                    parameter.copy_(signs.to(kind) * (LIMITS[kind] * share))
        return head, torch.randn(len(WORDS), 8).to(kind).requires_grad_()

    return build


@pytest.mark.parametrize("share", [1, 0.01])
@pytest.mark.parametrize("kind", LIMITS, ids=str)
@pytest.mark.parametrize("spec", SPECS, ids=str)
class TestLargeLogits:
    def test_loss_and_gradients(self, build, spec, kind, share):
        head, h = build(spec, kind, share)
        loss = head.loss(h, WORDS)
        assert loss.isfinite().all()
        assert (loss >= 0).all()
        loss.sum().backward()
        for values in (h, *head.parameters()):
            assert values.grad.isfinite().all()

    def test_probabilities(self, build, spec, kind, share):
        head, h = build(spec, kind, share)
        words, log_probs = head.topk(h, 5)
        assert log_probs.isfinite().all()
        assert (log_probs.diff() <= 0).all()
        assert (log_probs < 1e-4).all()
        assert (words >= 0).all()
        expected = torch.stack([head.log_prob(h, words[:, place]) for place in range(5)], -1)
        torch.testing.assert_close(expected, log_probs, rtol=1e-5, atol=1e-4 * (1 + log_probs.abs().max().item()))
        every = torch.stack([head.log_prob(h, torch.full((len(h),), word)) for word in range(VOCAB)], -1)
        assert every.isfinite().all()
        torch.testing.assert_close(every.amax(-1), log_probs[:, 0])

    def test_words(self, build, spec, kind, share):
        head, h = build(spec, kind, share)
        for temperature in (0.001, 1, 1000):
            drawn = head.sample(h, temperature)
            assert ((drawn >= 0) & (drawn < VOCAB)).all()
        best = head.best(h)
        assert ((best >= 0) & (best < VOCAB)).all()


@pytest.mark.parametrize("kind", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("is_one", [True, False], ids=["one", "all"])
@pytest.mark.parametrize("spec", [spec for spec in SPECS if "label_smoothing" not in spec], ids=str)
def test_probabilities_sum_to_1_with_logits_of_a_hundred_million(build, spec, is_one, kind):
    head, h = build(spec, kind, 0)
    random = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in head.named_parameters():
            if parameter.ndim == 1 and "hidden" not in name:
                parameter.copy_((2 * torch.rand(parameter.shape, generator=random) - 1) * (1 if is_one else 1e8))
                parameter[len(parameter) // 2] = 1e8
        every = torch.stack([head.log_prob(h, torch.full((len(h),), word)) for word in range(VOCAB)], -1)
    torch.testing.assert_close(every.double().exp().sum(-1), torch.ones(len(h)).double(), rtol=0, atol=1e-6)

"""Output layers on a GPU say and learn what they do in main memory."""

import copy

import pytest
import torch
from torch import nn

from trellex.heads import build_head

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]

V, H = 5000, 24
COMPLETE = {"generators": "complete", "memory": 5, "code": "random"}
SPECS = [
    {"type": "softmax", "tied": True},
    {"type": "binary-ec", **COMPLETE},
    {"type": "hybrid-64-ec", **COMPLETE},
    {"type": "shelves", "words": 16, "visit": 3, "memory": 6, "code": "random"},
    {"type": "shelves", "words": 2, "visit": 5, "memory": 4, "code": "frequency"},
    {"type": "hierarchical", "code": "random"},
    {"type": "adaptive", "div_value": 2.0},
    "differentiated",
    "free",
]


class Heads(nn.Module):
    """A head and the vectors it may share, which copies and moves keep together."""

    def __init__(self, spec):
        super().__init__()
        torch.manual_seed(3)
        self.embedding = nn.Embedding(V, 10)
        self.head = build_head(spec, hidden_size=H, vocab=V, embedding=self.embedding)


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("rows", [7, 1500])
def test_as_in_main_memory(spec, rows):
    here = Heads(spec).double()
    there = copy.deepcopy(here).cuda()
    generator = torch.Generator().manual_seed(rows)
    h = torch.randn(rows, H, dtype=torch.float64, generator=generator) * 3
    words = torch.randint(V, (rows,), generator=generator)
    expected, found = here.head.loss(h, words), there.head.loss(h.cuda(), words.cuda())
    torch.testing.assert_close(found.cpu(), expected)
    torch.testing.assert_close(there.head.log_prob(h.cuda(), words.cuda()).cpu(), here.head.log_prob(h, words))
    expected.sum().backward()
    found.sum().backward()
    for mine, theirs in zip(here.parameters(), there.parameters(), strict=True):
        if mine.grad is not None:
            torch.testing.assert_close(theirs.grad.cpu(), mine.grad, atol=1e-6, rtol=1e-6)
    with torch.no_grad():
        best, log_probs = here.head.topk(h, 4)
        best_there, log_probs_there = there.head.topk(h.cuda(), 4)
        assert torch.equal(best_there.cpu(), best)
        torch.testing.assert_close(log_probs_there.cpu(), log_probs)
        drawn = there.head.sample(h.cuda(), 0.7)
        assert drawn.is_cuda
        assert ((drawn >= 0) & (drawn < V)).all()


@pytest.mark.parametrize("spec", ["softmax", *SPECS[:5]], ids=str)
@pytest.mark.parametrize("autocast", [False, True])
def test_losses_by_kernels(spec, autocast):
    """In single and half precision, unlike in double, kernels compute them."""
    here, there = Heads(spec), Heads(spec).cuda()
    h, words = torch.randn(300, H), torch.randint(V, (300,))
    expected = here.head.loss(h, words)
    with torch.autocast("cuda", torch.bfloat16, enabled=autocast):
        found = there.head.loss(h.cuda(), words.cuda())
    assert found.dtype == torch.float32
    near = {"rtol": 0.05, "atol": 0.1} if autocast else {"rtol": 1e-4, "atol": 1e-4}
    torch.testing.assert_close(found.cpu(), expected, **near)
    expected.mean().backward()
    found.mean().backward()
    for mine, theirs in zip(here.parameters(), there.parameters(), strict=True):
        if mine.grad is not None:
            assert (theirs.grad.cpu() - mine.grad).norm() <= near["rtol"] * mine.grad.norm()


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize(
    "options",
    [{"loss": "sampled"}, {"loss": "nce"}, {"loss": "sampled", "proposal": "code", "samples": 16}],
    ids=str,
)
def test_training_by_drawn_words_does_not_wait(options, tied):
    """Once all tables are there and all kernels compiled."""
    there = Heads({"type": "softmax", "tied": tied, **options}).cuda()
    h, words = torch.randn(1500, H, device="cuda", requires_grad=True), torch.randint(V, (1500,), device="cuda")
    there.head.loss(h, words).sum().backward()
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        loss = there.head.loss(h, words)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    loss.sum().backward()
    assert loss.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in there.head.parameters())


def test_training_by_all_words_is_that_of_the_full_softmax():
    there = Heads({"type": "softmax", "loss": "sampled", "samples": V}).cuda()
    h, words = torch.randn(9, H, device="cuda"), torch.randint(V, (9,), device="cuda")
    torch.testing.assert_close(there.head.loss(h, words), there.eval().head.loss(h, words))

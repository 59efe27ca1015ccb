"""The kernels of attention against plain torch: in Triton's interpreter, and on a GPU where there is one."""

import pytest
import torch

fused = pytest.importorskip("trellex.nmt.lstm.fused_energies", reason="Triton is not installed")

PLACE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.mark.parametrize(
    ("rows", "steps", "width", "size"),
    [(1, 1, 1, 1), (2, 3, 5, 20), (3, 2, 17, 64), (2, 2, 40, 70), (0, 2, 3, 4), (2, 0, 3, 4), (2, 3, 0, 4)],
)
@pytest.mark.parametrize("scale", [0.5, 30.0])
def test_values_and_gradients(rows, steps, width, size, scale):
    random = torch.Generator().manual_seed(width)
    shapes = (rows, steps, size), (rows, width, size), (size,)
    exact = [torch.randn(each, generator=random, dtype=torch.float64) * scale for each in shapes]
    found = [each.to(PLACE, torch.float32).requires_grad_() for each in exact]
    exact = [each.requires_grad_() for each in exact]
    queries, keys, vector = exact
    expected = torch.tanh(queries[:, :, None] + keys[:, None]) @ vector
    scores = fused.energies(*found)
    near = {"rtol": 1e-4, "atol": 1e-4 * scale}
    torch.testing.assert_close(scores.cpu().double(), expected, **near)
    weights = torch.linspace(-1, 2, max(1, expected.numel()), dtype=torch.float64)[: expected.numel()].view_as(expected)
    theirs = torch.autograd.grad((expected * weights).sum(), exact)
    mine = torch.autograd.grad((scores * weights.to(scores)).sum(), found)
    for each, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(each.cpu().double(), other, **near)


def test_half_precision():
    queries, keys, vector = torch.randn(2, 3, 32), torch.randn(2, 5, 32), torch.randn(32)
    halves = [each.to(PLACE, torch.bfloat16).requires_grad_() for each in (queries, keys)]
    scores = fused.energies(*halves, vector.to(PLACE))
    assert scores.dtype == torch.float32
    expected = torch.tanh(queries[:, :, None] + keys[:, None]) @ vector
    torch.testing.assert_close(scores.cpu(), expected, rtol=0.05, atol=0.15)
    assert all(each.dtype == torch.bfloat16 for each in torch.autograd.grad(scores.sum(), halves))

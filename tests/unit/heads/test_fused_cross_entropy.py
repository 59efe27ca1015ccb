"""The kernel of the softmax's loss against PyTorch's: in Triton's interpreter, and on a GPU where there is one."""

import pytest
import torch
from torch import nn

fused = pytest.importorskip("trellex.heads.fused_cross_entropy", reason="Triton is not installed")

PLACE = "cuda" if torch.cuda.is_available() else "cpu"
ROWS, SIZE = 9, 12


def inputs(words, scale=3.0):
    random = torch.Generator().manual_seed(words)
    values = [torch.randn(shape, generator=random) * scale for shape in ((ROWS, SIZE), (words, SIZE), (words,))]
    target = torch.randint(words, (ROWS,), generator=random)
    return [each.to(PLACE).requires_grad_() for each in values], target.to(PLACE)


def by_pytorch(h, weight, bias, target, smoothing=0.0):
    scores = nn.functional.linear(h, weight, bias).float()
    return nn.functional.cross_entropy(scores, target, reduction="none", label_smoothing=smoothing)


@pytest.mark.parametrize("words", [2, 63, 64, 65, 200])
@pytest.mark.parametrize("scale", [0.0, 3.0, 100.0])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
def test_values_and_gradients(words, scale, smoothing, monkeypatch):
    monkeypatch.setattr(fused, "BLOCK", 64)
    values, target = inputs(words, scale=scale)
    found, expected = (each(*values, target, smoothing) for each in (fused.cross_entropy, by_pytorch))
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-5 * max(1, scale**2))
    weights = torch.linspace(-1, 2, ROWS, device=PLACE)
    of_found, of_expected = (torch.autograd.grad((each * weights).sum(), values) for each in (found, expected))
    for mine, theirs in zip(of_found, of_expected, strict=True):
        torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4 * max(1, scale))


def test_half_precision_under_autocast(monkeypatch):
    """Products, and the gradients of scores, are rounded as those of a linear layer are."""
    monkeypatch.setattr(fused, "BLOCK", 64)
    values, target = inputs(150, scale=1.0)
    with torch.autocast(PLACE, torch.bfloat16):
        found, expected = fused.cross_entropy(*values, target), by_pytorch(*values, target)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected, rtol=0.02, atol=0.02)
    for mine, theirs in zip(*(torch.autograd.grad(each.sum(), values) for each in (found, expected)), strict=True):
        assert mine.dtype == torch.float32
        torch.testing.assert_close(mine, theirs, rtol=0.05, atol=0.05)


def test_no_rows():
    values, target = inputs(5)
    assert fused.cross_entropy(values[0][:0], *values[1:], target[:0]).shape == (0,)


@pytest.mark.parametrize("word", [-1, 5, 1 << 40])
def test_targets_that_are_no_words(word):
    """They are found out by the loss, for ids on an accelerator are not looked at before."""
    values, target = inputs(5)
    target[3] = word
    assert fused.cross_entropy(*values, target).isnan().nonzero().tolist() == [[3]]


def test_targets_that_are_not_side_by_side():
    values, target = inputs(5)
    apart = torch.stack([target, target * 0], 1)[:, 0]
    torch.testing.assert_close(fused.cross_entropy(*values, apart), by_pytorch(*values, target))


def test_scores_that_are_no_numbers():
    """They are found out by the loss."""
    (h, weight, bias), target = inputs(5)
    assert fused.cross_entropy(h.detach() * float("nan"), weight, bias, target).isnan().all()

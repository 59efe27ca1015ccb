"""The recurrent layer as GPUs compute it, against PyTorch's own."""

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from trellex.nmt.lstm.layer import LSTM


@pytest.mark.parametrize("lengths", [[1], [3, 1, 5], [4, 4], [1, 1, 2, 9]], ids=str)
def test_padding_is_passed_over(lengths):
    torch.manual_seed(2)
    lstm = LSTM(3, 4, batch_first=True, bidirectional=True).double()
    inputs = torch.randn(len(lengths), max(lengths) + 2, 3, dtype=torch.float64, requires_grad=True)
    sizes = torch.tensor(lengths)
    packed, (h, c) = lstm(pack_padded_sequence(inputs, sizes, batch_first=True, enforce_sorted=False))
    expected, _ = pad_packed_sequence(packed, batch_first=True, total_length=inputs.shape[1])
    outputs, (own_h, own_c) = lstm.whole(inputs, sizes)
    outputs = outputs.masked_fill((torch.arange(inputs.shape[1]) >= sizes[:, None])[..., None], 0)
    for mine, theirs in ((outputs, expected), (own_h, h), (own_c, c)):
        torch.testing.assert_close(mine, theirs)
    leaves = [inputs, *lstm.parameters()]
    sums = (
        sum((values * torch.linspace(-1, 2, values.numel()).view_as(values)).sum() for values in each)
        for each in ((outputs, own_h, own_c), (expected, h, c))
    )
    for mine, theirs in zip(*(torch.autograd.grad(each, leaves) for each in sums), strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.parametrize("is_given", [False, True])
def test_without_padding(is_given):
    torch.manual_seed(3)
    lstm = LSTM(5, 4, batch_first=True).double()
    inputs = torch.randn(3, 6, 5, dtype=torch.float64)
    start = (torch.randn(1, 3, 4).double(), torch.randn(1, 3, 4).double()) if is_given else None
    for mine, theirs in zip(flattened(lstm.whole(inputs, start=start)), flattened(lstm(inputs, start)), strict=True):
        torch.testing.assert_close(mine, theirs)


def flattened(found):
    outputs, (h, c) = found
    return outputs, h, c


def test_a_single_step_converts_no_weights_under_autocast():
    place = "cuda" if torch.cuda.is_available() else "cpu"
    lstm = LSTM(16, 32, batch_first=True).to(place)
    with torch.autocast(place, torch.bfloat16):
        kinds = [lstm.whole(torch.randn(8, steps, 16, device=place))[0].dtype for steps in (1, 2)]
    assert kinds == [torch.float32, torch.bfloat16]


@pytest.mark.parametrize(("kind", "expected"), [("bfloat16", torch.bfloat16), ("float16", torch.float32)])
def test_precision_under_autocast(kind, expected):
    """bfloat16 is followed; in float16 small gradients would vanish."""
    torch.manual_seed(4)
    place = "cuda" if torch.cuda.is_available() else "cpu"
    lstm = LSTM(16, 32, batch_first=True, bidirectional=True).to(place)
    inputs, lengths = torch.randn(8, 20, 16, device=place), torch.arange(13, 21, device=place)
    is_word = (torch.arange(20, device=place) < lengths[:, None])[..., None]
    weights = torch.randn(8, 20, 64, device=place) * is_word

    def outputs_and_gradients():
        found = lstm.whole(inputs, lengths)[0]
        return found, torch.autograd.grad((found * weights).sum(), list(lstm.parameters()))

    exact, exact_gradients = outputs_and_gradients()
    with torch.autocast(place, getattr(torch, kind)):
        found, gradients = outputs_and_gradients()
    assert found.dtype == expected
    tolerance = 0.02 if expected == torch.bfloat16 else 1e-5
    assert ((found - exact) * is_word).norm() < tolerance * (exact * is_word).norm()
    for mine, theirs in zip(gradients, exact_gradients, strict=True):
        assert mine.dtype == torch.float32
        assert (mine - theirs).norm() < 2 * tolerance * theirs.norm()

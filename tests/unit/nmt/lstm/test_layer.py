"""The recurrent layer over padding, against packed sequences."""

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
    outputs, (own_h, own_c) = lstm.padded(inputs, sizes)
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

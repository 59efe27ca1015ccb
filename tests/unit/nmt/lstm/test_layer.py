"""The LSTM computes in the precision of its weights, whatever autocast says."""

import pytest
import torch
from torch.nn.utils.rnn import pack_padded_sequence

from trellex.nmt.lstm.layer import LSTM


@pytest.mark.parametrize("weights", [torch.float32, torch.float64])
@pytest.mark.parametrize("inputs", [torch.bfloat16, torch.float32])
def test_precision(weights, inputs):
    torch.manual_seed(1)
    lstm, x = LSTM(3, 4, batch_first=True).to(weights), torch.randn(2, 5, 3).to(inputs)
    start = torch.randn(1, 2, 4), torch.randn(1, 2, 4)
    with torch.autocast("cpu", torch.bfloat16):
        hidden, (h, c) = lstm(x, tuple(state.to(inputs) for state in start))
    assert hidden.dtype == h.dtype == c.dtype == weights
    expected = torch.nn.LSTM.forward(lstm, x.to(weights), tuple(state.to(inputs).to(weights) for state in start))[0]
    assert torch.equal(hidden, expected)


def test_packed_sequences():
    lstm, x = LSTM(3, 4, batch_first=True), torch.randn(2, 5, 3)
    packed = pack_padded_sequence(x.bfloat16(), torch.tensor([5, 2]), batch_first=True)
    with torch.autocast("cpu", torch.bfloat16):
        assert lstm(packed)[0].data.dtype == torch.float32

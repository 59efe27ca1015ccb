"""The recurrent layer of encoder and decoder."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

CLOSED = 1e4  # what makes a gate exactly 0 or 1, whatever else it adds up
ALIGNED = 8  # columns that are added at a time, for matrix units

warnings.filterwarnings("ignore", message="RNN module weights are not part of single contiguous chunk")  # of `padded`


class LSTM(nn.LSTM):
    """PyTorch's LSTM, always in the precision of its weights.

    Under autocast PyTorch would run it in float16, even where bfloat16 was asked for: small gradients vanish there, and
    to convert the weights takes longer than is won. And on a GPU products would be rounded to TF32; those of training
    are, but translations shall be those of the CPU.
    """

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> Any:
        weight = self.all_weights[0][0]
        with self._own_precision():
            start = None if hx is None else (hx[0].to(weight.dtype), hx[1].to(weight.dtype))
            return super().forward(input.to(weight.dtype), start)

    def cell(self, inputs: Tensor, h: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        """One step of a layer with one direction, in fewer and smaller operations. inputs [N, E], h and c [N, H]"""
        weights = self.all_weights[0]
        kind = weights[0]
        with self._own_precision():
            return torch.lstm_cell(inputs.to(kind.dtype), (h.to(kind.dtype), c.to(kind.dtype)), *weights)

    def padded(self, inputs: Tensor, lengths: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """What packed sequences give, without a look at their lengths; outputs on padding are anything.

        One more input tells padding. Its weights, which are not learned, close the input gate and open the forget
        gate, so that a state passes over padding unchanged.

        inputs [N, S, E], lengths [N] beside them, at least 1 -> outputs [N, S, 2H], h and c [2, N, H]
        """
        weights = self.all_weights  # of both directions
        kind = weights[0][0]
        rows, width, _ = inputs.shape
        is_padding = torch.arange(width, device=inputs.device) >= lengths[:, None]
        flags = nn.functional.pad(is_padding[..., None].to(kind.dtype), (0, ALIGNED - 1))
        gates = kind.new_zeros(4, self.hidden_size, ALIGNED)  # in PyTorch's order: input, forget, and two more
        gates[0, :, 0], gates[1, :, 0] = -CLOSED, CLOSED
        start = kind.new_zeros(len(weights), rows, self.hidden_size)
        parameters = [
            each for first, *others in weights for each in (torch.cat([first, gates.flatten(0, 1)], 1), *others)
        ]
        with self._own_precision():
            outputs, h, c = torch.lstm(
                torch.cat([inputs.to(kind.dtype), flags], -1), (start, start), parameters,
                True, 1, 0.0, self.training, True, True,
            )  # fmt: skip
        last = outputs[torch.arange(rows, device=inputs.device), lengths - 1, : self.hidden_size]
        return outputs, (torch.stack([last, h[1]]), c)

    @contextmanager
    def _own_precision(self) -> Iterator[None]:
        allowed = torch.backends.cudnn.allow_tf32
        torch.backends.cudnn.allow_tf32 = allowed and self.training
        try:
            with torch.autocast(self.all_weights[0][0].device.type, enabled=False):
                yield
        finally:
            torch.backends.cudnn.allow_tf32 = allowed

"""The recurrent layer of encoder and decoder."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from torch import Tensor, nn

CLOSED = 1e4  # what makes a gate exactly 0 or 1, whatever else it adds up
ALIGNED = 8  # columns that are added at a time, for matrix units

warnings.filterwarnings("ignore", message="RNN module weights are not part of single contiguous chunk")  # of `whole`


class LSTM(nn.LSTM):
    """PyTorch's LSTM of one layer, in a precision of its own.

    That is its weights', but `whole`, which is for GPUs, follows autocast to bfloat16. It does not to float16, where
    small gradients vanish; and outside training products are never rounded to TF32, for translations shall be those of
    the CPU.
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

    def whole(
        self, inputs: Tensor, lengths: Tensor | None = None, start: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """What `forward` gives, of packed sequences too, in few operations and without a look at their lengths.

        Outputs on padding are anything. One more input tells padding. Its weights, which are not learned, close the
        input gate and open the forget gate, so that a state passes over padding unchanged.

        inputs [N, S, E], lengths [N] beside them, at least 1, or all S of them; start, without lengths alone: h and c
        [D, N, H], or zeros -> outputs [N, S, D·H], h and c [D, N, H], of D directions
        """
        assert start is None or lengths is None  # backwards it would begin on padding
        kind, weights = self._precision_of(inputs), cast(list[list[Tensor]], self.all_weights)
        inputs = inputs.transpose(0, 1).to(kind)
        width, rows, _ = inputs.shape
        if lengths is not None:
            is_padding = torch.arange(width, device=inputs.device)[:, None] >= lengths
            inputs = torch.cat([inputs, nn.functional.pad(is_padding[..., None].to(kind), (0, ALIGNED - 1))], -1)
            weights = [[self._passing_over_padding(first), *others] for first, *others in weights]
        if start is None:
            start = 2 * (inputs.new_zeros(len(weights), rows, self.hidden_size),)
        with self._own_precision():
            outputs, h, c = torch.lstm(
                inputs, (start[0].to(kind), start[1].to(kind)), [each.to(kind) for group in weights for each in group],
                True, 1, 0.0, self.training, self.bidirectional, False,
            )  # fmt: skip
        if lengths is not None:  # forwards, outputs go on changing on padding, although the state does not
            last = (lengths - 1)[None, :, None].expand(1, rows, self.hidden_size)
            h = torch.cat([outputs.gather(0, last), h[1:]])
        return outputs.transpose(0, 1), (h, c)

    def _passing_over_padding(self, of_inputs: Tensor) -> Tensor:
        """Weights with those of the input that tells padding. [4H, E] -> [4H, E + ALIGNED]"""
        gates = of_inputs.new_zeros(4, self.hidden_size, ALIGNED)  # in PyTorch's order: input, forget, and two more
        gates[0, :, 0], gates[1, :, 0] = -CLOSED, CLOSED
        return torch.cat([of_inputs, gates.flatten(0, 1)], 1)

    def _precision_of(self, inputs: Tensor) -> torch.dtype:
        """For a single step it takes longer to convert the weights than is won."""
        device, is_one_step = inputs.device.type, inputs.shape[1] == 1
        if torch.is_autocast_enabled(device) and not is_one_step:
            kind = torch.get_autocast_dtype(device)
            return torch.bfloat16 if kind == torch.bfloat16 else self.all_weights[0][0].dtype
        return self.all_weights[0][0].dtype

    @contextmanager
    def _own_precision(self) -> Iterator[None]:
        allowed = torch.backends.cudnn.allow_tf32
        torch.backends.cudnn.allow_tf32 = allowed and self.training
        try:
            with torch.autocast(self.all_weights[0][0].device.type, enabled=False):
                yield
        finally:
            torch.backends.cudnn.allow_tf32 = allowed

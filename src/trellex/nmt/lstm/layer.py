"""The recurrent layer of encoder and decoder."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class LSTM(nn.LSTM):
    """PyTorch's LSTM, always in the precision of its weights.

    Under autocast PyTorch would run it in float16, even where bfloat16 was asked for: small gradients vanish there, and
    to convert the weights takes longer than is won.
    """

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> Any:
        weight = self.all_weights[0][0]
        with torch.autocast(weight.device.type, enabled=False):
            start = None if hx is None else (hx[0].to(weight.dtype), hx[1].to(weight.dtype))
            return super().forward(input.to(weight.dtype), start)

"""The log-sum over words as one node of torch's graph, whatever computes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable


class LogPartition(torch.autograd.Function):
    """Value and gradient come from one pass forth and back; what is kept for the backward call is the gradient."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, log_partition: Callable[[Tensor], tuple[Tensor, Tensor]]) -> Tensor:
        """logits [N, L], a function to values [N] and posterior [N, L] -> values [N]"""
        values, posterior = log_partition(logits)
        ctx.save_for_backward(posterior)
        return values

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:
        (posterior,) = ctx.saved_tensors
        return upstream[:, None] * posterior, None

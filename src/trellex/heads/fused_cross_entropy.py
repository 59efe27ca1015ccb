"""The cross entropy of a full softmax on CUDA, in which scores become their own gradient in place.

PyTorch's writes the scores of all words four times over, in single precision. Here they stay as the matrix product gave
them: one Triton kernel reads a row for its sum, and puts P less what was wanted where the scores were.
"""

# ruff: noqa: N803 — Triton's compile-time constants are written in capitals

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from trellex.trellis.launching import on_own_device

NOWHERE = tl.constexpr(-1e30)  # below all scores; finite, so that a difference of two is no NaN
BLOCK = 4096  # words that a program reads at a time
WARPS = 8
ALIGNED = 8  # columns, for matrix units


@on_own_device
def cross_entropy(h: Tensor, weight: Tensor, bias: Tensor, target: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """(1 − ε) · −log P of targets + ε · its mean over all words, ε being `label_smoothing`.

    Under autocast products are in its precision, as those of a linear layer are.

    h [T, H], weight [V, H], bias [V], target [T] -> [T] in single precision
    """
    if torch.is_autocast_enabled(h.device.type):
        kind = torch.get_autocast_dtype(h.device.type)
        h, weight, bias = (each.to(kind) for each in (h, weight, bias))
    values: Tensor = _CrossEntropy.apply(h, weight, bias, target, label_smoothing)  # type: ignore[no-untyped-call]
    return values


class _CrossEntropy(torch.autograd.Function):
    """h [T, H], weight [V, H], bias [V], target [T] -> [T]"""

    @staticmethod
    def forward(ctx: Any, h: Tensor, weight: Tensor, bias: Tensor, target: Tensor, label_smoothing: float) -> Tensor:
        with torch.autocast(h.device.type, enabled=False):
            scores = torch.nn.functional.linear(h, weight, bias)
        values = torch.empty(len(scores), dtype=torch.float32, device=scores.device)
        if len(scores):
            num_words = scores.shape[1]
            _cross_entropy[(len(scores),)](
                scores, target.contiguous(), values, num_words, label_smoothing,
                IS_SMOOTHED=label_smoothing > 0, BLOCK=min(BLOCK, triton.next_power_of_2(num_words)), num_warps=WARPS,
            )  # fmt: skip
        ctx.save_for_backward(h, weight, scores)  # now their gradient
        return values

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor, None, None]:
        h, weight, of_scores = ctx.saved_tensors
        size, share = h.shape[1], gradient.to(h.dtype)[:, None]
        with_bias = torch.cat([h * share, share, share.new_zeros(len(h), -(size + 1) % ALIGNED)], 1)
        of_weight = of_scores.T @ with_bias  # the bias's gradient is that of a weight whose input is 1
        return of_scores @ weight * share, of_weight[:, :size], of_weight[:, size], None, None


@triton.jit(do_not_specialize=["label_smoothing"])
def _cross_entropy(
    scores, target, values, num_words, label_smoothing, IS_SMOOTHED: tl.constexpr, BLOCK: tl.constexpr
):  # fmt: skip
    """scores [T, V], target [T] -> values [T]; scores become the gradient of the values"""
    row = tl.program_id(0).to(tl.int64)
    scores += row * num_words
    place = tl.arange(0, BLOCK)
    highest = tl.full((BLOCK,), NOWHERE, tl.float32)
    total = tl.zeros((BLOCK,), tl.float32)
    plain_total = tl.zeros((BLOCK,), tl.float32)
    for first in range(0, num_words, BLOCK):
        score = tl.load(scores + first + place, first + place < num_words, -float("inf")).to(tl.float32)
        before, highest = highest, tl.maximum(highest, score)
        total = total * tl.exp(before - highest) + tl.exp(score - highest)
        if IS_SMOOTHED:
            plain_total += tl.where(first + place < num_words, score, 0.0)
    peak = tl.max(highest, 0)
    log_sum = peak + tl.log(tl.sum(total * tl.exp(highest - peak), 0))
    word = tl.load(target + row)
    of_target = tl.load(scores + word, (word >= 0) & (word < num_words), float("nan"))  # no word: found out by the loss
    value, of_all = log_sum - of_target.to(tl.float32), 0.0
    if IS_SMOOTHED:
        value += label_smoothing * (of_target.to(tl.float32) - tl.sum(plain_total, 0) / num_words)
        of_all = label_smoothing / num_words
    tl.store(values + row, value)
    tl.debug_barrier()  # the target's score may be read by another thread than overwrites it
    for first in range(0, num_words, BLOCK):
        score = tl.load(scores + first + place, first + place < num_words, -float("inf")).to(tl.float32)
        share = tl.exp(score - log_sum) - tl.where(first + place == word, 1.0 - label_smoothing, 0.0) - of_all
        tl.store(scores + first + place, share.to(scores.dtype.element_ty), first + place < num_words)

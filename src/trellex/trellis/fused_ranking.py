"""One Triton kernel for few bits on CUDA: the scores of all words of a complete trellis, their log-sum and the best."""

# ruff: noqa: N803 — Triton's compile-time constants are written in capitals

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from trellex.trellis.fused import finite, first_output
from trellex.trellis.lattice import Register
from trellex.trellis.launching import on_own_device

WORDS_OF_A_WARP, MOST_WARPS = 256, 16


@on_own_device
def ranked(logits: Tensor, count: int, register: Register, num_bits: int) -> tuple[Tensor, Tensor]:
    """The best of all 2^B words, of equal ones the lower number first, and log P in double precision.

    So words are those of the CPU. logits [N, L] in any precision -> [N, count] twice
    """
    logits = logits.contiguous()
    numbers = torch.empty(len(logits), count, dtype=torch.int64, device=logits.device)
    log_probs = torch.empty(len(logits), count, dtype=torch.float64, device=logits.device)
    if len(logits):
        _ranked[(len(logits),)](
            logits, numbers, log_probs, logits.shape[1], count,
            BITS=num_bits, MEMORY=register.memory, num_warps=warps_for(num_bits),
        )  # fmt: skip
    return numbers, log_probs


def warps_for(num_bits: int) -> int:
    """Of a program that holds the scores of all words."""
    return min(max(1, (1 << num_bits) // WORDS_OF_A_WARP), MOST_WARPS)


@triton.jit
def _ranked(logits, numbers, log_probs, length, k, BITS: tl.constexpr, MEMORY: tl.constexpr):
    """logits [N, L] -> numbers, log_probs [N, k]; a program has a row"""
    row = tl.program_id(0).to(tl.int64)
    number, score, log_sum = scores_of_all(logits + row * length, BITS, MEMORY)
    for place in range(k):
        first, best = first_of(number, score, BITS)
        tl.store(numbers + row * k + place, first.to(tl.int64))
        tl.store(log_probs + row * k + place, best - log_sum)
        score = tl.where(number == first, -float("inf"), score)


@triton.jit
def scores_of_all(logits, BITS: tl.constexpr, MEMORY: tl.constexpr):
    """All words in some order, their scores, and the log-sum. logits: a pointer to a row -> [2^B] twice, []"""
    word = tl.arange(0, 1 << BITS)  # its bits in the order in which they come, the newest in the lowest place
    number = tl.zeros_like(word)
    score = tl.zeros((1 << BITS,), tl.float64)
    for step in tl.static_range(BITS):
        bit = (word >> (BITS - 1 - step)) & 1
        state = (word >> (BITS - step)) & ((1 << tl.minimum(step, MEMORY)) - 1)
        place = first_output(step, MEMORY) + state
        score += finite(tl.load(logits + place, bit == 1, 0.0)).to(tl.float64)
        number += bit << step
    highest = tl.max(score, 0)
    return number, score, highest + tl.log(tl.sum(tl.exp(score - highest), 0))


@triton.jit
def first_of(number, score, BITS: tl.constexpr):
    """The best word, of equal ones the lowest, and its score; a word even where no score is a number."""
    best = tl.max(score, 0)
    return tl.min(tl.where(score == best, number, (1 << BITS) - 1), 0), best

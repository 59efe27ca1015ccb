"""Triton kernels for the last step to the best word on CUDA: in one launch what would be a dozen small operations."""

# ruff: noqa: N803 — Triton's compile-time constants are written in capitals

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

BLOCK = 2048  # frequent words to look at together


def of_hybrid(logits: Tensor, numbers: Tensor, scores: Tensor, log_sums: Tensor, words: Tensor | None) -> Tensor:
    """The best frequent word, or the best rare one where that is more probable.

    Args:
        logits: of frequent words, and of the marker for all others in the last place  [T, N]
        numbers: of the best rare words  [T], with their scores and the log-sums of all rare ones  [T]
        words: the rare words of all numbers, counted from the first rare one; None where each is its own

    Returns:
        [T]
    """
    logits, chosen = logits.contiguous(), torch.empty_like(numbers)
    if len(chosen):
        _of_hybrid[(len(chosen),)](
            logits, numbers, scores, log_sums, numbers if words is None else words, chosen, logits.shape[1] - 1,
            HAS_WORDS=words is not None, BLOCK=BLOCK,
        )  # fmt: skip
    return chosen


@triton.jit
def _of_hybrid(
    logits, numbers, scores, log_sums, words, chosen, frequent, HAS_WORDS: tl.constexpr, BLOCK: tl.constexpr
):
    """logits [T, N], numbers, scores, log_sums [T], words [V] -> chosen [T]; a program has a row"""
    row = tl.program_id(0).to(tl.int64)
    logits += row * (frequent + 1)
    best = tl.load(logits)
    word = 0
    for first in range(0, frequent, BLOCK):
        at = first + tl.arange(0, BLOCK)
        logit = tl.load(logits + at, at < frequent, -float("inf"))
        highest = tl.max(logit, 0)
        place = tl.min(tl.where(logit == highest, at, frequent), 0)  # of equal ones the first
        word = tl.where(highest > best, place, word)
        best = tl.maximum(highest, best)
    lead = tl.load(logits + frequent).to(tl.float64) - best.to(tl.float64)  # of all rare words together
    rare = tl.load(numbers + row)
    if HAS_WORDS:
        rare = tl.load(words + tl.maximum(rare, 0))
    is_rare = lead + tl.load(scores + row) - tl.load(log_sums + row) > 0
    tl.store(chosen + row, tl.where(is_rare, frequent + rare, word))


def of_shelves(scores: Tensor, shelves: Tensor, log_shelves: Tensor, words: Tensor | None, shelf_bits: int) -> Tensor:
    """The best word on visited shelves, −1 where the next shelf is more probable than that word.

    Args:
        scores: of the words on visited shelves, −inf where there is none  [T, K, W]
        shelves: visited ones, and the next if there is one, best first  [T, K + 1]; log_shelves is log P of them
        words: of all numbers, None where each is its own  [V]
        shelf_bits: the place of a word on its shelf is in the bits above these

    Returns:
        [T]
    """
    scores, shelves, log_shelves = (each.contiguous() for each in (scores, shelves, log_shelves))
    (rows, visit, width), count = scores.shape, shelves.shape[1]
    chosen = torch.empty(rows, dtype=torch.int64, device=scores.device)
    if rows:
        _of_shelves[(rows,)](
            scores, shelves, log_shelves, shelves if words is None else words, chosen, visit, count, width, shelf_bits,
            HAS_WORDS=words is not None, PLACES=triton.next_power_of_2(visit * width),
            SHELVES=triton.next_power_of_2(visit),
        )  # fmt: skip
    return chosen


@triton.jit
def _of_shelves(
    scores, shelves, log_shelves, words, chosen, visit, count, width, shelf_bits,
    HAS_WORDS: tl.constexpr, PLACES: tl.constexpr, SHELVES: tl.constexpr,
):  # fmt: skip
    """scores [T, K, W], shelves, log_shelves [T, C], words [V] -> chosen [T]; a program has a row"""
    row = tl.program_id(0).to(tl.int64)
    at, rank = tl.arange(0, PLACES), tl.arange(0, SHELVES)
    score = tl.load(scores + row * visit * width + at, at < visit * width, -float("inf")).to(tl.float64)
    log_shelf = tl.load(log_shelves + row * count + rank, rank < visit, -float("inf"))
    best = tl.max(score, 0)
    place = tl.min(tl.where(score == best, at, visit * width - 1), 0)  # of equal ones the first
    log_prob = _log_sum(log_shelf) + best - _log_sum(score)
    word = tl.load(shelves + row * count + place // width) + ((place % width).to(tl.int64) << shelf_bits)
    if HAS_WORDS:
        word = tl.load(words + word)
    following = tl.load(log_shelves + row * count + visit, visit < count, -float("inf"))
    tl.store(chosen + row, tl.where(log_prob < following, -1, word))


@triton.jit
def _log_sum(values):
    """log Σ exp."""
    highest = tl.max(values, 0)
    return highest + tl.log(tl.sum(tl.exp(values - highest), 0))

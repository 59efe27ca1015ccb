"""Triton kernels for the last step to the best word on CUDA: in one launch what would be a dozen small operations."""

# ruff: noqa: N803 — Triton's compile-time constants are written in capitals

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from trellex.heads.fused_shelves import COLUMNS, words_on
from trellex.trellis import CompleteCode
from trellex.trellis.fused_ranking import first_of, scores_of_all, warps_for
from trellex.trellis.launching import on_own_device

BLOCK = 2048  # frequent words to look at together
MOST_FURTHER = 64  # shelves that one program reads, one after another


@on_own_device
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


@on_own_device
def of_shelves(
    scores: Tensor, shelves: Tensor, log_shelves: Tensor, words: Tensor | None, shelf_bits: int
) -> tuple[Tensor, Tensor]:
    """The best word on visited shelves, and log P of it.

    Args:
        scores: of the words on visited shelves, −inf where there is none  [T, K, W]
        shelves: visited ones, and the next if there is one, best first  [T, K + 1]; log_shelves is log P of them
        words: of all numbers, None where each is its own  [V]
        shelf_bits: the place of a word on its shelf is in the bits above these

    Returns:
        [T] twice, −1 and NaN where a score is no number
    """
    scores, shelves, log_shelves = (each.contiguous() for each in (scores, shelves, log_shelves))
    (rows, visit, width), count = scores.shape, shelves.shape[1]
    chosen = torch.empty(rows, dtype=torch.int64, device=scores.device)
    log_probs = torch.empty(rows, dtype=torch.float64, device=scores.device)
    if rows:
        _of_shelves[(rows,)](
            scores, shelves, log_shelves, shelves if words is None else words, chosen, log_probs,
            visit, count, width, shelf_bits,
            HAS_WORDS=words is not None, PLACES=triton.next_power_of_2(visit * width),
            SHELVES=triton.next_power_of_2(visit),
        )  # fmt: skip
    return chosen, log_probs


@triton.jit
def _of_shelves(
    scores, shelves, log_shelves, words, chosen, log_probs, visit, count, width, shelf_bits,
    HAS_WORDS: tl.constexpr, PLACES: tl.constexpr, SHELVES: tl.constexpr,
):  # fmt: skip
    """scores [T, K, W], shelves, log_shelves [T, C], words [V] -> chosen, log_probs [T]; a program has a row"""
    row = tl.program_id(0).to(tl.int64)
    at, rank = tl.arange(0, PLACES), tl.arange(0, SHELVES)
    score = tl.load(scores + row * visit * width + at, at < visit * width, -float("inf")).to(tl.float64)
    log_shelf = tl.load(log_shelves + row * count + rank, rank < visit, -float("inf"))
    best = tl.max(score, 0)
    place = tl.min(tl.where(score == best, at, PLACES), 0)  # of equal ones the first
    is_known = place < PLACES  # unless scores are no numbers
    place = tl.where(is_known, place, 0)
    word = tl.load(shelves + row * count + place // width) + ((place % width).to(tl.int64) << shelf_bits)
    if HAS_WORDS:
        word = tl.load(words + word)
    tl.store(chosen + row, tl.where(is_known, word, -1))
    tl.store(log_probs + row, _log_sum(log_shelf) + best - _log_sum(score))


@on_own_device
def on_further_shelves(
    chosen: Tensor, log_probs: Tensor, visit: int, shelves: Tensor, log_shelves: Tensor, logits: Tensor,
    ecc: CompleteCode, shelf_bits: int, states: Tensor, vectors: Tensor, bias: Tensor, words: Tensor | None,
) -> Tensor:  # fmt: skip
    """The best word of all. A shelf after visited ones is read where it is more probable than the best word so far.

    Args:
        chosen, log_probs: what `of_shelves` found, written anew where there is a better word  [T]
        visit: K
        shelves, log_shelves: visited ones, and the next if there is one  [T, K + 1]
        logits: of the trellis that finds shelves  [T, L]
        ecc: that trellis
        shelf_bits: the first bits of a word, which are its shelf's; its place there is in the bits above
        states: to multiply with vectors  [T, E]
        vectors: of all words  [V, E]
        bias: of all words  [V]
        words: of all numbers, None where each is its own  [V]

    Returns:
        [T], −1 where even MOST_FURTHER shelves do not tell
    """
    count, width = shelves.shape[1], -(-len(vectors) >> shelf_bits)
    if visit < count and len(chosen):
        given = [each.contiguous() for each in (shelves, log_shelves, logits, states, vectors, bias)]
        _on_further_shelves[(len(chosen),)](
            chosen, log_probs, *given, shelves if words is None else words,
            visit, count, width, logits.shape[1], states.shape[1], len(vectors), MOST_FURTHER,
            HAS_WORDS=words is not None, BITS=shelf_bits, MEMORY=ecc.register.memory,
            WIDTH=triton.next_power_of_2(width), COLUMNS=COLUMNS, num_warps=max(4, warps_for(shelf_bits)),
        )  # fmt: skip
    return chosen


@triton.jit
def _on_further_shelves(
    chosen, log_probs, shelves, log_shelves, logits, states, vectors, bias, words,
    visit, count, width, length, size, limit, most,
    HAS_WORDS: tl.constexpr, BITS: tl.constexpr, MEMORY: tl.constexpr, WIDTH: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """chosen, log_probs [T], shelves, log_shelves [T, C], logits [T, L], states [T, E], words [V] -> chosen [T]

    A program has a row. Most are sure already.
    """
    row = tl.program_id(0).to(tl.int64)
    log_prob = tl.load(log_probs + row)
    following = tl.load(log_shelves + row * count + visit)
    if log_prob < following:
        word = tl.load(chosen + row)
        number, left, log_sum = scores_of_all(logits + row * length, BITS, MEMORY)
        for visited in range(visit):
            left = tl.where(number == tl.load(shelves + row * count + visited), -float("inf"), left)
        further = 0
        while (log_prob < following) & (further < most):
            shelf, _ = first_of(number, left, BITS)
            left = tl.where(number == shelf, -float("inf"), left)
            found, own = words_on(
                shelf.to(tl.int64), states + row * size, vectors, bias, words, width, size, BITS, limit,
                HAS_WORDS, COLUMNS, WIDTH,
            )  # fmt: skip
            own = own.to(tl.float64)
            best = tl.max(own, 0)
            place = tl.arange(0, WIDTH)
            is_best = place == tl.min(tl.where(own == best, place, WIDTH - 1), 0)  # of equal ones the first
            own_log_prob = following + best - _log_sum(own)
            word = tl.where(own_log_prob > log_prob, tl.sum(tl.where(is_best, found, 0), 0), word)
            log_prob = tl.where(own_log_prob > log_prob, own_log_prob, log_prob)
            following = tl.max(left, 0) - log_sum
            further += 1
        tl.store(chosen + row, tl.where(log_prob < following, -1, word))


@triton.jit
def _log_sum(values):
    """log Σ exp."""
    highest = tl.max(values, 0)
    return highest + tl.log(tl.sum(tl.exp(values - highest), 0))

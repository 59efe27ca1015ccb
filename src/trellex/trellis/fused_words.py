"""Triton kernels for the best word, and for the k best, on CUDA: bits in, words out, one launch.

Backwards, the best way on from every state leads to the best word, and sums beside it to that over all words. For k
words the best ways on are kept in memory; forwards, the k beginnings whose best words are best are followed, as
`device.topk` does. States are kept twice, as in `fused`: the bits so far are at most those of size − 1 (low), or more
(high). Sums are in double precision, so that words are those of the CPU.
"""

# ruff: noqa: N803 — Triton's compile-time constants are written in capitals

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from trellex.trellis.fused import NOWHERE, generator_masks, metric_by_register, score_of_bit
from trellex.trellis.lattice import Register
from trellex.trellis.launching import on_own_device

ROWS = 1  # side by side in a program
STATES_OF_A_WARP, SQUARE_OF_A_WARP = 64, 128  # for 32 threads; words are ranked by comparing each with all
PROGRAMS = 4096  # at most; they take rows in turns
DEAD = tl.constexpr(-1e29)  # what is below is no way at all, however much was added to NOWHERE


@on_own_device
def topk(logits: Tensor, k: int, register: Register, num_bits: int, size: int | None) -> tuple[Tensor, Tensor]:
    """The k best words, best first, −1 and −inf where there are fewer. logits [N, L] -> numbers, scores [N, k]"""
    if k == 1:
        numbers, scores, _ = best(logits, register, num_bits, size, with_sum=False)
        return numbers[:, None], scores[:, None].to(logits.dtype)
    kind, logits = logits.dtype, logits.double().contiguous()
    num_rows, length = logits.shape
    states, num_steps = 1 << register.memory, num_bits if register.is_complete else num_bits + register.memory
    numbers = torch.empty(num_rows, k, dtype=torch.int64, device=logits.device)
    scores = logits.new_empty(num_rows, k)
    if num_rows:
        programs = min(triton.cdiv(num_rows, ROWS), PROGRAMS)
        ahead = logits.new_empty(programs, num_steps + 1, ROWS, 2 * states)
        numbers_ahead = torch.empty_like(ahead, dtype=torch.int64)
        _topk[(programs,)](
            logits, generator_masks(register.generators, logits.device), numbers, scores, ahead, numbers_ahead,
            num_rows, num_bits, num_steps, (1 << num_bits if size is None else size) - 1, length, k,
            OUTPUTS=len(register.generators), MEMORY=register.memory, STATES=states, K=triton.next_power_of_2(k),
            ROWS=ROWS, num_warps=warps_for(states, k),
        )  # fmt: skip
    return numbers, scores.to(kind)


@on_own_device
def best(
    logits: Tensor, register: Register, num_bits: int, size: int | None, with_sum: bool = True
) -> tuple[Tensor, Tensor, Tensor]:
    """The best word, its score and, if asked for, the log-sum over all words, in double precision.

    logits [N, L] in any precision -> [N] three times
    """
    logits = logits.contiguous()
    num_rows, length = logits.shape
    states, num_steps = 1 << register.memory, num_bits if register.is_complete else num_bits + register.memory
    numbers = torch.empty(num_rows, dtype=torch.int64, device=logits.device)
    scores, log_sums = (torch.empty(num_rows, dtype=torch.float64, device=logits.device) for _ in range(2))
    if num_rows:
        _best[(min(triton.cdiv(num_rows, ROWS), PROGRAMS),)](
            logits, generator_masks(register.generators, logits.device), numbers, scores, log_sums,
            num_rows, num_bits, num_steps, (1 << num_bits if size is None else size) - 1, length,
            OUTPUTS=len(register.generators), MEMORY=register.memory, STATES=states, ROWS=ROWS, WITH_SUM=with_sum,
            num_warps=warps_for(states, 1),
        )  # fmt: skip
    return numbers, scores, log_sums


def warps_for(states: int, k: int) -> int:
    """Of a program, a power of two."""
    return min(max(1, states // STATES_OF_A_WARP, triton.next_power_of_2(k) ** 2 // SQUARE_OF_A_WARP), 8)


@triton.jit
def _best(
    logits, masks, numbers, scores, log_sums, num_rows, num_bits, num_steps, limit, length,
    OUTPUTS: tl.constexpr, MEMORY: tl.constexpr, STATES: tl.constexpr, ROWS: tl.constexpr, WITH_SUM: tl.constexpr,
):  # fmt: skip
    """logits [N, L], masks [n] -> numbers, scores, log_sums [N]; a sum is kept relative to the best way's"""
    own = tl.arange(0, ROWS)[:, None]
    is_first = tl.arange(0, STATES)[None, :] == 0
    for first in range(tl.program_id(0) * ROWS, num_rows, tl.num_programs(0) * ROWS):
        row = (first + own).to(tl.int64)
        used = row < num_rows
        start = logits + row * length
        low, high, low_number, high_number = _ends(OUTPUTS, ROWS, STATES)
        low_mass = tl.zeros((ROWS, STATES), tl.float64) + 1.0
        high_mass = low_mass
        for back in range(1, num_steps + 1):
            step = num_steps - back
            low_way, high_way, from_low, from_high = _ways_on(
                low, high, start, used, masks, step, num_bits, limit, OUTPUTS, MEMORY, ROWS, STATES
            )
            low_bits, high_bits = _by_register(low_number, ROWS, STATES), _by_register(high_number, ROWS, STATES)
            low, low_number = _best_bit(low_way, tl.where(from_low, low_bits, high_bits), step, ROWS, STATES)
            high, high_number = _best_bit(high_way, tl.where(from_high, low_bits, high_bits), step, ROWS, STATES)
            if WITH_SUM:
                of_low, of_high = _by_register(low_mass, ROWS, STATES), _by_register(high_mass, ROWS, STATES)
                low_mass = _added(low_way, low, tl.where(from_low, of_low, of_high), ROWS, STATES)
                high_mass = _added(high_way, high, tl.where(from_high, of_low, of_high), ROWS, STATES)
        score = tl.sum(tl.where(is_first, low, 0.0), 1, keep_dims=True)
        number = tl.sum(tl.where(is_first, low_number, 0), 1, keep_dims=True)
        is_word = score > DEAD
        tl.store(numbers + row, tl.where(is_word, number, -1), used)
        tl.store(scores + row, tl.where(is_word, score, float("-inf")), used)
        if WITH_SUM:
            mass = tl.sum(tl.where(is_first, low_mass, 0.0), 1, keep_dims=True)
            tl.store(log_sums + row, score + tl.log(mass), used)


@triton.jit
def _added(way, best, mass, ROWS: tl.constexpr, STATES: tl.constexpr):
    """The sum of both ways out of every state, relative to the best. way, mass [ROWS, 2 · STATES] -> [ROWS, STATES]"""
    way_0, way_1 = tl.split(tl.reshape(tl.maximum(way, NOWHERE), (ROWS, STATES, 2)))
    mass_0, mass_1 = tl.split(tl.reshape(mass, (ROWS, STATES, 2)))
    return mass_0 * tl.exp(way_0 - best) + mass_1 * tl.exp(way_1 - best)


@triton.jit
def _topk(
    logits, masks, numbers, scores, ahead, numbers_ahead, num_rows, num_bits, num_steps, limit, length, k,
    OUTPUTS: tl.constexpr, MEMORY: tl.constexpr, STATES: tl.constexpr, K: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """logits [N, L], masks [n] -> numbers, scores [N, k]; scratch, twice: [programs, T + 1, ROWS, low and high states]

    OUTPUTS: n, or 0 of a complete trellis
    """
    own = tl.arange(0, ROWS)[:, None]
    slot = tl.arange(0, K)[None, :]
    level = ROWS * 2 * STATES
    first_place = tl.program_id(0).to(tl.int64) * (num_steps + 1) * level + own * 2 * STATES
    ahead += first_place
    numbers_ahead += first_place
    for first in range(tl.program_id(0) * ROWS, num_rows, tl.num_programs(0) * ROWS):
        row = (first + own).to(tl.int64)
        used = row < num_rows
        start = logits + row * length
        _look_ahead(start, used, masks, ahead, numbers_ahead, num_bits, num_steps, limit, OUTPUTS, MEMORY, STATES, ROWS)
        tl.debug_barrier()  # what was stored may be read by other threads than wrote it
        at = tl.zeros((ROWS, K), tl.int64)  # the states of the beginnings
        is_high = tl.zeros((ROWS, K), tl.int64)
        number = tl.zeros((ROWS, K), tl.int64)
        begun = tl.where(slot == 0, tl.zeros((ROWS, K), tl.float64), NOWHERE)
        for step in range(num_steps):
            limit_bit = (limit >> step) & 1
            score_0 = score_of_bit(start, step, used, at, 0, masks, OUTPUTS, MEMORY, ROWS, K)
            score_1 = score_of_bit(start, step, used, at, 1, masks, OUTPUTS, MEMORY, ROWS, K)
            next_begun = _paired(begun + score_0, tl.where(step < num_bits, begun + score_1, NOWHERE), ROWS, K)
            next_at = _paired(2 * at, 2 * at + 1, ROWS, K) & (STATES - 1)
            next_high = _paired(tl.where(limit_bit == 1, 0, is_high), tl.where(limit_bit == 0, 1, is_high), ROWS, K)
            next_number = _paired(number, number | (tl.full((ROWS, K), 1, tl.int64) << step), ROWS, K)
            place = (step + 1) * level + next_high * STATES + next_at
            total = tl.maximum(next_begun + tl.load(ahead + place), NOWHERE)
            rank = _ranks(total, next_number | tl.load(numbers_ahead + place), K)
            chosen = rank[:, None, :] == slot[:, :, None]  # [ROWS, K, 2K]
            at, is_high, number = _taken(chosen, next_at), _taken(chosen, next_high), _taken(chosen, next_number)
            begun = tl.where(_taken(chosen, total) > DEAD, _taken(chosen, next_begun), NOWHERE)
        is_word = begun > DEAD
        tl.store(numbers + row * k + slot, tl.where(is_word, number, -1), used & (slot < k))
        tl.store(scores + row * k + slot, tl.where(is_word, begun, float("-inf")), used & (slot < k))
        tl.debug_barrier()


@triton.jit
def _look_ahead(
    start, used, masks, ahead, numbers_ahead, num_bits, num_steps, limit,
    OUTPUTS: tl.constexpr, MEMORY: tl.constexpr, STATES: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """The best way on from every state of every level, and its bits; of equal ones that of the lowest number."""
    state = tl.arange(0, STATES)[None, :]
    low, high, low_number, high_number = _ends(OUTPUTS, ROWS, STATES)
    for back in range(num_steps + 1):
        step = num_steps - back
        if back > 0:
            low_way, high_way, from_low, from_high = _ways_on(
                low, high, start, used, masks, step, num_bits, limit, OUTPUTS, MEMORY, ROWS, STATES
            )
            low_bits, high_bits = _by_register(low_number, ROWS, STATES), _by_register(high_number, ROWS, STATES)
            low, low_number = _best_bit(low_way, tl.where(from_low, low_bits, high_bits), step, ROWS, STATES)
            high, high_number = _best_bit(high_way, tl.where(from_high, low_bits, high_bits), step, ROWS, STATES)
        place = step * ROWS * 2 * STATES + state
        tl.store(ahead + place, low)
        tl.store(ahead + place + STATES, high)
        tl.store(numbers_ahead + place, low_number)
        tl.store(numbers_ahead + place + STATES, high_number)


@triton.jit
def _ends(OUTPUTS: tl.constexpr, ROWS: tl.constexpr, STATES: tl.constexpr):
    """The scores of low and high states after the last step, and their numbers. -> [ROWS, STATES] four times"""
    low = tl.zeros((ROWS, STATES), tl.float64)
    high = low + NOWHERE
    if OUTPUTS > 0:  # then zeros lead back to the first state
        low = tl.where(tl.arange(0, STATES)[None, :] == 0, low, NOWHERE)
    number = tl.zeros((ROWS, STATES), tl.int64)
    return low, high, number, number


@triton.jit
def _ways_on(
    low, high, start, used, masks, step, num_bits, limit,
    OUTPUTS: tl.constexpr, MEMORY: tl.constexpr, ROWS: tl.constexpr, STATES: tl.constexpr,
):  # fmt: skip
    """The scores of the ways out of low and high states, and whether they lead to low ones. -> [ROWS, 2 · STATES]"""
    bit = tl.arange(0, 2 * STATES)[None, :] & 1
    metric = metric_by_register(start, step, used, masks, tl.float64, OUTPUTS, MEMORY, ROWS, STATES)
    metric = tl.where((step < num_bits) | (bit == 0), metric, NOWHERE)
    limit_bit = (limit >> step) & 1
    from_low = (bit == limit_bit) | (limit_bit == 1)  # where a low way stays low
    from_high = (bit != limit_bit) & (limit_bit == 1)  # where a high way becomes low
    to_low, to_high = _by_register(low, ROWS, STATES), _by_register(high, ROWS, STATES)
    return (
        metric + tl.where(from_low, to_low, to_high),
        metric + tl.where(from_high, to_low, to_high),
        from_low,
        from_high,
    )


@triton.jit
def _by_register(values, ROWS: tl.constexpr, STATES: tl.constexpr):
    """What states have, for the registers that lead into them. [ROWS, STATES] -> [ROWS, 2 · STATES]"""
    return tl.reshape(tl.permute(tl.join(values, values), (0, 2, 1)), (ROWS, 2 * STATES))


@triton.jit
def _best_bit(score, number, step, ROWS: tl.constexpr, STATES: tl.constexpr):
    """The better of the two ways out of every state, and its number. [ROWS, 2 · STATES] -> [ROWS, STATES] twice"""
    score_0, score_1 = tl.split(tl.reshape(tl.maximum(score, NOWHERE), (ROWS, STATES, 2)))
    number_0, number_1 = tl.split(tl.reshape(number, (ROWS, STATES, 2)))
    number_1 = number_1 | (tl.full((ROWS, STATES), 1, tl.int64) << step)
    is_1 = (score_1 > score_0) | ((score_1 == score_0) & (number_1 < number_0))
    return tl.where(is_1, score_1, score_0), tl.where(is_1, number_1, number_0)


@triton.jit
def _paired(with_0, with_1, ROWS: tl.constexpr, K: tl.constexpr):
    """What beginnings are after a 0 and after a 1. [ROWS, K] twice -> [ROWS, 2K]"""
    return tl.reshape(tl.join(with_0, with_1), (ROWS, 2 * K))


@triton.jit
def _ranks(score, number, K: tl.constexpr):
    """The place of each when the best is first, of equal ones that of the lowest number. [ROWS, 2K] -> [ROWS, 2K]"""
    place = tl.arange(0, 2 * K)
    mine, theirs = score[:, :, None], score[:, None, :]
    my_number, their_number = number[:, :, None], number[:, None, :]
    is_earlier = (my_number == their_number) & (place[None, None, :] < place[None, :, None])
    before = (theirs > mine) | ((theirs == mine) & ((their_number < my_number) | is_earlier))
    return tl.sum(before.to(tl.int32), 2)


@triton.jit
def _taken(chosen, values):
    """Those that are chosen, one for every place. chosen [ROWS, K, 2K], values [ROWS, 2K] -> [ROWS, K]"""
    return tl.sum(tl.where(chosen, values[:, None, :], 0), 2)

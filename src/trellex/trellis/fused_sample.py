"""One Triton kernel that draws words on CUDA: forwards, the log-sums of all states; backwards, a way through them.

States are kept twice, as in `fused`: the bits so far are at most those of size − 1 (low), or more (high).
"""

# ruff: noqa: N803 — Triton's compile-time constants are written in capitals

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from trellex.trellis.fused import (
    NOWHERE,
    generator_masks,
    into_states,
    metric_by_register,
    score_of_bit,
    ways_by_register,
)
from trellex.trellis.lattice import Register
from trellex.trellis.launching import on_own_device

ROWS = 1  # side by side in a program
STATES_OF_A_WARP = 64
PROGRAMS = 4096  # at most; they take rows in turns


@on_own_device
def sample(logits: Tensor, uniforms: Tensor, register: Register, num_bits: int, size: int | None) -> Tensor:
    """Words drawn with their probabilities. logits [N, L], uniforms [N, C, T] in [0, 1) -> numbers [N, C]"""
    logits, uniforms = logits.double().contiguous(), uniforms.double().contiguous()
    num_rows, length = logits.shape
    states, (num_draws, num_steps) = 1 << register.memory, uniforms.shape[1:]
    numbers = torch.empty(num_rows, num_draws, dtype=torch.int64, device=logits.device)
    if num_rows:
        programs = min(triton.cdiv(num_rows, ROWS), PROGRAMS)
        sums = logits.new_empty(programs, num_steps + 1, ROWS, 2 * states)
        _sample[(programs,)](
            logits, generator_masks(register.generators, logits.device), uniforms, numbers, sums,
            num_rows, num_draws, num_bits, num_steps, (1 << num_bits if size is None else size) - 1, length,
            OUTPUTS=len(register.generators), MEMORY=register.memory, STATES=states, ROWS=ROWS,
            num_warps=min(max(1, states // STATES_OF_A_WARP), 8),
        )  # fmt: skip
    return numbers


@triton.jit
def _sample(
    logits, masks, uniforms, numbers, sums, num_rows, num_draws, num_bits, num_steps, limit, length,
    OUTPUTS: tl.constexpr, MEMORY: tl.constexpr, STATES: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """logits [N, L], masks [n], uniforms [N, C, T] -> numbers [N, C]; sums: scratch [programs, T + 1, ROWS, 2 · STATES]

    OUTPUTS: n, or 0 of a complete trellis
    """
    own = tl.arange(0, ROWS)[:, None]
    state = tl.arange(0, STATES)[None, :]
    register = tl.arange(0, 2 * STATES)[None, :]
    way = tl.arange(0, 4)[None, :]  # into a state: from low or high, with the oldest bit 0 or 1
    level = ROWS * 2 * STATES
    sums += tl.program_id(0).to(tl.int64) * (num_steps + 1) * level + own * 2 * STATES
    for first in range(tl.program_id(0) * ROWS, num_rows, tl.num_programs(0) * ROWS):
        row = (first + own).to(tl.int64)
        used = row < num_rows
        start = logits + row * length
        low = tl.where(state == 0, tl.zeros((ROWS, STATES), tl.float64), NOWHERE)
        high = tl.zeros((ROWS, STATES), tl.float64) + NOWHERE
        for step in range(num_steps):
            tl.store(sums + step * level + state, low)
            tl.store(sums + step * level + STATES + state, high)
            metric = metric_by_register(start, step, used, masks, tl.float64, OUTPUTS, MEMORY, ROWS, STATES)
            _, _, to_low, to_high = ways_by_register(low, high, metric, register, step, num_bits, limit, ROWS, STATES)
            low = into_states(to_low, ROWS, STATES)
            high = into_states(to_high, ROWS, STATES)
        tl.debug_barrier()  # what was stored may be read by other threads than wrote it

        for draw in range(num_draws):
            own_uniforms = uniforms + (row * num_draws + draw) * num_steps
            at = tl.zeros((ROWS, 1), tl.int64)  # the state after this step
            is_high = tl.zeros((ROWS, 1), tl.int64)
            number = tl.zeros((ROWS, 1), tl.int64)
            if OUTPUTS == 0:  # the last state may be any; at the first step nothing is left to be drawn
                at = _drawn(low, tl.load(own_uniforms, used, 0.0), STATES)
            for back in range(num_steps):
                step = num_steps - 1 - back
                limit_bit = (limit >> step) & 1
                ways = at | ((way & 1) << MEMORY)  # the registers that lead there
                bit = ways & 1
                was_high = way >> 1
                is_now_high = tl.where(bit == limit_bit, was_high, 1 - limit_bit)
                score = score_of_bit(start, step, used, ways >> 1, bit, masks, OUTPUTS, MEMORY, ROWS, 4)
                score = score + tl.load(sums + step * level + was_high * STATES + (ways >> 1))
                score = tl.where(is_now_high == is_high, tl.maximum(score, NOWHERE), NOWHERE)
                drawn = _drawn(score, tl.load(own_uniforms + step, used, 0.0), 4)
                chosen = at | ((drawn & 1) << MEMORY)
                number = number | tl.where(step < num_bits, (chosen & 1) << step, 0)
                at = chosen >> 1
                is_high = drawn >> 1
            tl.store(numbers + row * num_draws + draw, number, used)
        tl.debug_barrier()


@triton.jit
def _drawn(score, uniform, SIZE: tl.constexpr):
    """A place drawn in proportion to exp of its score. score [ROWS, SIZE], uniform [ROWS, 1] -> [ROWS, 1]"""
    place = tl.arange(0, SIZE)[None, :]
    mass = tl.exp(score - tl.max(score, 1, keep_dims=True))
    before = tl.cumsum(mass, 1)
    is_passed = before <= uniform * tl.sum(mass, 1, keep_dims=True)
    drawn = tl.sum(is_passed.to(tl.int64), 1, keep_dims=True)
    last = tl.max(tl.where(mass > 0, place, 0), 1, keep_dims=True)  # rounding may leave the sum below the uniform
    return tl.minimum(drawn, last.to(tl.int64))

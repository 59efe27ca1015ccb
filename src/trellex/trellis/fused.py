"""One Triton kernel for the log-sum over words and its gradient on CUDA: the whole recursion stays in registers.

A program holds a few words. For each it keeps the 2^m states twice, as in `lattice.below`: the ways whose bits
so far are at most those of size − 1 (`low`), and the ways whose bits are more (`high`). The butterfly of a step
is a join, a sum and a split, without any gather.
"""

# ruff: noqa: N803 — Triton's compile-time constants are written in capitals

from __future__ import annotations

from functools import lru_cache

import torch
import triton
import triton.language as tl
from torch import Tensor

from trellex import arrays
from trellex.trellis import kernels
from trellex.trellis.lattice import Register
from trellex.trellis.launching import on_own_device

CERTAIN = tl.constexpr(kernels.CERTAIN)
LARGEST = tl.constexpr(arrays.LARGEST_SINGLE)  # stands for a logit beyond: sums of many stay above NOWHERE
NOWHERE = tl.constexpr(-1e30)  # the log-sum of no way at all; finite, so that a difference of two is no NaN

WORDS = 2  # side by side in a program
STATES_OF_A_WARP = 128  # of all words of a program, for 32 threads
PROGRAMS = 4096  # at most, of one warp each; they take the words in turns


@on_own_device
def log_partition(
    logits: Tensor, register: Register, num_bits: int, size: int | None, with_posterior: bool = False
) -> tuple[Tensor, Tensor | None]:
    """The log-sum over words and, if asked for, its gradient. logits [N, L] -> values [N], posterior [N, L]"""
    logits = logits.contiguous()
    num_words, length = logits.shape
    states, num_steps = 1 << register.memory, num_bits if register.is_complete else num_bits + register.memory
    limit = (1 << num_bits if size is None else size) - 1
    values = logits.new_empty(num_words)
    posterior = torch.empty_like(logits) if with_posterior else None
    if num_words:
        warps = min(max(1, WORDS * states // STATES_OF_A_WARP), 8)
        programs = min(triton.cdiv(num_words, WORDS), max(1, PROGRAMS // warps))
        messages = logits.new_empty((programs, num_steps, WORDS, 2 * states) if with_posterior else 1)
        _log_partition[(programs,)](
            logits, generator_masks(register.generators, logits.device), values, posterior, messages,
            num_words, num_bits, num_steps, limit, length,
            OUTPUTS=len(register.generators), MEMORY=register.memory, STATES=states, WORDS=WORDS,
            WITH_POSTERIOR=with_posterior, num_warps=warps,
        )  # fmt: skip
    return values, posterior


@lru_cache(maxsize=16)
def generator_masks(generators: tuple[str, ...], device: torch.device) -> Tensor:
    """The generators as numbers. [n]"""
    return torch.tensor([int(generator, 2) for generator in generators], dtype=torch.int32, device=device)


@triton.jit
def _log_partition(
    logits, masks, values, posterior, messages, num_words, num_bits, num_steps, limit, length,
    OUTPUTS: tl.constexpr, MEMORY: tl.constexpr, STATES: tl.constexpr, WORDS: tl.constexpr,
    WITH_POSTERIOR: tl.constexpr,
):  # fmt: skip
    """logits [N, L], masks [n] -> values [N], posterior [N, L]; messages: scratch [programs, T, WORDS, 2 · STATES]

    OUTPUTS: n, or 0 of a complete trellis
    """
    word = tl.arange(0, WORDS)[:, None]
    state = tl.arange(0, STATES)[None, :]
    register = tl.arange(0, 2 * STATES)[None, :]
    messages += tl.program_id(0).to(tl.int64) * num_steps * WORDS * 2 * STATES + word * 2 * STATES + state
    message_size = WORDS * 2 * STATES

    for first in range(tl.program_id(0) * WORDS, num_words, tl.num_programs(0) * WORDS):
        row = (first + word).to(tl.int64)
        used = row < num_words
        start = tl.zeros((WORDS, STATES), logits.dtype.element_ty)
        low = tl.where(state == 0, start, NOWHERE)
        high = start + NOWHERE
        for step in range(num_steps):
            if WITH_POSTERIOR:
                tl.store(messages + step * message_size, low)
                tl.store(messages + step * message_size + STATES, high)
            metric = metric_by_register(
                logits + row * length, step, used, masks, logits.dtype.element_ty, OUTPUTS, MEMORY, WORDS, STATES
            )
            _, _, to_low, to_high = ways_by_register(low, high, metric, register, step, num_bits, limit, WORDS, STATES)
            low = into_states(to_low, WORDS, STATES)
            high = into_states(to_high, WORDS, STATES)
        highest = tl.max(low, 1, keep_dims=True)
        mass = tl.exp(low - highest)
        total = tl.sum(mass, 1, keep_dims=True)
        tl.store(values + row, highest + tl.log(total), used)

        if WITH_POSTERIOR:
            tl.debug_barrier()  # the messages may be read by other threads than wrote them
            flow_low = mass / total
            flow_high = start
            for back in range(num_steps):
                step = num_steps - 1 - back
                low = tl.load(messages + step * message_size)
                high = tl.load(messages + step * message_size + STATES)
                metric = metric_by_register(
                    logits + row * length, step, used, masks, logits.dtype.element_ty, OUTPUTS, MEMORY, WORDS, STATES
                )
                from_low, from_high, to_low, to_high = ways_by_register(
                    low, high, metric, register, step, num_bits, limit, WORDS, STATES
                )
                limit_bit = (limit >> step) & 1
                kept = (register & 1) == limit_bit
                part_low = _back_from_states(flow_low, to_low, WORDS, STATES)
                part_high = _back_from_states(flow_high, to_high, WORDS, STATES)
                merged = part_low if limit_bit == 1 else part_high
                was_low = tl.sigmoid(from_low - from_high)
                part_low = tl.where(kept, part_low, merged * was_low)
                part_high = tl.where(kept, part_high, merged * (1 - was_low))
                if OUTPUTS == 0:
                    _, share = tl.split(tl.reshape(part_low + part_high, (WORDS, STATES, 2)))
                    place = first_output(step, MEMORY) + state
                    tl.store(posterior + row * length + place, share, used & (state < (1 << tl.minimum(step, MEMORY))))
                else:
                    for output in tl.static_range(OUTPUTS):
                        bit = output_bit(tl.load(masks + output), register)
                        share = tl.sum((part_low + part_high) * bit, 1, keep_dims=True)
                        tl.store(posterior + row * length + step * OUTPUTS + output, share, used)
                flow_low = tl.sum(tl.reshape(part_low, (WORDS, STATES, 2)), 2)
                flow_high = tl.sum(tl.reshape(part_high, (WORDS, STATES, 2)), 2)
            tl.debug_barrier()


@triton.jit
def metric_by_register(
    logits, step, used, masks, KIND: tl.constexpr,
    OUTPUTS: tl.constexpr, MEMORY: tl.constexpr, WORDS: tl.constexpr, STATES: tl.constexpr,
):  # fmt: skip
    """The score of a step by register. logits: pointers to the first of a word [WORDS, 1] -> [WORDS, 2 · STATES]

    KIND: the precision in which logits are added up
    """
    if OUTPUTS == 0:
        state = tl.arange(0, STATES)[None, :]
        logit = finite(
            tl.load(logits + first_output(step, MEMORY) + state, used & (state < (1 << tl.minimum(step, MEMORY))), 0.0)
        ).to(KIND)
        return tl.reshape(tl.join(tl.zeros_like(logit), logit), (WORDS, 2 * STATES))
    else:
        register = tl.arange(0, 2 * STATES)[None, :]
        metric = tl.zeros((WORDS, 2 * STATES), KIND)
        for output in tl.static_range(OUTPUTS):
            logit = finite(tl.load(logits + step * OUTPUTS + output, used, 0.0)).to(KIND)
            metric += logit * output_bit(tl.load(masks + output), register)
        return metric


@triton.jit
def score_of_bit(
    logits, step, used, state, bit, masks, OUTPUTS: tl.constexpr, MEMORY: tl.constexpr, WORDS: tl.constexpr,
    COUNT: tl.constexpr,
):  # fmt: skip
    """What a bit adds to the score in some states. logits as above, state and bit [WORDS, COUNT] -> [WORDS, COUNT]"""
    if OUTPUTS == 0:
        known = used & (state < (1 << tl.minimum(step, MEMORY))) & (bit == 1)
        return finite(tl.load(logits + first_output(step, MEMORY) + state, known, 0.0))
    else:
        score = tl.zeros((WORDS, COUNT), logits.dtype.element_ty)
        for output in tl.static_range(OUTPUTS):
            logit = finite(tl.load(logits + step * OUTPUTS + output, used, 0.0))
            score += logit * output_bit(tl.load(masks + output), 2 * state + bit)
        return score


@triton.jit
def finite(logit):
    """What a logit counts, in its type."""
    counted = tl.where(tl.abs(logit) == float("inf"), tl.where(logit > 0, CERTAIN, -CERTAIN), logit)
    counted = tl.where(tl.abs(counted) > LARGEST, tl.where(counted > 0, LARGEST, -LARGEST), counted)
    return counted.to(logit.dtype)


@triton.jit
def first_output(step, MEMORY: tl.constexpr):
    """`Register.first_output`."""
    return (1 << tl.minimum(step, MEMORY)) - 1 + (tl.maximum(step - MEMORY, 0) << MEMORY)


@triton.jit
def output_bit(mask, register):
    """The parity of the masked register."""
    kept = register & mask
    kept = kept ^ (kept >> 8)
    kept = kept ^ (kept >> 4)
    kept = kept ^ (kept >> 2)
    return (kept ^ (kept >> 1)) & 1


@triton.jit
def ways_by_register(low, high, metric, register, step, num_bits, limit, WORDS: tl.constexpr, STATES: tl.constexpr):
    """The ways out of low and high states, and into them, by register [WORDS, 2 · STATES].

    The register is the state followed by the next bit. A bit equal to the limit's leaves a way where it is,
    a smaller one makes it low, a larger one high; after the last bit only zeros follow.
    """
    from_low = tl.reshape(tl.join(low, low), (WORDS, 2 * STATES)) + metric
    from_high = tl.reshape(tl.join(high, high), (WORDS, 2 * STATES)) + metric
    both = _log_add(from_low, from_high)
    limit_bit = (limit >> step) & 1
    bit = register & 1
    real = (step < num_bits) | (bit == 0)
    to_low = tl.where(bit == limit_bit, from_low, tl.where(limit_bit == 1, both, NOWHERE))
    to_high = tl.where(bit == limit_bit, from_high, tl.where(limit_bit == 0, both, NOWHERE))
    return from_low, from_high, tl.where(real, to_low, NOWHERE), tl.where(real, to_high, NOWHERE)


@triton.jit
def _pairs(ways, WORDS: tl.constexpr, STATES: tl.constexpr):
    """The two ways into every state, whose registers differ in the oldest bit. -> [WORDS, STATES] twice"""
    return tl.split(tl.permute(tl.reshape(ways, (WORDS, 2, STATES)), (0, 2, 1)))


@triton.jit
def into_states(ways, WORDS: tl.constexpr, STATES: tl.constexpr):
    """Sum the ways into every state. [WORDS, 2 · STATES] -> [WORDS, STATES]"""
    with_0, with_1 = _pairs(ways, WORDS, STATES)
    return _log_add(with_0, with_1)


@triton.jit
def _back_from_states(flow, ways, WORDS: tl.constexpr, STATES: tl.constexpr):
    """Divide the flow of every state among the ways into it. flow [WORDS, STATES] -> [WORDS, 2 · STATES]"""
    with_0, with_1 = _pairs(ways, WORDS, STATES)
    flow_0 = flow * tl.sigmoid(with_0 - with_1)
    return tl.reshape(tl.permute(tl.join(flow_0, flow - flow_0), (0, 2, 1)), (WORDS, 2 * STATES))


@triton.jit
def _log_add(a, b):
    return tl.maximum(a, b) + tl.log(1 + tl.exp(-tl.abs(a - b)))

"""The trellis algorithms for torch tensors on any device, in plain torch operations, one step of the trellis each.

They mean the same as those of `host`, which serves tensors in main memory too. Here no value is inspected,
because that would wait for the device: NaN in, NaN or nonsense out.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from trellex.arrays import largest_sum, number_to_bits
from trellex.trellis.kernels import CERTAIN
from trellex.trellis.lattice import Lattice


class Step(NamedTuple):
    """The edges into the states of one level, every state's list filled up with edges from a dead state."""

    width: int  # states of the level before, after which the dead state is numbered
    source: Tensor  # [states, edges]
    pattern: Tensor  # [states, edges]
    bit: Tensor  # the input bit, in its place in the word  [states, edges]


class Move(NamedTuple):
    """The edges out of the states of one level, and out of the dead state after them: none but to the dead."""

    target: Tensor  # [states + 1, edges]
    pattern: Tensor  # [states + 1, edges]
    bit: Tensor  # the input bit, in its place in the word  [edges]


def viterbi(probs: Tensor, lattice: Lattice) -> Tensor:
    """The most probable word of bit probabilities. probs [N, L] -> bits [N, B]"""
    numbers, _ = topk(torch.logit(probs), 1, lattice)
    return number_to_bits(numbers[:, 0], lattice.num_bits)


def topk(logits: Tensor, k: int, lattice: Lattice) -> tuple[Tensor, Tensor]:
    """The k best words, best first, −1 and −inf where there are fewer. logits [N, L] -> numbers, scores [N, k]

    Backwards, the best way on from every state; then forwards, the k beginnings whose best words are best. No two
    beginnings of one length have the same best word, so the beginnings of the k best words are always among them.
    """
    metrics, moves = _metrics(logits, lattice), _moves(lattice, logits.device)
    score = metrics[0].new_zeros(len(logits), 1)  # of the best way on from each state  [N, states]
    number = score.long()  # and its bits, in their places
    ways_on = [(score, number)]
    for move, metric in zip(reversed(moves), reversed(metrics), strict=True):
        target, pattern = move.target[:-1], move.pattern[:-1]
        ways = _with_dead_state(score, -torch.inf)[:, target] + metric[:, pattern]
        score, number = _best(ways, _with_dead_state(number, 0)[:, target] | move.bit)
        ways_on.append((score, number))

    state, begun, beginning = number.new_zeros(len(logits), 1), torch.zeros_like(score), torch.zeros_like(number)
    for move, metric, (ahead, bits_ahead) in zip(moves, metrics, reversed(ways_on[:-1]), strict=True):
        target = move.target[state].flatten(1)  # [N, beginnings · moves]
        begun = (begun[..., None] + metric.gather(1, move.pattern[state].flatten(1)).view(*state.shape, -1)).flatten(1)
        beginning = (beginning[..., None] | move.bit).flatten(1)
        score = begun + _with_dead_state(ahead, -torch.inf).gather(1, target)
        if score.shape[1] > k:
            order = _order(score, beginning | _with_dead_state(bits_ahead, 0).gather(1, target))[:, :k]
            target, begun, beginning = (values.gather(1, order) for values in (target, begun, beginning))
            score = score.gather(1, order)
        state = target
    order = _order(score, beginning)
    score, number = score.gather(1, order), beginning.gather(1, order)
    number = number.where(score > -torch.inf, -1)
    missing = (0, k - score.shape[1])
    pad = torch.nn.functional.pad
    return pad(number, missing, value=-1), pad(score, missing, value=-torch.inf).to(logits.dtype)


def log_partition(logits: Tensor, lattice: Lattice, with_posterior: bool = False) -> tuple[Tensor, Tensor | None]:
    """The log-sum over words and, if asked for, its gradient. logits [N, L] -> values [N], posterior [N, L]"""
    metrics, steps = _metrics(logits, lattice), _steps(lattice, logits.device)
    values, weights = _forward(metrics, steps)
    if not with_posterior:
        return values.to(logits.dtype), None
    flow = torch.ones_like(values)[:, None]  # [N, states]
    posterior = []
    for step, weight, metric in zip(reversed(steps), reversed(weights), reversed(metrics), strict=True):
        parts = (flow[..., None] * weight).flatten(1)  # [N, states · edges]
        share = torch.zeros_like(metric).index_add_(1, step.pattern.flatten(), parts)
        posterior.append(share[:, 1:] if lattice.is_complete else share @ _patterns(lattice, logits.device))
        flow = parts.new_zeros(len(parts), step.width + 1).index_add_(1, step.source.flatten(), parts)
        flow = flow[:, : step.width]
    return values.to(logits.dtype), torch.cat(posterior[::-1], 1).to(logits.dtype)


def sample(logits: Tensor, uniforms: Tensor, lattice: Lattice) -> Tensor:
    """Words drawn with their probabilities. logits [N, L], uniforms [N, C, T] in [0, 1) -> numbers [N, C]"""
    steps = _steps(lattice, logits.device)
    _, weights = _forward(_metrics(logits, lattice), steps)
    rows = torch.arange(len(logits), device=logits.device)[:, None]
    state = rows.new_zeros(uniforms.shape[:2])
    number = torch.zeros_like(state)
    for step, weight, uniform in zip(reversed(steps), reversed(weights), reversed(uniforms.unbind(-1)), strict=True):
        ways = weight[rows, state]  # [N, C, edges]
        edge = (ways.cumsum(-1) <= uniform[..., None]).sum(-1)
        last = ways.shape[-1] - 1 - (ways > 0).flip(-1).int().argmax(-1)  # rounding may leave the sum below the uniform
        edge = edge.minimum(last)
        number |= step.bit[state, edge]
        state = step.source[state, edge]
    return number


def _metrics(logits: Tensor, lattice: Lattice) -> list[Tensor]:
    """The score of every output pattern, step by step. T times [N, patterns]"""
    largest = largest_sum(logits)
    logits = torch.nan_to_num(logits.to(_precision(logits.device)), nan=torch.nan, posinf=CERTAIN, neginf=-CERTAIN)
    logits = logits.clamp(-largest, largest)
    if lattice.is_complete:
        outputs = pairwise(lattice.patterns.tolist())
        return [torch.nn.functional.pad(logits[:, first:end], (1, 0)) for first, end in outputs]
    metrics = logits.view(len(logits), lattice.num_steps, -1) @ _patterns(lattice, logits.device).T
    return list(metrics.unbind(1))


def _forward(metrics: list[Tensor], steps: list[Step]) -> tuple[Tensor, list[Tensor]]:
    """The log-sum over all ways, and at every step how the sum divides. values [N], weights [N, states, edges]

    As in the kernels, a sum is kept as the score of its best way and its mass relative to that.
    """
    best = torch.zeros_like(metrics[0][:, :1])  # [N, states]
    mass = torch.ones_like(best)
    weights = []
    for step, metric in zip(steps, metrics, strict=True):
        ways = _with_dead_state(best, -torch.inf)[:, step.source] + metric[:, step.pattern]
        best = ways.amax(-1)
        parts = _with_dead_state(mass, 0.0)[:, step.source] * (ways - best[..., None]).exp()
        mass = parts.sum(-1)
        weights.append(parts / mass[..., None])
    return (best + mass.log())[:, 0], weights


def _best(score: Tensor, number: Tensor) -> tuple[Tensor, Tensor]:
    """The best along the last dimension, of equal ones that of the lowest number. [.., ways] -> [..] twice"""
    best = score.amax(-1, keepdim=True)
    return best[..., 0], number.where(score == best, torch.iinfo(number.dtype).max).amin(-1)


def _order(score: Tensor, number: Tensor) -> Tensor:
    """Best first along the last dimension, of equal ones the lowest number first."""
    order = number.argsort(dim=-1, stable=True)
    return order.gather(-1, score.gather(-1, order).argsort(dim=-1, descending=True, stable=True))


def _with_dead_state(values: Tensor, dead: float) -> Tensor:
    """values [N, states, ..] with one more state, after the others."""
    return torch.cat([values, torch.full_like(values[:, :1], dead)], 1)


@lru_cache(maxsize=64)
def _patterns(lattice: Lattice, device: torch.device) -> Tensor:
    """The output patterns in the precision of the sums. [patterns, n]"""
    return torch.from_numpy(lattice.patterns).to(device, _precision(device))


def _precision(device: torch.device) -> torch.dtype:
    """That of the sums."""
    return torch.float32 if device.type == "mps" else torch.float64


@lru_cache(maxsize=64)
def _steps(lattice: Lattice, device: torch.device) -> list[Step]:
    """The lattice as dense tensors on a device, one `Step` for every level but the first."""
    steps = []
    for time in range(lattice.num_steps):
        states = np.arange(lattice.levels[time + 1], lattice.levels[time + 2])
        begin, end = lattice.incoming[states].astype(np.int64), lattice.incoming[states + 1].astype(np.int64)
        width = int(lattice.levels[time + 1] - lattice.levels[time])
        index = begin[:, None] + np.arange((end - begin).max())
        dead = index >= end[:, None]
        source, pattern, bit = lattice.edges[np.where(dead, 0, index)].astype(np.int64).transpose(2, 0, 1)
        source[dead] = width
        steps.append(Step(width, *(torch.from_numpy(x).to(device) for x in (source, pattern, bit << time))))
    return steps


@lru_cache(maxsize=64)
def _moves(lattice: Lattice, device: torch.device) -> list[Move]:
    """The lattice from the other end: one `Move` for every level but the last."""
    moves = []
    levels, incoming = lattice.levels.astype(np.int64), lattice.incoming.astype(np.int64)
    for time in range(lattice.num_steps):
        width, next_width = np.diff(levels[time : time + 3])
        edges = slice(incoming[levels[time + 1]], incoming[levels[time + 2]])
        source, pattern, bit = lattice.edges[edges].astype(np.int64).T
        table = np.zeros((2, width + 1, bit.max() + 1), np.int64)
        table[0] = next_width
        ways_in = np.diff(incoming[levels[time + 1] : levels[time + 2] + 1])
        table[:, source, bit] = np.repeat(np.arange(next_width), ways_in), pattern
        bits = np.arange(bit.max() + 1) << time if time < lattice.num_bits else np.zeros(1, np.int64)
        moves.append(Move(*(torch.from_numpy(values).to(device) for values in (*table, bits))))
    return moves

"""Triton kernels for the scores of attention on CUDA, v · tanh(query + key), and for their gradients.

PyTorch would write the tanh of every pair of a target and a source word several times over. Here it is computed where
it is needed, and once more for the gradient.
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

WORDS = 32  # of a source sentence that a program looks at together, for scores
PLACES = 8  # queries or keys, likewise, for gradients
COLUMNS = 64  # of either


@on_own_device
def energies(queries: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
    """queries [N, T, H], keys [N, S, H], vector [H] -> [N, T, S] in single precision"""
    found: Tensor = _Energies.apply(queries, keys, vector)  # type: ignore[no-untyped-call]
    return found


class _Energies(torch.autograd.Function):
    """queries [N, T, H], keys [N, S, H], vector [H] -> [N, T, S]"""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
        queries, keys, vector = queries.contiguous(), keys.contiguous(), vector.contiguous()
        (rows, steps, size), width = queries.shape, keys.shape[1]
        ctx.save_for_backward(queries, keys, vector)
        found = torch.empty(rows, steps, width, dtype=torch.float32, device=queries.device)
        if found.numel():
            _energies[rows, steps, triton.cdiv(width, WORDS)](
                queries, keys, vector, found, steps, width, size, WORDS=WORDS, COLUMNS=COLUMNS
            )
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The sum of a query and a key is as much the one's as the other's, so one kernel serves either."""
        queries, keys, vector = ctx.saved_tensors
        of_vector = torch.empty(
            len(queries), triton.cdiv(queries.shape[1], PLACES), len(vector), dtype=torch.float32, device=vector.device
        )
        of_queries = _gradient(gradient, queries, keys, vector, of_vector)
        of_keys = _gradient(gradient.mT, keys, queries, vector)
        return of_queries, of_keys, of_vector.sum((0, 1)).to(vector.dtype)


def _gradient(
    gradient: Tensor, mine: Tensor, others: Tensor, vector: Tensor, of_vector: Tensor | None = None
) -> Tensor:
    """That of mine, and that of the vector by rows and blocks of mine, if asked for.

    gradient [N, A, B], mine [N, A, H], others [N, B, H], vector [H], of_vector [N, A / PLACES, H] -> [N, A, H]
    """
    (rows, num_mine, size), num_others = mine.shape, others.shape[1]
    of_mine = torch.empty_like(mine)
    if of_mine.numel():
        _gradients[rows, triton.cdiv(num_mine, PLACES), triton.cdiv(size, COLUMNS)](
            gradient, mine, others, vector, of_mine, of_vector, num_mine, num_others, size, *gradient.stride(),
            WITH_VECTOR=of_vector is not None, PLACES=PLACES, COLUMNS=COLUMNS, num_warps=1,
        )  # fmt: skip
    return of_mine


# Sizes that change from batch to batch are read when it runs, so that all batches share one compiled kernel.
@triton.jit(do_not_specialize=["steps", "width"])
def _energies(queries, keys, vector, found, steps, width, size, WORDS: tl.constexpr, COLUMNS: tl.constexpr):
    """A program has one target word, and some source words. queries, keys, vector -> found [N, T, S]"""
    row = tl.program_id(0).to(tl.int64)
    place = row * steps + tl.program_id(1)
    word = tl.program_id(2) * WORDS + tl.arange(0, WORDS)
    total = tl.zeros((WORDS,), tl.float32)
    for column in range(0, size, COLUMNS):
        at = column + tl.arange(0, COLUMNS)
        query = tl.load(queries + place * size + at, at < size, 0.0).to(tl.float32)
        weight = tl.load(vector + at, at < size, 0.0).to(tl.float32)
        key = _block_of_keys(keys + row * width * size, word, at, width, size)
        total += tl.sum(_tanh(query[None, :] + key) * weight[None, :], 1)
    tl.store(found + place * width + word, total, word < width)


@triton.jit(do_not_specialize=["num_mine", "num_others", "row_stride", "mine_stride", "other_stride"])
def _gradients(
    gradient, mine, others, vector, of_mine, of_vector, num_mine, num_others, size, row_stride, mine_stride,
    other_stride, WITH_VECTOR: tl.constexpr, PLACES: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """A program has some queries, or some keys, of a sentence, and some of their columns.

    gradient [N, A, B] by its strides, mine [N, A, H], others [N, B, H], vector [H] -> of_mine [N, A, H] and, to be
    added up, of_vector [N, A / PLACES, H]
    """
    row, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    place = block * PLACES + tl.arange(0, PLACES)
    at = tl.program_id(2) * COLUMNS + tl.arange(0, COLUMNS)
    kept = (place < num_mine)[:, None] & (at < size)[None, :]
    mine_at = (row * num_mine + place)[:, None] * size + at[None, :]
    own = tl.load(mine + mine_at, kept, 0.0).to(tl.float32)
    change_at = gradient + row * row_stride + place[:, None] * mine_stride
    of_own = tl.zeros((PLACES, COLUMNS), tl.float32)
    of_weight = tl.zeros((PLACES, COLUMNS), tl.float32)
    for other in range(num_others):
        theirs = tl.load(others + (row * num_others + other) * size + at[None, :], (at < size)[None, :], 0.0)
        change = tl.load(change_at + other * other_stride, (place < num_mine)[:, None], 0.0)
        hidden = _tanh(own + theirs.to(tl.float32))
        if WITH_VECTOR:
            of_weight += change * hidden
        of_own += change * (1 - hidden * hidden)
    weight = tl.load(vector + at, at < size, 0.0).to(tl.float32)
    tl.store(of_mine + mine_at, (of_own * weight[None, :]).to(of_mine.dtype.element_ty), kept)
    if WITH_VECTOR:
        of_vector += (row * tl.num_programs(1) + block) * size
        tl.store(of_vector + at, tl.sum(of_weight, 0), at < size)


@triton.jit
def _block_of_keys(keys, word, at, width, size):
    """Some columns of the keys of a sentence, 0 beyond. word [WORDS], at [COLUMNS] -> [WORDS, COLUMNS]"""
    known = (word < width)[:, None] & (at < size)[None, :]
    return tl.load(keys + word[:, None] * size + at[None, :], known, 0.0).to(tl.float32)


@triton.jit
def _tanh(value):
    return 2 * tl.sigmoid(2 * value) - 1

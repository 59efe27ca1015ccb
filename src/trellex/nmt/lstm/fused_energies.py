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

WORDS = 32  # of a source sentence that a program looks at together
COLUMNS = 64  # of their keys, likewise


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
        queries, keys, vector = ctx.saved_tensors
        (rows, steps, size), width = queries.shape, keys.shape[1]
        if not gradient.numel():
            return torch.zeros_like(queries), torch.zeros_like(keys), torch.zeros_like(vector)
        parts = triton.cdiv(width, WORDS)
        of_queries, of_keys = queries.new_empty(parts, *queries.shape), torch.empty_like(keys)
        of_vector = torch.empty(parts, rows, size, dtype=torch.float32, device=queries.device)
        _gradients[rows, triton.cdiv(size, COLUMNS), parts](
            gradient.contiguous(), queries, keys, vector, of_queries, of_keys, of_vector, steps, width, size,
            WORDS=WORDS, COLUMNS=COLUMNS,
        )  # fmt: skip
        return of_queries.sum(0) if parts > 1 else of_queries[0], of_keys, of_vector.sum((0, 1)).to(vector.dtype)


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


@triton.jit(do_not_specialize=["steps", "width"])
def _gradients(
    gradient, queries, keys, vector, of_queries, of_keys, of_vector, steps, width, size,
    WORDS: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """A program has some source words of a sentence, and some columns.

    gradient [N, T, S] -> of_keys [N, S, H]; by source words, to be added up, of_queries [parts, N, T, H], of_vector
    [parts, N, H]
    """
    row = tl.program_id(0).to(tl.int64)
    part = tl.program_id(2).to(tl.int64) * tl.num_programs(0) + row
    word = tl.program_id(2) * WORDS + tl.arange(0, WORDS)
    at = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    weight = tl.load(vector + at, at < size, 0.0).to(tl.float32)
    key = _block_of_keys(keys + row * width * size, word, at, width, size)
    of_key = tl.zeros((WORDS, COLUMNS), tl.float32)
    of_weight = tl.zeros((COLUMNS,), tl.float32)
    for step in range(steps):
        query = tl.load(queries + (row * steps + step) * size + at, at < size, 0.0).to(tl.float32)
        change = tl.load(gradient + (row * steps + step) * width + word, word < width, 0.0)[:, None]
        hidden = _tanh(query[None, :] + key)
        of_weight += tl.sum(change * hidden, 0)
        of_sum = change * (1 - hidden * hidden) * weight[None, :]
        of_key += of_sum
        of_query = tl.sum(of_sum, 0).to(of_queries.dtype.element_ty)
        tl.store(of_queries + (part * steps + step) * size + at, of_query, at < size)
    kept = (word < width)[:, None] & (at < size)[None, :]
    of_keys += row * width * size
    tl.store(of_keys + word[:, None] * size + at[None, :], of_key.to(of_keys.dtype.element_ty), kept)
    tl.store(of_vector + part * size + at, of_weight, at < size)


@triton.jit
def _block_of_keys(keys, word, at, width, size):
    """Some columns of the keys of a sentence, 0 beyond. word [WORDS], at [COLUMNS] -> [WORDS, COLUMNS]"""
    known = (word < width)[:, None] & (at < size)[None, :]
    return tl.load(keys + word[:, None] * size + at[None, :], known, 0.0).to(tl.float32)


@triton.jit
def _tanh(value):
    return 2 * tl.sigmoid(2 * value) - 1

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

WIDEST = 512  # sentences, of as many source words
ELEMENTS = 4096  # that a program looks at together


def energies(queries: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
    """queries [N, T, H], keys [N, S, H], vector [H] -> [N, T, S] in single precision"""
    found: Tensor = _Energies.apply(queries, keys, vector)  # type: ignore[no-untyped-call]
    return found


class _Energies(torch.autograd.Function):
    """queries [N, T, H], keys [N, S, H], vector [H] -> [N, T, S]"""

    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
        queries, keys = queries.contiguous(), keys.contiguous()
        (rows, steps, size), width = queries.shape, keys.shape[1]
        ctx.save_for_backward(queries, keys, vector)
        found = torch.empty(rows, steps, width, dtype=torch.float32, device=queries.device)
        if found.numel():
            _energies[rows, steps](queries, keys, vector, found, steps, width, size, **_blocks(width))
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        queries, keys, vector = ctx.saved_tensors
        (rows, steps, size), width = queries.shape, keys.shape[1]
        of_queries, of_keys = torch.empty_like(queries), torch.empty_like(keys)
        of_vector = torch.empty(rows, size, dtype=torch.float32, device=queries.device)
        blocks = _blocks(width)
        if gradient.numel():
            _gradients[rows, triton.cdiv(size, blocks["COLUMNS"])](
                gradient.contiguous(), queries, keys, vector, of_queries, of_keys, of_vector, steps, width, size,
                **blocks,
            )  # fmt: skip
        return of_queries, of_keys, of_vector.sum(0).to(vector.dtype)


def _blocks(width: int) -> dict[str, int]:
    """All source words, and some columns of their keys."""
    power = max(16, triton.next_power_of_2(width))
    return {"WIDTH": power, "COLUMNS": max(16, min(64, ELEMENTS // power))}


@triton.jit
def _energies(queries, keys, vector, found, steps, width, size, WIDTH: tl.constexpr, COLUMNS: tl.constexpr):
    """A program has one target word. queries [N, T, H], keys [N, S, H], vector [H] -> found [N, T, S]"""
    row = tl.program_id(0).to(tl.int64)
    place = row * steps + tl.program_id(1)
    word = tl.arange(0, WIDTH)
    total = tl.zeros((WIDTH,), tl.float32)
    for column in range(0, size, COLUMNS):
        at = column + tl.arange(0, COLUMNS)
        query = tl.load(queries + place * size + at, at < size, 0.0).to(tl.float32)
        weight = tl.load(vector + at, at < size, 0.0).to(tl.float32)
        key = _block_of_keys(keys + row * width * size, word, at, width, size)
        total += tl.sum(_tanh(query[None, :] + key) * weight[None, :], 1)
    tl.store(found + place * width + word, total, word < width)


@triton.jit
def _gradients(
    gradient, queries, keys, vector, of_queries, of_keys, of_vector, steps, width, size,
    WIDTH: tl.constexpr, COLUMNS: tl.constexpr,
):  # fmt: skip
    """A program has some columns of a sentence. gradient [N, T, S] -> of_queries, of_keys, of_vector [N, H]"""
    row = tl.program_id(0).to(tl.int64)
    word = tl.arange(0, WIDTH)
    at = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    weight = tl.load(vector + at, at < size, 0.0).to(tl.float32)
    key = _block_of_keys(keys + row * width * size, word, at, width, size)
    of_key = tl.zeros((WIDTH, COLUMNS), tl.float32)
    of_weight = tl.zeros((COLUMNS,), tl.float32)
    for step in range(steps):
        place = row * steps + step
        query = tl.load(queries + place * size + at, at < size, 0.0).to(tl.float32)
        change = tl.load(gradient + place * width + word, word < width, 0.0)[:, None]
        hidden = _tanh(query[None, :] + key)
        of_weight += tl.sum(change * hidden, 0)
        of_sum = change * (1 - hidden * hidden) * weight[None, :]
        of_key += of_sum
        tl.store(of_queries + place * size + at, tl.sum(of_sum, 0).to(of_queries.dtype.element_ty), at < size)
    kept = (word < width)[:, None] & (at < size)[None, :]
    of_keys += row * width * size
    tl.store(of_keys + word[:, None] * size + at[None, :], of_key.to(of_keys.dtype.element_ty), kept)
    tl.store(of_vector + row * size + at, of_weight, at < size)


@triton.jit
def _block_of_keys(keys, word, at, width, size):
    """Some columns of the keys of a sentence, 0 beyond. word [WIDTH], at [COLUMNS] -> [WIDTH, COLUMNS]"""
    known = (word < width)[:, None] & (at < size)[None, :]
    return tl.load(keys + word[:, None] * size + at[None, :], known, 0.0).to(tl.float32)


@triton.jit
def _tanh(value):
    return 2 * tl.sigmoid(2 * value) - 1

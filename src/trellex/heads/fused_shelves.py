"""Triton kernels for the scores of words on shelves on CUDA, and for their gradients.

A program has one shelf, and all rows that read it: states are gathered, and vectors read from their table, by the
product itself, so that neither is copied. As a word is on one shelf alone, its gradient is one program's. Where few
rows read, and no gradient is asked for, a program has what one row reads from one shelf.
"""

# ruff: noqa: N803 — Triton's compile-time constants are written in capitals

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from trellex import arrays
from trellex.trellis.launching import on_own_device

LARGEST = tl.constexpr(arrays.LARGEST_SINGLE)  # in place of scores beyond, up or down
ROWS = 64  # that a program multiplies at a time
COLUMNS = 64  # of vectors, likewise
SPLIT = 8  # programs that share the rows of a shelf


@on_own_device
def scores_by_shelf(states: Tensor, shelves: Tensor, words: Tensor, vectors: Tensor, bias: Tensor) -> Tensor:
    """The product of a state with a word's vector, and the word's bias, −inf where there is no word.

    Args:
        states: to multiply with vectors  [T, E]
        shelves: those to read  [T, K]
        words: on each of all shelves, every word once, −1 where there is none  [S, W]
        vectors: of all words  [V, E]
        bias: of all words  [V]

    Returns:
        [T, K, W] in single precision
    """
    scores: Tensor = _Scores.apply(states, vectors, bias, shelves, words)  # type: ignore[no-untyped-call]
    return scores


@on_own_device
def scores_by_read(
    states: Tensor, shelves: Tensor, words: Tensor | None, vectors: Tensor, bias: Tensor, width: int, shelf_bits: int
) -> Tensor:
    """The same without gradient, for every row by itself. -> [T, K, W]

    words: of all numbers, None where each is its own  [V]
    shelf_bits: the place of a word on its shelf is in the bits above these
    """
    states, vectors, bias = (each.contiguous() for each in (states, vectors, bias))
    (rows, reads), size = shelves.shape, states.shape[1]
    scores = torch.empty(rows, reads, width, dtype=torch.float32, device=states.device)
    if scores.numel():
        _scores_by_read[(rows * reads,)](
            states, vectors, bias, shelves, shelves if words is None else words, scores, *shelves.stride(),
            reads, width, size, shelf_bits, len(vectors),
            HAS_WORDS=words is not None, COLUMNS=COLUMNS, WIDTH=triton.next_power_of_2(width),
        )  # fmt: skip
    return scores


class _Scores(torch.autograd.Function):
    """states [T, E], vectors [V, E], bias [V], shelves [T, K], words [S, W] -> [T, K, W]"""

    @staticmethod
    def forward(ctx: Any, states: Tensor, vectors: Tensor, bias: Tensor, shelves: Tensor, words: Tensor) -> Tensor:
        states, vectors, bias, words = (each.contiguous() for each in (states, vectors, bias, words))
        shelf, order = shelves.flatten().int().sort(stable=True)
        numbers = torch.arange(len(words) + 1, dtype=torch.int32, device=shelf.device)
        first = torch.searchsorted(shelf, numbers)  # the rows of a shelf begin there, and end where the next's begin
        scores = torch.empty(*shelves.shape, words.shape[1], dtype=torch.float32, device=states.device)
        ctx.save_for_backward(states, vectors, words, order, first)
        if len(order):
            _scores[len(words), SPLIT](
                states, vectors, bias, words, order, first, scores, **_sizes(states, words, order), SPLIT=SPLIT
            )
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None, None, None]:
        states, vectors, words, order, first = ctx.saved_tensors
        gradient, sizes = gradient.contiguous(), _sizes(states, words, order)
        needs_states, needs_vectors, needs_bias, *_ = ctx.needs_input_grad
        of_states = of_vectors = of_bias = None
        if needs_states:
            of_reads = states.new_empty(len(order), states.shape[1])
            if len(order):
                _of_states[len(words), SPLIT](gradient, vectors, words, order, first, of_reads, **sizes, SPLIT=SPLIT)
            of_states = of_reads.view(len(states), gradient.shape[1], states.shape[1]).sum(1)
        if needs_vectors or needs_bias:
            of_vectors, of_bias = torch.empty_like(vectors), vectors.new_empty(len(vectors))
            columns = triton.cdiv(states.shape[1], COLUMNS)
            _of_vectors[len(words), columns](gradient, states, words, order, first, of_vectors, of_bias, **sizes)
        return of_states, of_vectors, of_bias, None, None


def _sizes(states: Tensor, words: Tensor, order: Tensor) -> dict[str, Any]:
    """What all kernels are told."""
    width = words.shape[1]
    return {
        "reads": len(order) // max(1, len(states)), "width": width, "size": states.shape[1],
        "PRECISION": "ieee" if states.dtype == torch.float32 else "tf32",  # of half precision there is one alone
        "ROWS": ROWS, "COLUMNS": COLUMNS, "WIDTH": max(16, triton.next_power_of_2(width)),
    }  # fmt: skip


@triton.jit
def _scores(
    states, vectors, bias, words, order, first, scores, reads, width, size,
    PRECISION: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDTH: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """states [T, E], vectors [V, E], bias [V], words [S, W], order [T · K], first [S + 1] -> scores [T · K, W]"""
    shelf = tl.program_id(0)
    place = tl.arange(0, WIDTH)
    word = tl.load(words + shelf * width + place, place < width, -1)
    own_bias = tl.load(bias + word, word >= 0, 0.0)
    end = tl.load(first + shelf + 1)
    for start in range(tl.load(first + shelf) + tl.program_id(1) * ROWS, end, SPLIT * ROWS):
        read = _reads_from(order, start, end, ROWS)
        products = tl.zeros((ROWS, WIDTH), tl.float32)
        for column in range(0, size, COLUMNS):
            state = _block(states, tl.where(read >= 0, read // reads, -1), column, size, COLUMNS)
            vector = _block(vectors, word, column, size, COLUMNS).to(state.dtype)
            products = tl.dot(state, tl.trans(vector), products, input_precision=PRECISION)
        found = _bounded(products + own_bias[None, :], (word >= 0)[None, :])
        is_kept = (read >= 0)[:, None] & (place < width)[None, :]
        tl.store(scores + read[:, None] * width + place[None, :], found, is_kept)


@triton.jit
def _scores_by_read(
    states, vectors, bias, shelves, words, scores, row_stride, stride, reads, width, size, shelf_bits, limit,
    HAS_WORDS: tl.constexpr, COLUMNS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """states [T, E], vectors [V, E], bias [V], shelves [T, K], words [V] -> scores [T · K, W]; limit: V"""
    read = tl.program_id(0).to(tl.int64)
    place = tl.arange(0, WIDTH)
    shelf = tl.load(shelves + read // reads * row_stride + read % reads * stride)
    state = states + read // reads * size
    _, found = words_on(
        shelf, state, vectors, bias, words, width, size, shelf_bits, limit, HAS_WORDS, COLUMNS, WIDTH
    )  # fmt: skip
    tl.store(scores + read * width + place, found, place < width)


@triton.jit
def words_on(
    shelf, state, vectors, bias, words, width, size, shelf_bits, limit,
    HAS_WORDS: tl.constexpr, COLUMNS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """The words of a shelf, −1 where there is none, and their scores. state: a pointer to a row -> [WIDTH] twice"""
    place = tl.arange(0, WIDTH)
    number = shelf + (place.to(tl.int64) << shelf_bits)
    word = tl.where((place < width) & (number < limit), number, -1)
    if HAS_WORDS:
        word = tl.load(words + word, word >= 0, -1)
    found = tl.load(bias + word, word >= 0, 0.0)
    for column in range(0, size, COLUMNS):
        at = column + tl.arange(0, COLUMNS)
        part = tl.load(state + at, at < size, 0.0).to(tl.float32)
        found += tl.sum(_block(vectors, word, column, size, COLUMNS).to(tl.float32) * part[None, :], 1)
    return word, _bounded(found, word >= 0)


@triton.jit
def _bounded(scores, is_word):
    """Scores of which many can be added up, and −inf where there is no word."""
    scores = tl.where(tl.abs(scores) > LARGEST, tl.where(scores > 0, LARGEST, -LARGEST), scores)
    return tl.where(is_word, scores, -float("inf"))


@triton.jit
def _of_states(
    gradient, vectors, words, order, first, of_reads, reads, width, size,
    PRECISION: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDTH: tl.constexpr, SPLIT: tl.constexpr,
):  # fmt: skip
    """gradient [T · K, W] -> of_reads [T · K, E], whose sums over K are the gradients of states"""
    shelf = tl.program_id(0)
    place = tl.arange(0, WIDTH)
    word = tl.load(words + shelf * width + place, place < width, -1)
    kind = of_reads.dtype.element_ty
    end = tl.load(first + shelf + 1)
    for start in range(tl.load(first + shelf) + tl.program_id(1) * ROWS, end, SPLIT * ROWS):
        read = _reads_from(order, start, end, ROWS)
        change = _change(gradient, read, word, width, WIDTH).to(kind)
        for column in range(0, size, COLUMNS):
            vector = _block(vectors, word, column, size, COLUMNS).to(kind)
            found = tl.dot(change, vector, input_precision=PRECISION)
            at = column + tl.arange(0, COLUMNS)[None, :]
            tl.store(of_reads + read[:, None] * size + at, found.to(kind), (read >= 0)[:, None] & (at < size))


@triton.jit
def _of_vectors(
    gradient, states, words, order, first, of_vectors, of_bias, reads, width, size,
    PRECISION: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """gradient [T · K, W], states [T, E] -> of_vectors [V, E], of_bias [V]; a program has some columns of a shelf"""
    shelf = tl.program_id(0)
    column = tl.program_id(1) * COLUMNS
    place = tl.arange(0, WIDTH)
    word = tl.load(words + shelf * width + place, place < width, -1)
    end = tl.load(first + shelf + 1)
    found = tl.zeros((WIDTH, COLUMNS), tl.float32)
    of_own_bias = tl.zeros((WIDTH,), tl.float32)
    for start in range(tl.load(first + shelf), end, ROWS):
        read = _reads_from(order, start, end, ROWS)
        change = _change(gradient, read, word, width, WIDTH)
        state = _block(states, tl.where(read >= 0, read // reads, -1), column, size, COLUMNS)
        found = tl.dot(tl.trans(change).to(state.dtype), state, found, input_precision=PRECISION)
        of_own_bias += tl.sum(change, 0)
    at = column + tl.arange(0, COLUMNS)[None, :]
    tl.store(of_vectors + word[:, None] * size + at, found, (word >= 0)[:, None] & (at < size))
    if tl.program_id(1) == 0:
        tl.store(of_bias + word, of_own_bias, word >= 0)


@triton.jit
def _reads_from(order, start, end, ROWS: tl.constexpr):
    """Some of the reads of a shelf, −1 after the last. -> [ROWS]"""
    place = start + tl.arange(0, ROWS)
    return tl.load(order + place, place < end, -1)


@triton.jit
def _block(table, row, column, size, COLUMNS: tl.constexpr):
    """Some columns of rows of a table, 0 where there is none. row [n], −1 for none -> [n, COLUMNS]"""
    at = column + tl.arange(0, COLUMNS)[None, :]
    return tl.load(table + row[:, None] * size + at, (row >= 0)[:, None] & (at < size), 0.0)


@triton.jit
def _change(gradient, read, word, width, WIDTH: tl.constexpr):
    """The gradient of the scores of some reads, 0 where there is no word. read [ROWS], word [WIDTH] -> [ROWS, WIDTH]"""
    place = tl.arange(0, WIDTH)[None, :]
    return tl.load(gradient + read[:, None] * width + place, (read >= 0)[:, None] & (word >= 0)[None, :], 0.0)

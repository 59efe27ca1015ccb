"""Products of hidden states with the vectors of all words on some shelves, which rows that read one shelf share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding

from trellex.arrays import is_inspectable

MOST_TOGETHER = 32  # rows of a block
MOST_GATHERED = 1 << 26  # elements of vectors that are copied out of the table at a time


class Part(NamedTuple):
    """Shelves that are read at a time, by equally many rows each, which follow each other."""

    first_row: int
    first_shelf: int
    shelves: int
    rows: int  # of each shelf

    @property
    def of_rows(self) -> slice:
        return slice(self.first_row, self.first_row + self.shelves * self.rows)

    @property
    def of_shelves(self) -> slice:
        return slice(self.first_shelf, self.first_shelf + self.shelves)


def scores_by_shelf(
    states: Tensor,
    shelves: Tensor,
    words_on: Callable[[Tensor], Tensor],
    vectors: Tensor,
    num_shelves: int,
    sparse: bool = False,
) -> Tensor:
    """Rows that read the same shelf read it together.

    In main memory every shelf is read once. An accelerator reads blocks of up to R rows, side by side: how many there
    are is known from the sizes alone, so that it need not be waited for.

    Args:
        states: to multiply with vectors  [T, E]
        shelves: those to read  [T, K], of num_shelves
        words_on: the words of shelves, −1 where there is none  [..] -> [.., W]
        vectors: of all words  [V, E]
        sparse: whether their gradient holds the vectors that were read alone

    Returns:
        [T, K, W], anything where a shelf has no word
    """
    shelf, order = shelves.flatten().sort(stable=True)
    rows = states[order // shelves.shape[1]]
    products = (_each_once if is_inspectable(shelf) else _in_blocks)(
        rows, shelf, words_on, vectors, num_shelves, sparse
    )
    found = products.new_empty(products.shape).index_copy(0, order, products)
    return found.view(*shelves.shape, products.shape[1])


def _each_once(
    rows: Tensor, shelf: Tensor, words_on: Callable[[Tensor], Tensor], vectors: Tensor, _: int, sparse: bool
) -> Tensor:
    """rows [P, E], their shelves in order [P] -> [P, W]"""
    found, counts = torch.unique_consecutive(shelf, return_counts=True)
    parts, first_row = [], 0
    for number, count in enumerate(counts.tolist()):
        parts.append(Part(first_row, number, 1, count))
        first_row += count
    return _multiplied(rows, vectors, words_on(found), parts, sparse)


def _in_blocks(
    rows: Tensor, shelf: Tensor, words_on: Callable[[Tensor], Tensor], vectors: Tensor, num_shelves: int, sparse: bool
) -> Tensor:
    """rows [P, E], their shelves in order [P] -> [P, W]"""
    pairs, size = rows.shape
    together = min(MOST_TOGETHER, 1 << (pairs // num_shelves).bit_length())
    num_blocks = (pairs + min(pairs, num_shelves) * (together - 1)) // together
    place = torch.arange(pairs, device=shelf.device)
    is_first = torch.cat([place[:1] == 0, shelf[1:] != shelf[:-1]])
    in_run = place - place.where(is_first, 0).cummax(0).values  # how many of this shelf come before
    block = (in_run % together == 0).long().cumsum(0) - 1
    slot = block * together + in_run % together
    words = words_on(shelf.new_zeros(num_blocks).index_copy(0, block, shelf))  # [blocks, W]
    at_a_time = max(1, MOST_GATHERED // max(1, words.shape[1] * size))
    parts = [
        Part(first * together, first, min(at_a_time, num_blocks - first), together)
        for first in range(0, num_blocks, at_a_time)
    ]
    padded = rows.new_zeros(num_blocks * together, size).index_copy(0, slot, rows)
    return _multiplied(padded, vectors, words, parts, sparse)[slot]


def _multiplied(rows: Tensor, vectors: Tensor, words: Tensor, parts: Sequence[Part], sparse: bool) -> Tensor:
    """rows [P, E], words [S, W] -> [P, W]"""
    products: Tensor = _Products.apply(rows, vectors, words.clamp(min=0), parts, sparse)  # type: ignore[no-untyped-call]
    return products


class _Products(torch.autograd.Function):
    """Rows times the vectors of the words of their shelf. rows [P, E], vectors [V, E], words [S, W] -> [P, W]

    Vectors are copied out of their table part by part, and once more for the gradient.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, vectors: Tensor, words: Tensor, parts: Sequence[Part], sparse: bool) -> Tensor:
        ctx.save_for_backward(rows, vectors, words)
        ctx.parts, ctx.sparse = parts, sparse
        products = rows.new_empty(len(rows), words.shape[1])
        for part in parts:
            read = _read(vectors, words[part.of_shelves], rows)
            torch.bmm(_split(rows, part), read.transpose(1, 2), out=_split(products, part))
        return products

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None, None, None]:
        rows, vectors, words = ctx.saved_tensors
        needs_rows, needs_vectors, *_ = ctx.needs_input_grad
        of_rows = torch.empty_like(rows) if needs_rows else None
        size = (words.numel() if ctx.sparse else len(vectors), vectors.shape[1])
        of_vectors = vectors.new_zeros(size) if needs_vectors else None
        gradient, width = gradient.contiguous(), words.shape[1]
        for part in ctx.parts:
            of_part = _split(gradient, part)
            if of_rows is not None:
                torch.bmm(of_part, _read(vectors, words[part.of_shelves], rows), out=_split(of_rows, part))
            if of_vectors is not None:
                values = torch.bmm(of_part.transpose(1, 2), _split(rows, part)).to(vectors.dtype).flatten(0, 1)
                if ctx.sparse:
                    of_vectors[part.first_shelf * width :][: len(values)] = values
                else:
                    of_vectors.index_add_(0, words[part.of_shelves].flatten(), values)
        if of_vectors is not None and ctx.sparse:
            of_vectors = torch.sparse_coo_tensor(words.view(1, -1), of_vectors, vectors.shape, check_invariants=False)
        return of_rows, of_vectors, None, None, None


def _split(rows: Tensor, part: Part) -> Tensor:
    """Its rows, shelf by shelf. rows [P, n] -> [shelves, rows, n]"""
    return rows[part.of_rows].view(part.shelves, part.rows, rows.shape[1])


def _read(vectors: Tensor, words: Tensor, like: Tensor) -> Tensor:
    """The vectors of words, in the precision of others. words [S, W] -> [S, W, E]"""
    return embedding(words, vectors).to(like.dtype)

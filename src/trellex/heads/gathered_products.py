"""Products of rows with the vectors of words, which are copied out of their table a part at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding

MOST_GATHERED = 1 << 26  # elements of vectors that are copied out of the table at a time
MOST_CACHED = 1 << 17  # the same in main memory, where they are multiplied while a cache holds them


class Part(NamedTuple):
    """Lists of words that are read at a time, by equally many rows each, which follow each other."""

    first_row: int
    first_list: int
    lists: int
    rows: int  # of each list

    @property
    def of_rows(self) -> slice:
        return slice(self.first_row, self.first_row + self.lists * self.rows)

    @property
    def of_lists(self) -> slice:
        return slice(self.first_list, self.first_list + self.lists)


def products_by_row(rows: Tensor, words: Tensor, vectors: Tensor, sparse: bool = False) -> Tensor:
    """Every row with words of its own. rows [T, E], words [T, W], vectors [V, E] -> [T, W]

    sparse: whether the gradient of the vectors holds those that were read alone
    """
    return multiplied(rows, vectors, words, parts_of(len(words), 1, words.shape[1] * rows.shape[1]), sparse)


def parts_of(
    lists: int, rows: int, elements: int, first_row: int = 0, first_list: int = 0, most: int | None = None
) -> list[Part]:
    """So many lists of words, each read by so many rows; a list's vectors have so many elements.

    first_row, first_list: where they begin
    most: elements at a time
    """
    at_a_time = max(1, (most or MOST_GATHERED) // max(1, elements))
    return [
        Part(first_row + first * rows, first_list + first, min(at_a_time, lists - first), rows)
        for first in range(0, lists, at_a_time)
    ]


def multiplied(rows: Tensor, vectors: Tensor, words: Tensor, parts: Sequence[Part], sparse: bool) -> Tensor:
    """rows [P, E], lists of words [S, W], in which −1 is none -> [P, W], anything where there is no word"""
    products: Tensor = _Products.apply(rows, vectors, words.clamp(min=0), parts, sparse)  # type: ignore[no-untyped-call]
    return products


class _Products(torch.autograd.Function):
    """Rows times the vectors of the words of their list. rows [P, E], vectors [V, E], words [S, W] -> [P, W]

    Vectors are copied out of their table part by part, and once more for the gradient.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, vectors: Tensor, words: Tensor, parts: Sequence[Part], sparse: bool) -> Tensor:
        ctx.save_for_backward(rows, vectors, words)
        ctx.parts, ctx.sparse = parts, sparse
        products, table = rows.new_empty(len(rows), words.shape[1]), _table(vectors, words, rows)
        for part in parts:
            read = _read(table, words[part.of_lists], rows)
            torch.bmm(_split(rows, part), read.transpose(1, 2), out=_split(products, part))
        return products

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None, None, None]:
        rows, vectors, words = ctx.saved_tensors
        needs_rows, needs_vectors, *_ = ctx.needs_input_grad
        of_rows = torch.empty_like(rows) if needs_rows else None
        of_vectors = None
        if needs_vectors:
            of_vectors = vectors.new_empty(words.numel(), vectors.shape[1]) if ctx.sparse else torch.zeros_like(vectors)
        gradient, width = gradient.contiguous(), words.shape[1]
        table = _table(vectors, words, rows)
        for part in ctx.parts:
            of_part = _split(gradient, part)
            if of_rows is not None:
                torch.bmm(of_part, _read(table, words[part.of_lists], rows), out=_split(of_rows, part))
            if of_vectors is not None:
                values = torch.bmm(of_part.transpose(1, 2), _split(rows, part)).to(vectors.dtype).flatten(0, 1)
                if ctx.sparse:
                    of_vectors[part.first_list * width :][: len(values)] = values
                else:
                    of_vectors.index_add_(0, words[part.of_lists].flatten(), values)
        if of_vectors is not None and ctx.sparse:
            of_vectors = torch.sparse_coo_tensor(words.view(1, -1), of_vectors, vectors.shape, check_invariants=False)
        return of_rows, of_vectors, None, None, None


def _split(rows: Tensor, part: Part) -> Tensor:
    """Its rows, list by list. rows [P, n] -> [lists, rows, n]"""
    return rows[part.of_rows].view(part.lists, part.rows, rows.shape[1])


def _table(vectors: Tensor, words: Tensor, like: Tensor) -> Tensor:
    """The vectors in the precision of others, if that is less work before they are read than after."""
    return vectors.to(like.dtype) if words.numel() > len(vectors) else vectors


def _read(vectors: Tensor, words: Tensor, like: Tensor) -> Tensor:
    """The vectors of words, in the precision of others. words [S, W] -> [S, W, E]"""
    return embedding(words, vectors).to(like.dtype)

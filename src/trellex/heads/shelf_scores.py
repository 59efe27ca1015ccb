"""Products of hidden states with the vectors of all words on some shelves, which rows that read one shelf share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding

from trellex.arrays import bounded, is_inspectable
from trellex.heads.head import at_least_single

WordsOn = Callable[[Tensor], Tensor]

MOST_TOGETHER = 64  # rows of a block
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
    words_on: WordsOn,
    vectors: Tensor,
    bias: Tensor,
    num_shelves: int,
    sparse: bool = False,
) -> Tensor:
    """The product of a state with a word's vector, and the word's bias. Rows that read the same shelf read it together.

    In main memory every shelf is read once. An accelerator reads blocks of up to R rows, side by side: how many there
    are is known from the sizes alone, so that it need not be waited for.

    Args:
        states: to multiply with vectors  [T, E]
        shelves: those to read  [T, K], of num_shelves
        words_on: the words of shelves, −1 where there is none  [..] -> [.., W]
        vectors: of all words  [V, E]
        bias: of all words  [V]
        sparse: whether the vectors' gradient holds those alone that were read

    Returns:
        [T, K, W], −inf where a shelf has no word; in at least single precision
    """
    shelf, order = shelves.flatten().int().sort(stable=True)
    rows: Tensor = _Ordered.apply(states, order)  # type: ignore[no-untyped-call]
    scores = (_each_once if is_inspectable(shelf) else _in_blocks)(
        rows, shelf.long(), words_on, vectors, bias, num_shelves, sparse
    )
    found = scores.new_empty(scores.shape).index_copy(0, order, scores)
    return found.view(*shelves.shape, scores.shape[1])


def _each_once(
    rows: Tensor, shelf: Tensor, words_on: WordsOn, vectors: Tensor, bias: Tensor, _: int, sparse: bool
) -> Tensor:
    """rows [P, E], their shelves in order [P] -> [P, W]"""
    found, place, counts = torch.unique_consecutive(shelf, return_inverse=True, return_counts=True)
    parts, first_row = [], 0
    for number, count in enumerate(counts.tolist()):
        parts.append(Part(first_row, number, 1, count))
        first_row += count
    words = words_on(found)
    return _scored(_multiplied(rows, vectors, words, parts, sparse), words[place], bias)


def _in_blocks(
    rows: Tensor, shelf: Tensor, words_on: WordsOn, vectors: Tensor, bias: Tensor, num_shelves: int, sparse: bool
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
    products = _multiplied(padded, vectors, words, parts, sparse).view(num_blocks, together, words.shape[1])
    return _scored(products, words[:, None], bias).flatten(0, 1).index_select(0, slot)


def _scored(products: Tensor, words: Tensor, bias: Tensor) -> Tensor:
    """Products and biases of words, −inf where there is none. products, words [.., W] -> [.., W]"""
    of_words = bias.index_select(0, words.clamp(min=0).flatten()).view(words.shape)
    return bounded(at_least_single(products) + of_words).masked_fill(words < 0, -torch.inf)


def _multiplied(rows: Tensor, vectors: Tensor, words: Tensor, parts: Sequence[Part], sparse: bool) -> Tensor:
    """rows [P, E], words [S, W] -> [P, W]"""
    products: Tensor = _Products.apply(rows, vectors, words.clamp(min=0), parts, sparse)  # type: ignore[no-untyped-call]
    return products


class _Ordered(torch.autograd.Function):
    """Every row K times, in an order of all of these. rows [T, E], order [T · K] -> [T · K, E]

    Their gradients are put back in place and added up: indexing would sort them first.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, order: Tensor) -> Tensor:
        ctx.save_for_backward(order)
        ctx.shape = len(rows), len(order) // max(1, len(rows)), rows.shape[1]
        return rows[order // max(1, ctx.shape[1])]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (order,) = ctx.saved_tensors
        return torch.empty_like(gradient).index_copy_(0, order, gradient).view(ctx.shape).sum(1), None


class _Products(torch.autograd.Function):
    """Rows times the vectors of the words of their shelf. rows [P, E], vectors [V, E], words [S, W] -> [P, W]

    Vectors are copied out of their table part by part, and once more for the gradient.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, vectors: Tensor, words: Tensor, parts: Sequence[Part], sparse: bool) -> Tensor:
        ctx.save_for_backward(rows, vectors, words)
        ctx.parts, ctx.sparse = parts, sparse
        products, table = rows.new_empty(len(rows), words.shape[1]), _table(vectors, words, rows)
        for part in parts:
            read = _read(table, words[part.of_shelves], rows)
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
        table = _table(vectors, words, rows)
        for part in ctx.parts:
            of_part = _split(gradient, part)
            if of_rows is not None:
                torch.bmm(of_part, _read(table, words[part.of_shelves], rows), out=_split(of_rows, part))
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


def _table(vectors: Tensor, words: Tensor, like: Tensor) -> Tensor:
    """The vectors in the precision of others, if that is less work before they are read than after."""
    return vectors.to(like.dtype) if words.numel() > len(vectors) else vectors


def _read(vectors: Tensor, words: Tensor, like: Tensor) -> Tensor:
    """The vectors of words, in the precision of others. words [S, W] -> [S, W, E]"""
    return embedding(words, vectors).to(like.dtype)

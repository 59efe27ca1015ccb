"""Products of hidden states with the vectors of all words on some shelves, which rows that read one shelf share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import embedding

MOST_TOGETHER = 32  # rows that read one shelf together
MOST_GATHERED = 1 << 26  # elements of vectors that are copied out of the table at a time


def scores_by_shelf(
    states: Tensor,
    shelves: Tensor,
    words_on: Callable[[Tensor], Tensor],
    vectors: Tensor,
    num_shelves: int,
    sparse: bool = False,
) -> Tensor:
    """Rows that read the same shelf read it together, in blocks of up to R rows: a product of matrices a block.

    How many blocks there are is known from the sizes alone, so that an accelerator need not be waited for.

    Args:
        states: to multiply with vectors  [T, E]
        shelves: those to read  [T, K], of num_shelves
        words_on: the words of shelves, -1 where there is none  [..] -> [.., W]
        vectors: of all words  [V, E]
        sparse: whether their gradient holds the vectors that were read alone

    Returns:
        [T, K, W], anything where a shelf has no word
    """
    pairs = shelves.numel()
    together = min(MOST_TOGETHER, 1 << (pairs // num_shelves).bit_length())
    num_blocks = (pairs + min(pairs, num_shelves) * (together - 1)) // together
    shelf, order = shelves.flatten().sort(stable=True)
    place = torch.arange(pairs, device=shelf.device)
    is_first = torch.cat([place[:1] == 0, shelf[1:] != shelf[:-1]])
    in_run = place - place.where(is_first, 0).cummax(0).values  # how many of this shelf come before
    block = (in_run % together == 0).long().cumsum(0) - 1
    slot = block * together + in_run % together
    words = words_on(shelf.new_zeros(num_blocks).index_copy(0, block, shelf)).clamp(min=0)  # [blocks, W]
    rows = states.new_zeros(num_blocks * together, states.shape[1])
    rows = rows.index_copy(0, slot, states[order // shelves.shape[1]]).view(num_blocks, together, states.shape[1])
    products = _BlockProducts.apply(rows, vectors, words, sparse).flatten(0, 1)  # type: ignore[no-untyped-call]
    found = products.new_empty(pairs, words.shape[1]).index_copy(0, order, products[slot])
    return found.view(*shelves.shape, words.shape[1])


class _BlockProducts(torch.autograd.Function):
    """Block by block, rows times the vectors of words. rows [N, R, E], vectors [V, E], words [N, W] -> [N, R, W]

    Vectors are copied out of their table for a part of the blocks at a time, and once more for the gradient.
    """

    @staticmethod
    def forward(ctx: Any, rows: Tensor, vectors: Tensor, words: Tensor, sparse: bool) -> Tensor:
        ctx.save_for_backward(rows, vectors, words)
        ctx.sparse = sparse
        products = rows.new_empty(*rows.shape[:2], words.shape[1])
        for part in _parts(words, vectors):
            torch.bmm(rows[part], _read(vectors, words[part], rows).transpose(1, 2), out=products[part])
        return products

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None, None]:
        rows, vectors, words = ctx.saved_tensors
        needs_rows, needs_vectors, *_ = ctx.needs_input_grad
        of_rows = torch.empty_like(rows) if needs_rows else None
        size = (words.numel() if ctx.sparse else len(vectors), vectors.shape[1])
        of_vectors = vectors.new_zeros(size) if needs_vectors else None
        for part in _parts(words, vectors):
            if of_rows is not None:
                torch.bmm(gradient[part], _read(vectors, words[part], rows), out=of_rows[part])
            if of_vectors is not None:
                values = torch.bmm(gradient[part].transpose(1, 2), rows[part]).to(vectors.dtype).flatten(0, 1)
                if ctx.sparse:
                    of_vectors[part.start * words.shape[1] :][: len(values)] = values
                else:
                    of_vectors.index_add_(0, words[part].flatten(), values)
        if of_vectors is not None and ctx.sparse:
            of_vectors = torch.sparse_coo_tensor(words.view(1, -1), of_vectors, vectors.shape, check_invariants=False)
        return of_rows, of_vectors, None, None


def _parts(words: Tensor, vectors: Tensor) -> Iterator[slice]:
    """Of the blocks, few enough at a time."""
    size = max(1, MOST_GATHERED // max(1, words.shape[1] * vectors.shape[1]))
    return (slice(first, first + size) for first in range(0, len(words), size))


def _read(vectors: Tensor, words: Tensor, like: Tensor) -> Tensor:
    """The vectors of words, in the precision of others. words [N, W] -> [N, W, E]"""
    return embedding(words, vectors).to(like.dtype)

"""Products of hidden states with the vectors of all words on some shelves, which rows that read one shelf share."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from trellex.arrays import is_inspectable
from trellex.heads.gathered_products import Part, multiplied, parts_of

MOST_TOGETHER = 32  # rows of a block


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
    return multiplied(rows, vectors, words_on(found), parts, sparse)


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
    parts = parts_of(num_blocks, together, words.shape[1] * size)
    padded = rows.new_zeros(num_blocks * together, size).index_copy(0, slot, rows)
    return multiplied(padded, vectors, words, parts, sparse)[slot]

"""Products of hidden states with the vectors of all words on some shelves, which rows that read one shelf share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from trellex.arrays import bounded, has_kernels, is_inspectable
from trellex.heads.gathered_products import MOST_CACHED, multiplied, parts_of
from trellex.heads.head import at_least_single

WordsOn = Callable[[Tensor], Tensor]

MOST_TOGETHER = 64  # rows of a block
WIDEST = 128  # shelves that kernels read, of as many words
MOST_LISTED = 1 << 21  # words, of all shelves, for which kernels are told where each is


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

    In main memory every shelf is read once, those side by side that as many rows read. On CUDA kernels do so, unless
    there are very many words. They, and another accelerator's, are read in blocks of up to R rows, side by side: how
    many there are is known from the sizes alone, so that it need not be waited for.

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
    if has_kernels(states) and states.dtype != torch.float64:
        from trellex.heads import fused_shelves

        is_narrow = -(-len(vectors) // num_shelves) <= WIDEST
        if is_narrow and not sparse and len(vectors) <= MOST_LISTED:
            words = words_on(torch.arange(num_shelves, device=shelves.device))
            return fused_shelves.scores_by_shelf(states, shelves, words, vectors, bias)
    score = _each_once if is_inspectable(shelves) else _in_blocks
    scores, order = score(states, shelves, words_on, vectors, bias, num_shelves, sparse)
    found = scores.new_empty(scores.shape).index_copy(0, order, scores)
    return found.view(*shelves.shape, scores.shape[1])


def _each_once(
    states: Tensor, shelves: Tensor, words_on: WordsOn, vectors: Tensor, bias: Tensor, _: int, sparse: bool
) -> tuple[Tensor, Tensor]:
    """states [T, E], shelves [T, K] -> scores of all pairs in some order, and that order  [T · K, W], [T · K]"""
    found, place, counts = torch.unique(shelves, return_inverse=True, return_counts=True)
    counts, by_count = counts.sort()
    rank = torch.empty_like(by_count).index_copy(0, by_count, torch.arange(len(found)))  # of shelves, by their counts
    listed, order = rank[place].flatten().sort(stable=True)
    words, parts, first_row, first_list = words_on(found[by_count]), [], 0, 0
    for count, lists in zip(*(each.tolist() for each in counts.unique_consecutive(return_counts=True)), strict=True):
        parts += parts_of(lists, count, words.shape[1] * states.shape[1], first_row, first_list, MOST_CACHED)
        first_row, first_list = first_row + lists * count, first_list + lists
    return _scored(multiplied(_ordered(states, order), vectors, words, parts, sparse), words[listed], bias), order


def _in_blocks(
    states: Tensor, shelves: Tensor, words_on: WordsOn, vectors: Tensor, bias: Tensor, num_shelves: int, sparse: bool
) -> tuple[Tensor, Tensor]:
    """states [T, E], shelves [T, K] -> scores of all pairs in the order of shelves, and that order"""
    in_order, order = shelves.flatten().int().sort(stable=True)
    rows, shelf = _ordered(states, order), in_order.long()
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
    products = multiplied(padded, vectors, words, parts, sparse).view(num_blocks, together, words.shape[1])
    return _scored(products, words[:, None], bias).flatten(0, 1).index_select(0, slot), order


def _scored(products: Tensor, words: Tensor, bias: Tensor) -> Tensor:
    """Products and biases of words, −inf where there is none. products, words [.., W] -> [.., W]"""
    of_words = bias.index_select(0, words.clamp(min=0).flatten()).view(words.shape)
    return bounded(at_least_single(products) + of_words).masked_fill(words < 0, -torch.inf)


def _ordered(rows: Tensor, order: Tensor) -> Tensor:
    """rows [T, E], order [T · K] -> [T · K, E]"""
    ordered: Tensor = _Ordered.apply(rows, order)  # type: ignore[no-untyped-call]
    return ordered


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

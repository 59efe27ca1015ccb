"""Scores of some words alone, from the layer that would compute those of all."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, linear

from trellex.arrays import bounded
from trellex.heads.gathered_products import products_by_row
from trellex.heads.head import at_least_single
from trellex.heads.tied import TiedWords, factors_of


def scores_of(layer: nn.Linear | TiedWords, h: Tensor, target: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
    """The score of a target for every row, and of other words. Their vectors are read together: one gradient for all.

    h [T, H], target [T], words of all rows [S] or of each [T, S] -> [T], [T, S]
    """
    (states, vectors), is_sparse = factors_of(layer, h), isinstance(layer, TiedWords) and layer.is_sparse
    if words.ndim == 1:
        read = embedding(torch.cat([words, target]), vectors, sparse=is_sparse)
        products = linear(states, read[: len(words)])
        of_target = (states * read[len(words) :]).sum(-1)
    else:
        every = products_by_row(states, torch.cat([words, target[:, None]], -1), vectors, is_sparse)
        products, of_target = every[:, :-1], every[:, -1]
    of_target, products = (at_least_single(each) for each in (of_target, products))
    return bounded(of_target + layer.bias[target]), bounded(products + layer.bias[words])

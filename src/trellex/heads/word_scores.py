"""Scores of some words alone, from the layer that would compute those of all."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from trellex.arrays import bounded
from trellex.heads.gathered_products import products_by_row
from trellex.heads.head import at_least_single
from trellex.heads.projected_words import ProjectedWords, read_vectors, states_of, vectors_of


def scores_of(layer: nn.Linear | ProjectedWords, h: Tensor, target: Tensor, words: Tensor) -> tuple[Tensor, Tensor]:
    """The score of a target for every row, and of other words. Their vectors are read together: one gradient for all.

    h [T, H], target [T], words of all rows [S] or of each [T, S] -> [T], [T, S]
    """
    states = states_of(layer, h)
    if words.ndim == 1:
        read = read_vectors(layer, torch.cat([words, target]))
        products = linear(states, read[: len(words)])
        of_target = (states * read[len(words) :]).sum(-1)
    else:
        is_sparse = isinstance(layer, ProjectedWords) and layer.is_sparse
        every = products_by_row(states, torch.cat([words, target[:, None]], -1), vectors_of(layer), is_sparse)
        products, of_target = every[:, :-1], every[:, -1]
    of_target, products = (at_least_single(each) for each in (of_target, products))
    return bounded(of_target + layer.bias[target]), bounded(products + layer.bias[words])

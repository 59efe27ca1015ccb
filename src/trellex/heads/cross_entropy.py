"""The loss of a softmax over the scores of a layer, by the fastest way there is."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from trellex.arrays import bounded, has_kernels
from trellex.heads.head import at_least_single
from trellex.heads.projected_words import ProjectedWords, states_of, vectors_of


def cross_entropy(layer: nn.Linear | ProjectedWords, h: Tensor, target: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """(1 − ε) · −log P(target) + ε · its mean over all words, ε being `label_smoothing`. h [T, H], target [T] -> [T]"""
    if has_kernels(h) and h.dtype != torch.float64:
        from trellex.heads import fused_cross_entropy

        factors = states_of(layer, h), vectors_of(layer), layer.bias
        return bounded(fused_cross_entropy.cross_entropy(*factors, target, label_smoothing))
    return of_scores(at_least_single(layer(h)), target, label_smoothing)


def of_scores(scores: Tensor, target: Tensor, label_smoothing: float = 0.0) -> Tensor:
    """The same of scores that there are already. scores [T, V], target [T] -> [T]"""
    return bounded(nn.functional.cross_entropy(scores, target, reduction="none", label_smoothing=label_smoothing))

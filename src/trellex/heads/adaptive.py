"""Adaptive softmax: narrow vectors for rare words, which are scored only where they may be meant."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from trellex.arrays import bounded
from trellex.heads.adaptive_distribution import AdaptiveDistribution
from trellex.heads.head import Cost, Head, at_least_single, linear_cost
from trellex.heads.rival_spec import AdaptiveSpec


class AdaptiveHead(AdaptiveDistribution, Head):
    """Frequent words in full width, tails of rarer words in less and less: PyTorch's own layer, read exactly."""

    spec: AdaptiveSpec

    def __init__(self, spec: AdaptiveSpec, hidden_size: int, vocab: Any, _: Any = None) -> None:
        Head.__init__(self, spec, hidden_size, vocab)
        cutoffs = spec.cutoffs_of(self.vocab_size, hidden_size)
        AdaptiveDistribution.__init__(self, cutoffs, self.vocab_size)
        self.layer = nn.AdaptiveLogSoftmaxWithLoss(
            hidden_size, self.vocab_size, cutoffs, spec.div_value, head_bias=True
        )

    def _first_logits(self, h: Tensor) -> Tensor:
        return at_least_single(self.layer.head(h))

    def _tail_logits(self, h: Tensor, tail: int) -> Tensor:
        return at_least_single(self.layer.tail[tail](h))

    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        if len(h) == 0:  # which the layer does not take
            return at_least_single(h.sum(-1))
        with torch.autocast("cpu", enabled=False):  # under which the layer mixes precisions, and fails
            found = self.layer(h.to(self.layer.head.weight.dtype), target)
        return bounded(at_least_single(-found.output))

    def cost(self) -> Cost:
        """What a word of the costliest tail takes; all tails have parameters."""
        tails = [sum(weight.numel() for weight in tail.parameters()) for tail in self.layer.tail]  # without biases
        return linear_cost(self.layer.head) + Cost(max(self.tail_sizes), 0, sum(tails), max(tails))

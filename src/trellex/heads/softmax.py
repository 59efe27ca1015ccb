"""The conventional output layer: a score for every word of the vocabulary."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from trellex.arrays import bounded
from trellex.heads.distribution import SoftmaxDistribution
from trellex.heads.head import Cost, Head, at_least_single, linear_cost


class SoftmaxHead(SoftmaxDistribution, Head):
    """Softmax over all V words: what the others are measured against. O(HV) time and memory."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.linear = nn.Linear(self.hidden_size, self.vocab_size)

    def _logits(self, h: Tensor) -> Tensor:
        return at_least_single(self.linear(h))

    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        smoothing, logits = self.label_smoothing, self._logits(h)
        return bounded(nn.functional.cross_entropy(logits, target, reduction="none", label_smoothing=smoothing))

    def cost(self) -> Cost:
        return linear_cost(self.linear)

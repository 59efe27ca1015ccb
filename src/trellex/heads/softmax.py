"""The conventional output layer: a score for every word of the vocabulary."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from trellex.arrays import bounded
from trellex.heads.distribution import SoftmaxDistribution
from trellex.heads.head import Cost, Head, at_least_single, linear_cost
from trellex.heads.spec import SoftmaxSpec
from trellex.heads.tied import TiedWords


class SoftmaxHead(SoftmaxDistribution, Head):
    """Softmax over all V words: what the others are measured against. O(HV) time and memory.

    Tied, its scores are those of the decoder's word vectors, and the memory is that of the scores alone.
    """

    def __init__(self, spec: SoftmaxSpec, hidden_size: int, vocab: Any, embedding: Any = None) -> None:
        super().__init__(spec, hidden_size, vocab)
        self.linear = TiedWords(hidden_size, embedding) if spec.tied else nn.Linear(hidden_size, self.vocab_size)

    def _logits(self, h: Tensor) -> Tensor:
        return at_least_single(self.linear(h))

    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        smoothing, logits = self.label_smoothing, self._logits(h)
        return bounded(nn.functional.cross_entropy(logits, target, reduction="none", label_smoothing=smoothing))

    def cost(self) -> Cost:
        if isinstance(self.linear, TiedWords):
            return self.linear.cost(self.vocab_size)
        return linear_cost(self.linear)

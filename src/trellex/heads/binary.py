"""The paper's Binary and Binary-EC: every word by its code alone."""

from __future__ import annotations

from typing import Any, Self

from torch import Tensor, nn

from trellex.heads.bits import BitLayer
from trellex.heads.head import Cost, Head
from trellex.heads.spec import BinarySpec


class BinaryHead(Head):
    """Predicts the redundant bits of a word's code: O(H log V) time and memory.

    Args:
        bits: the layer that predicts the bits of all words
        options: see `Head`
    """

    bits: BitLayer

    def __init__(self, bits: BitLayer, **options: Any) -> None:
        super().__init__(bits.hidden_size, bits.vocab_size, **options)
        self.bits = bits

    @classmethod
    def from_spec(cls, spec: BinarySpec, hidden_size: int, vocab: Any, embedding: nn.Embedding | None) -> Self:
        return cls(BitLayer.from_spec(spec, hidden_size, vocab), **spec.loss_options())

    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        return self.bits.loss(h, target, self.label_smoothing)

    def _log_prob(self, h: Tensor, words: Tensor) -> Tensor:
        return self.bits._log_prob(h, words)

    def _topk(self, h: Tensor, k: int) -> tuple[Tensor, Tensor]:
        return self.bits._topk(h, k)

    def _best(self, h: Tensor) -> Tensor:
        return self.bits._best(h)

    def _sample(self, h: Tensor, temperature: float, generator: Any) -> Tensor:
        return self.bits._sample(h, temperature, generator)

    def cost(self) -> Cost:
        return self.bits.cost()

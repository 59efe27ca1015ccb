"""The paper's Binary and Binary-EC: every word by its code alone."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from trellex.heads.bits import BitLayer
from trellex.heads.head import Cost, Head

UNK = 0


class BinaryHead(Head):
    """Predicts the redundant bits of a word's code: O(H log V) time and memory.

    In the paper's decoding `topk` for k = 1 takes the best bit array, and UNK if it belongs to no word.

    Args:
        bits: the layer that predicts the bits of all words
        options: see `Head`
    """

    def __init__(self, bits: BitLayer, **options: Any) -> None:
        super().__init__(bits.hidden_size, bits.spelling.code.vocab_size, **options)
        self.bits = bits.check_smoothing(self.label_smoothing)

    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        return self.bits.loss(h, target, self.label_smoothing)

    def _log_prob(self, h: Tensor, words: Tensor) -> Tensor:
        return self.bits.log_prob(h, words)

    def _topk(self, h: Tensor, k: int) -> tuple[Tensor, Tensor]:
        if self.bits.decoding == "paper" and k == 1:
            words = self._best(h)
            return words[:, None], self.bits.log_prob(h, words)[:, None]
        return self.bits.topk(h, k)

    def _best(self, h: Tensor) -> Tensor:
        return self.bits.best(h).clamp(min=UNK)

    def _sample(self, h: Tensor, temperature: float, generator: torch.Generator | None) -> Tensor:
        return self.bits.sample(h, temperature, generator)

    def cost(self) -> Cost:
        return self.bits.cost()

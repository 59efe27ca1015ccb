"""The paper's Binary and Binary-EC: every word by its code alone."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from trellex.codes import Code
from trellex.heads.bits import BitLayer, check_decoding
from trellex.heads.head import Cost, Head, linear_cost
from trellex.trellis import ConvolutionalCode

UNK = 0


class BinaryHead(Head):
    """Predicts the redundant bits of a word's code: O(H log V) time and memory.

    Args:
        hidden_size: H
        code: word ↔ bits
        ecc: bits ↔ redundant bits; `IdentityCode` for the paper's Binary, a convolutional code for Binary-EC
        loss: see `BitLayer`
        decoding: "paper": `topk` for k = 1 takes the best bit array, UNK if it belongs to no word; "exact": always
            the best among real words
        options: see `Head`
    """

    def __init__(
        self,
        hidden_size: int,
        code: Code,
        ecc: ConvolutionalCode,
        *,
        loss: str = "squared",
        decoding: str = "paper",
        **options: Any,
    ) -> None:
        super().__init__(hidden_size, code.vocab_size, **options)
        self.bits = BitLayer(hidden_size, code, ecc, loss)
        self.decoding = check_decoding(decoding)

    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        return self.bits.loss(h, target)

    def log_prob(self, h: Tensor, words: Tensor) -> Tensor:
        return self.bits.log_prob(h, words)

    def topk(self, h: Tensor, k: int) -> tuple[Tensor, Tensor]:
        if self.decoding == "paper" and k == 1:
            words = self.bits.decode(h).clamp(min=UNK)
            return words[:, None], self.log_prob(h, words)[:, None]
        return self.bits.topk(h, k)

    def sample(self, h: Tensor, temperature: float = 1.0) -> Tensor:
        return self.bits.sample(h, temperature)

    def cost(self) -> Cost:
        return linear_cost(self.bits.linear, bits=self.bits.linear.out_features)

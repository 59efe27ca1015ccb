"""The paper's Binary and Binary-EC: every word by its code alone."""

from __future__ import annotations

from typing import Any, Self

from torch import Tensor, nn

from trellex.codes import Code
from trellex.heads.bits import BitLayer
from trellex.heads.distribution import CodeDistribution
from trellex.heads.head import Cost, Head
from trellex.heads.spec import BinarySpec


class BinaryHead(CodeDistribution, Head):
    """Predicts the redundant bits of a word's code: O(H log V) time and memory.

    Args:
        bits: the layer that predicts the bits of all words
        options: see `Head`
    """

    bits: BitLayer
    code: Code

    def __init__(self, bits: BitLayer, **options: Any) -> None:
        Head.__init__(self, bits.hidden_size, bits.vocab_size, **options)
        CodeDistribution.__init__(self, bits.code, bits.ecc, vocab_size=bits.vocab_size, decoding=bits.decoding)
        self.bits = bits

    @classmethod
    def from_spec(cls, spec: BinarySpec, hidden_size: int, vocab: Any, embedding: nn.Embedding | None) -> Self:
        return cls(BitLayer.from_spec(spec, hidden_size, vocab), **spec.loss_options())

    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        return self.bits.loss(h, target, self.label_smoothing)

    def _outputs(self, h: Tensor) -> tuple[Tensor, Tensor]:
        return self.bits._outputs(h)

    def cost(self) -> Cost:
        return self.bits.cost()

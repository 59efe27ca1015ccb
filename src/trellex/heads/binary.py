"""The paper's Binary and Binary-EC: every word by its code alone."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from trellex.codes import Code
from trellex.heads.bits import BitLayer
from trellex.heads.code_distribution import CodeDistribution
from trellex.heads.code_spec import BinarySpec
from trellex.heads.head import Cost, Head


class BinaryHead(CodeDistribution, Head):
    """Predicts the redundant bits of a word's code: O(H log V) time and memory."""

    bits: BitLayer
    code: Code

    def __init__(self, spec: BinarySpec, hidden_size: int, vocab: Any, embedding: nn.Embedding | None = None) -> None:
        Head.__init__(self, spec, hidden_size, vocab)
        self.bits = BitLayer(spec, hidden_size, vocab)
        CodeDistribution.__init__(self, spec, self.bits.code, self.vocab_size)

    def outputs(self, h: Tensor) -> tuple[Tensor, Tensor]:
        return self.bits.outputs(h)

    def _best_at_once(self, h: Tensor) -> Tensor:
        if not self.bits.is_read_at_once(h):
            return super()._best_at_once(h)
        numbers, *_ = self.bits.best_numbers(h, with_sum=False)
        if self.decoding == "paper":
            return self.words_or_unknown(numbers)
        words = self.code.table_like(numbers)
        return numbers if words is None else words[numbers.clamp(min=0)].where(numbers >= 0, -1)

    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        return self.bits.loss(h, target, self.label_smoothing)

    def cost(self) -> Cost:
        return self.bits.cost()

"""The paper's Algorithm 1: the number of a word is its rank by frequency."""

from __future__ import annotations

from typing import Any, Self

from trellex.arrays import Array, namespace
from trellex.codes.code import Code, check_vocab_size


class FrequencyCode(Code):
    """Words numbered by frequency: UNK 0, BOS 1, EOS 2, then 2 + rank, so that frequent words have high bits 0.

    Word ids must already be in that order, as those of a vocabulary made by frequency are. B = ⌈log2 V⌉.

    Args:
        vocab_size: V, the three markers included
    """

    kind = "frequency"

    def __init__(self, vocab_size: int) -> None:
        vocab_size = check_vocab_size(vocab_size)
        super().__init__(vocab_size, (vocab_size - 1).bit_length())

    def _numbers(self, ids: Array) -> Array:
        return ids

    def _words(self, numbers: Array) -> Array:
        known = (numbers >= 0) & (numbers < self.vocab_size)
        return namespace(numbers).where(known, numbers, -1)

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.kind, "vocab_size": self.vocab_size}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        return cls(data["vocab_size"])

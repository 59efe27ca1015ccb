"""Any renumbering of the words 0 … V−1, and the random one."""

from __future__ import annotations

from typing import Any

import numpy as np

from trellex.arrays import Array, namespace
from trellex.codes.code import check_vocab_size
from trellex.codes.table import TableCode


class PermutedCode(TableCode):
    """Words renumbered at will: word w has the bits of numbers[w]. B = ⌈log2 V⌉.

    Args:
        numbers: each of 0 … V−1 once  [V]
    """

    kind = "permuted"

    def __init__(self, numbers: Any) -> None:
        numbers = np.array(numbers)
        if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
            raise ValueError(f"numbers: expected a list of whole numbers, got shape {numbers.shape} of {numbers.dtype}")
        vocab_size = check_vocab_size(len(numbers), "numbers")
        if not np.array_equal(np.sort(numbers), np.arange(vocab_size)):
            raise ValueError(f"numbers: expected each of 0 … {vocab_size - 1} exactly once; renumber without gaps")
        super().__init__(numbers.astype(np.int64), (vocab_size - 1).bit_length())

    def _words(self, numbers: Array) -> Array:
        known = (numbers >= 0) & (numbers < self.vocab_size)
        return namespace(numbers).where(known, self._word_of_place.like(numbers)[numbers * known], -1)

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.kind, "numbers": self._number_of_word.array.tolist()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> PermutedCode:
        return PermutedCode(data["ids"] if "ids" in data else data["numbers"])  # files may have either


class RandomCode(PermutedCode):
    """A random renumbering: the control that tells what the order of words is worth.

    It is saved with its numbers, so it loads as a `PermutedCode`, whatever the random generator does by then.

    Args:
        vocab_size: V
        seed: the same seed gives the same code
    """

    def __init__(self, vocab_size: int, seed: int = 0) -> None:
        super().__init__(np.random.default_rng(seed).permutation(check_vocab_size(vocab_size)))

"""Any renumbering of the words 0 … V−1, and the random one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.arrays import Array, namespace
from trellex.codes.code import check_vocab_size
from trellex.codes.table import TableCode


def as_permutation(values: Any, name: str) -> NDArray[np.int64]:
    """A copy of values, each of 0 … V−1 once; `name` is the argument that an error speaks of. [V]"""
    values = np.array(values)
    if values.ndim != 1 or values.dtype.kind not in "iu":
        raise ValueError(f"{name}: expected a list of whole numbers, got shape {values.shape} of {values.dtype}")
    size = check_vocab_size(len(values), name)
    if not np.array_equal(np.sort(values), np.arange(size)):
        raise ValueError(f"{name}: expected each of 0 … {size - 1} exactly once; renumber without gaps")
    return values.astype(np.int64)


class PermutedCode(TableCode):
    """Words renumbered at will: word w has the bits of numbers[w]. B = ⌈log2 V⌉.

    Args:
        numbers: each of 0 … V−1 once  [V]
    """

    kind = "permuted"

    def __init__(self, numbers: Any) -> None:
        numbers = as_permutation(numbers, "numbers")
        super().__init__(numbers, (len(numbers) - 1).bit_length())

    def table_like(self, numbers: Array) -> Array | None:
        return self._word_of_place.like(numbers)

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

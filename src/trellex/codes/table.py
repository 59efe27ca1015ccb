"""Codes given by a table: any distinct numbers, one a word."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.arrays import Array, is_tensor, table_lookup
from trellex.codes.code import Code


class TableCode(Code):
    """A code whose numbers stand in a table.

    Args:
        numbers: the number of every word, distinct and non-negative  [V]
        num_bits: B, enough for the largest of them
    """

    def __init__(self, numbers: NDArray[np.int64], num_bits: int) -> None:
        super().__init__(len(numbers), num_bits)
        self._number_of_word = numbers
        self._word_of_place = np.argsort(numbers)
        self._sorted_numbers = numbers[self._word_of_place]

    def _numbers(self, ids: Array) -> Array:
        return table_lookup(self._number_of_word, ids)

    def _words(self, numbers: Array) -> Array:
        if is_tensor(numbers):
            import torch

            place = torch.searchsorted(torch.from_numpy(self._sorted_numbers).to(numbers.device), numbers)
            place = place.clamp(max=self.vocab_size - 1)
            where: Any = torch.where
        else:
            place = np.minimum(np.searchsorted(self._sorted_numbers, numbers), self.vocab_size - 1)
            where = np.where
        known = table_lookup(self._sorted_numbers, place) == numbers
        return where(known, table_lookup(self._word_of_place, place), -1)

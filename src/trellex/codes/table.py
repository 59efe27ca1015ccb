"""Codes given by a table: any distinct numbers, one a word."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from trellex.arrays import Array, Table, namespace
from trellex.codes.code import Code


class TableCode(Code):
    """A code whose numbers stand in a table.

    Args:
        numbers: the number of every word, distinct and non-negative  [V]
        num_bits: B, enough for the largest of them
    """

    def __init__(self, numbers: NDArray[np.int64], num_bits: int) -> None:
        super().__init__(len(numbers), num_bits)
        order = np.argsort(numbers)
        self._number_of_word, self._word_of_place, self._sorted_numbers = map(Table, (numbers, order, numbers[order]))

    def _numbers(self, ids: Array) -> Array:
        return self._number_of_word.like(ids)[ids]

    def _words(self, numbers: Array) -> Array:
        library, in_order = namespace(numbers), self._sorted_numbers.like(numbers)
        place = library.searchsorted(in_order[:-1], numbers)  # above all of these there is only the last
        return library.where(in_order[place] == numbers, self._word_of_place.like(numbers)[place], -1)

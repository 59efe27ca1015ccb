"""An order as numbers: words that stand near each other share their first bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from trellex.codes.permuted import PermutedCode, as_permutation


def ordered_code(words: Any) -> PermutedCode:
    """A code by halving an order: the first bit parts its halves, the next bit the halves of either, and so on.

    Parts differ by one word at most, and the numbers are 0 … V−1.

    Args:
        words: all ids 0 … V−1, like ones near each other, such as the leaves of a tree from left to right  [V]
    """
    words = as_permutation(words, "words")
    size = len(words)
    places, sizes, found = np.arange(size), np.full(size, size), np.zeros(size, np.int64)
    for bit in range((size - 1).bit_length()):
        halves = (sizes + 1) // 2  # how many words of a part have the bit 0
        is_second = places >= halves
        found |= is_second.astype(np.int64) << bit
        places, sizes = np.where(is_second, places - halves, places), np.where(is_second, sizes - halves, halves)
    numbers = np.empty(size, np.int64)
    numbers[words] = found
    return PermutedCode(numbers)

"""Spellings: which known words are written most like a given one, by the characters that they have in common."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

SIZES = range(2, 5)  # of n-grams, in characters
BEGIN, END = "\x02", "\x03"  # around every word
FACTOR = np.uint64(0x9E3779B97F4A7C15)  # of hashes

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Spellings:
    """Words as sets of character n-grams, beginning and end marked; a rare n-gram tells more than a frequent one.

    Two words are as alike as the cosine of their sets, where an n-gram weighs log(W / number of words that have it).
    n-grams are known by hashes of 64 bits, the same in every process.

    Args:
        words: W of them
    """

    def __init__(self, words: Sequence[str]) -> None:
        grams, places = _grams(words)
        order = np.lexsort((places, grams))
        grams, places = grams[order], places[order]
        is_new = np.ones(len(grams), bool)  # to its word
        is_new[1:] = (grams[1:] != grams[:-1]) | (places[1:] != places[:-1])
        self._grams, self._places = grams[is_new], places[is_new]  # by n-gram, the words that have it
        counts = np.unique(self._grams, return_counts=True)[1]
        self._size = len(words)
        squares = np.bincount(self._places, np.repeat(self._weights(counts), counts), self._size)
        self._lengths = np.sqrt(np.where(squares > 0, squares, 1))

    def nearest(self, word: str, k: int) -> tuple[Ints, Floats]:
        """The words most like this one, at most k, the best first; none if it shares no n-gram with any.

        -> their places [K], and how alike they are, but for a factor [K]
        """
        grams = np.unique(_grams([word])[0])
        begins, ends = (np.searchsorted(self._grams, grams, side) for side in ("left", "right"))
        lists = [self._places[begin:end] for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)]
        weights = np.repeat(self._weights(ends - begins), ends - begins)
        scores = np.bincount(np.concatenate(lists), weights, self._size) / self._lengths
        alike = np.flatnonzero(scores > 0)
        if len(alike) > k:
            alike = alike[scores[alike] >= np.partition(scores[alike], -k)[-k]]
        best = alike[np.argsort(-scores[alike], kind="stable")[:k]]
        return best, scores[best]

    def _weights(self, counts: Ints) -> Floats:
        """Those of n-grams, squared, by how many words have each. counts [G] -> [G]"""
        return np.square(np.log(max(self._size, 1) / np.maximum(counts, 1)))


def _grams(words: Sequence[str]) -> tuple[NDArray[np.uint64], Ints]:
    """The n-grams of all words, and the places of their words. -> hashes [G], places [G]"""
    text = "".join(f"{BEGIN}{word}{END}" for word in words)
    points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint64)
    owners = np.repeat(np.arange(len(words)), [len(word) + 2 for word in words])
    hashes, found, places = points, [], []
    for size in SIZES:
        hashes = hashes[:-1] * FACTOR + points[size - 1 :]
        is_within = owners[: len(hashes)] == owners[size - 1 :]
        found.append(hashes[is_within])
        places.append(owners[: len(hashes)][is_within])
    return np.concatenate(found), np.concatenate(places)

"""Calibration: how often a word that is given the probability p is the right one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Band(NamedTuple):
    """Predictions of like probability.

    Attributes:
        low, high: the bounds of the band
        words: how many predictions fall into it
        probability: the mean of what they were given
        right: the share of them that was right
    """

    low: float
    high: float
    words: int
    probability: float
    right: float


class Calibration:
    """Gathers the probability of the best word of each prediction and whether it was the right one."""

    def __init__(self) -> None:
        self._probabilities: list[NDArray[Any]] = []
        self._right: list[NDArray[Any]] = []

    def add(self, best_words: Any, log_probs: Any, words: Any) -> None:
        """The best words, their log-probabilities, and the words that should have come. [N] each"""
        self._probabilities.append(np.exp(np.asarray(log_probs, np.float64)))
        self._right.append(np.asarray(best_words) == np.asarray(words))

    def bands(self, count: int = 10) -> list[Band]:
        """Bands of equal width from 0 to 1, those without predictions left out."""
        probabilities, right = (np.concatenate([np.zeros(0), *parts]) for parts in (self._probabilities, self._right))
        place = np.minimum((probabilities * count).astype(int), count - 1)
        return [
            Band(
                band / count,
                (band + 1) / count,
                int((place == band).sum()),
                float(probabilities[place == band].mean()),
                float(right[place == band].mean()),
            )
            for band in range(count)
            if (place == band).any()
        ]

    def error(self, count: int = 10) -> float:
        """The mean over predictions of the gap between a band's probability and its share of right ones."""
        bands = self.bands(count)
        gaps = sum(band.words * abs(band.probability - band.right) for band in bands)
        return gaps / max(sum(band.words for band in bands), 1)

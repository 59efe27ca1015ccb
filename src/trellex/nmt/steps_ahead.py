"""Steps ahead: the device is given the next steps before the host has read what it chose in the last."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.nmt.desk import Chosen, Desk

AHEAD = 1  # steps that the device is given before the host has read the last
FEW_ROWS = 8  # of a desk; fewer would hardly be faster


class StepsAhead:
    """What a desk chooses for sentences, step by step.

    Those that have ended go on until the host knows; from then on, when at most half of many rows are left, with fewer.

    Args:
        desk: where they begin
        count: how many there are
        most: steps
        smaller: finds a desk for at least so many sentences
    """

    def __init__(self, desk: Desk, count: int, most: int, smaller: Callable[[int], Desk]) -> None:
        self._desk, self._sentences, self._left, self._smaller = desk, np.arange(count), most, smaller
        self._under_way: deque[tuple[NDArray[np.int64], Chosen]] = deque()

    def __call__(self, sentences: NDArray[np.int64]) -> NDArray[Any]:
        """What was chosen next for sentences that go on; those left out have ended. sentences, rising [n] -> [n, ..]"""
        few = max(1, FEW_ROWS // self._desk.width)
        if self._left and self._desk.sentences > few and 2 * len(sentences) <= self._desk.sentences:
            smaller = self._smaller(max(len(sentences), few))
            smaller.take(self._desk, np.searchsorted(self._sentences, sentences))
            self._desk, self._sentences = smaller, sentences
        while self._left and len(self._under_way) <= AHEAD:
            self._under_way.append((self._sentences, self._desk.choose()))
            self._left -= 1
        of_sentences, chosen = self._under_way.popleft()
        return chosen.arrived()[np.searchsorted(of_sentences, sentences)]

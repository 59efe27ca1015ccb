"""Recorded greedy search: a GPU chooses word after word by replayed CUDA graphs, and the host reads them meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.nmt.greedy_desk import GreedyDesk
from trellex.nmt.recorded_search import RecordedSearch
from trellex.text.vocabulary import EOS


class RecordedGreedy(RecordedSearch):
    """Greedy search that does not wait for the device at every word."""

    name, desk_type = "greedy search", GreedyDesk

    def __call__(self, sources: Sequence[NDArray[Any]], limits: Sequence[int]) -> list[list[int] | None]:
        """The best words of each sentence, at most so many, up to EOS; None where the common search must find them."""
        return self._in_parts(
            len(sources),
            1,
            lambda part: self._translations(
                [sources[each] for each in part], np.array([limits[each] for each in part])
            ),
        )

    def _translations(self, sources: Sequence[NDArray[Any]], limits: NDArray[np.int64]) -> list[list[int] | None]:
        steps = self._steps(sources, 1, limits.max())
        found = np.full((len(sources), limits.max()), EOS)
        going = np.arange(len(sources))
        for place in range(limits.max()):
            words = steps(going)
            found[going, place] = words
            going = going[(words >= 0) & (words != EOS) & (place + 1 < limits[going])]
            if len(going) == 0:
                break
        return [_until_end(words[:limit]) for words, limit in zip(found, limits, strict=True)]


def _until_end(words: NDArray[np.int64]) -> list[int] | None:
    """Up to EOS, if it is there; None if a word before it is not known. [T]"""
    ends = np.flatnonzero((words == EOS) | (words < 0))
    if len(ends) == 0:
        return words.tolist()
    return None if words[ends[0]] < 0 else words[: ends[0] + 1].tolist()

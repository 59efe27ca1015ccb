"""Recorded beam search: a GPU chooses what goes on by replayed CUDA graphs, and the host keeps the books."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from trellex.nmt.beam_desk import BeamDesk
from trellex.nmt.recorded_search import RecordedSearch
from trellex.trellis.convolutional import FUSED_WORDS

MOST_WIDTH = FUSED_WORDS  # of a beam

Ints: TypeAlias = NDArray[np.int64]
Following: TypeAlias = Callable[[Ints], tuple[Ints, Ints, NDArray[Any]]]
Found = TypeVar("Found")


class RecordedBeam(RecordedSearch):
    """Beam search that does not wait for the device at every word.

    What the device keeps is told to a search that has the rest: when a sentence is done, and what was best.
    """

    name, desk_type = "beam search", BeamDesk

    def __call__(
        self,
        sources: Sequence[NDArray[Any]],
        limits: Sequence[int],
        width: int,
        search: Callable[[range, Following], Sequence[Found]],
    ) -> list[Found | None]:
        """What a search finds for each sentence; None where the common search must find it.

        Args:
            limits: the most words of each
            width: hypotheses a sentence, open and finished
            search: is given the places of some sentences, and what tells it step by step how those that go on do so,
                by their places among these, rising [n]: of each, best first, which of the open hypotheses goes on, with
                which word, −1 after the last of them, and log P of that  [n, W] each
        """
        if width > MOST_WIDTH:
            return [None] * len(sources)

        def of_part(part: range) -> list[Found | None]:
            steps = self._steps([sources[each] for each in part], width, max(limits[each] for each in part))
            is_sure = np.ones(len(part), bool)

            def following(sentences: Ints) -> tuple[Ints, Ints, NDArray[Any]]:
                parent, word, log_prob, may_miss = steps(sentences).swapaxes(0, 1)
                is_sure[sentences] &= ~may_miss.any(1)
                return parent.astype(np.int64), word.astype(np.int64), log_prob

            found = search(part, following)
            return [each if sure else None for each, sure in zip(found, is_sure, strict=True)]

        return self._in_parts(len(sources), width, of_part)

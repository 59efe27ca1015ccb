"""How to search: one object that every translator takes and every way of searching starts from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from trellex.search.beam_search import beam
from trellex.search.loop import Hypothesis, Model
from trellex.search.sampling import sample

Result = TypeVar("Result")


@dataclass(frozen=True)
class SearchSettings:
    """How to search.

    Attributes:
        beam: hypotheses a sentence; 1 is greedy search
        nbest: how many translations of a sentence to give, the best first
        length_penalty: α; hypotheses are ranked by log P / words^α
        sample: draw translations at random instead
        temperature: of sampling: below 1 the probable words become more so
    """

    beam: int = 1
    nbest: int = 1
    length_penalty: float = 1.0
    sample: bool = False
    temperature: float = 1.0

    def __post_init__(self) -> None:
        if self.beam < 1 or self.nbest < 1:
            raise ValueError(f"beam and nbest: expected at least 1, got {self.beam} and {self.nbest}")
        if self.sample and self.beam > 1:
            raise ValueError(f"beam: sampling has no beam, got {self.beam}; leave one of sample and beam out")
        if not self.sample and self.nbest > self.beam:
            raise ValueError(f"nbest: a beam of {self.beam} finds no more, got {self.nbest}; widen the beam")
        if not self.sample and self.temperature != 1:
            raise ValueError(f"temperature: only sampling has one, got {self.temperature}; add sample")
        if not 0 < self.temperature < np.inf:
            raise ValueError(f"temperature: expected a number above 0, got {self.temperature}; greedy is its limit")
        if not 0 <= self.length_penalty < np.inf:
            raise ValueError(f"length_penalty: expected a number of at least 0, got {self.length_penalty}")

    def search(
        self, model: Model, sources: Sequence[NDArray[Any]], random: np.random.Generator
    ) -> list[list[Hypothesis]]:
        """Translations of non-empty sentences side by side, best first."""
        if self.sample:
            return sample(model, sources, self.nbest, self.temperature, random)
        return beam(model, sources, self.beam, self.nbest, self.length_penalty)


def in_batches(
    search: Callable[..., Sequence[Result]],
    batch_sentences: int,
    sources: Sequence[NDArray[Any]],
    *others: Sequence[Any],
) -> list[Result | None]:
    """What a search gives for each source, with sources of like lengths in one batch; None for an empty source.

    Args:
        search: takes a batch of sources and of each of the others
        batch_sentences: the size of a batch
        others: what belongs to the sources, such as their translations
    """
    results: list[Result | None] = [None] * len(sources)
    order = sorted((row for row in range(len(sources)) if len(sources[row])), key=lambda row: len(sources[row]))
    for first in range(0, len(order), batch_sentences):
        rows = order[first : first + batch_sentences]
        found = search(*([column[row] for row in rows] for column in (sources, *others)))
        for row, result in zip(rows, found, strict=True):
            results[row] = result
    return results

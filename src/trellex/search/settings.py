"""How to search: one object that every translator takes and every way of searching starts from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from trellex.search.beam_search import beam, greedy
from trellex.search.loop import Hypothesis, Model
from trellex.search.sampling import sample

Result = TypeVar("Result")

MAX_WIDTH = 10_000  # hypotheses of a sentence


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
        if not (1 <= self.beam <= MAX_WIDTH and 1 <= self.nbest <= MAX_WIDTH):
            raise ValueError(f"beam and nbest: expected 1 to {MAX_WIDTH:,}, got {self.beam} and {self.nbest}")
        if self.sample and self.beam > 1:
            raise ValueError(f"beam: sampling has no beam, got {self.beam}; leave one of sample and beam out")
        if not self.sample and self.nbest > self.beam:
            raise ValueError(f"nbest: a beam of {self.beam} finds no more, got {self.nbest}; widen the beam")
        if not self.sample and self.temperature != 1:
            raise ValueError(f"temperature: only sampling has one, got {self.temperature}; add sample")
        if not 1e-3 <= self.temperature <= 1e3:
            raise ValueError(f"temperature: expected 0.001 to 1,000, got {self.temperature}; greedy is its limit at 0")
        if not 0 <= self.length_penalty <= 10:
            raise ValueError(f"length_penalty: expected 0 to 10, got {self.length_penalty}")

    def search(
        self,
        model: Model,
        sources: Sequence[NDArray[Any]],
        random: np.random.Generator,
        scores: bool = True,
        attention: bool = False,
    ) -> list[list[Hypothesis]]:
        """Translations of non-empty sentences side by side, best first; greedy ones are faster without scores."""
        if self.sample:
            return sample(model, sources, self.nbest, self.temperature, random, attention)
        if self.beam == 1:
            return [[best] for best in greedy(model, sources, scores, self.length_penalty, attention)]
        return beam(model, sources, self.beam, self.nbest, self.length_penalty, attention)


def in_batches(
    search: Callable[..., Sequence[Result]], batch_tokens: int, sources: Sequence[NDArray[Any]], *others: Sequence[Any]
) -> list[Result | None]:
    """What a search gives for each source, with sources of like lengths in one batch; None for an empty source.

    Args:
        search: takes a batch of sources and of each of the others
        batch_tokens: the most words of a batch, padding included, unless a single source has more
        others: what belongs to the sources, such as their translations
    """
    results: list[Result | None] = [None] * len(sources)
    order = sorted((row for row in range(len(sources)) if len(sources[row])), key=lambda row: len(sources[row]))
    while order:
        rows = order[-max(1, batch_tokens // len(sources[order[-1]])) :]  # the longest that are left
        del order[-len(rows) :]
        found = search(*([column[row] for row in rows] for column in (sources, *others)))
        for row, result in zip(rows, found, strict=True):
            results[row] = result
    return results

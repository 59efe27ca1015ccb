"""Translations of a fixed length, so that all methods do the same work. Imports no torch."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from trellex.search import greedy
from trellex.text.vocabulary import EOS, MARKERS

Ints = NDArray[np.int64]


class Forced:
    """A model that never ends a sentence and takes down how long it took to start.

    Everything else is the model's own.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.start_seconds = 0.0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def start(self, sources: Sequence[Ints]) -> Any:
        """Encode the sources and read BOS."""
        begin = time.perf_counter()
        state = self.model.start(sources)
        self.start_seconds = time.perf_counter() - begin
        return state

    def best(self, state: Any) -> Ints:
        return endless(self.model.best(state))

    def topk(self, state: Any, k: int) -> tuple[Ints, NDArray[Any]]:
        words, log_probs = self.model.topk(state, k)
        return endless(words), log_probs


class Timed(Forced):
    """Takes down, too, how long it took to find words and to read them, since the start."""

    best_seconds = step_seconds = 0.0

    def start(self, sources: Sequence[Ints]) -> Any:
        self.best_seconds = self.step_seconds = 0.0
        return super().start(sources)

    def best(self, state: Any) -> Ints:
        begin = time.perf_counter()
        words = self.model.best(state)
        self.best_seconds += time.perf_counter() - begin
        return endless(words)

    def step(self, state: Any, words: Ints) -> Any:
        begin = time.perf_counter()
        state = self.model.step(state, words)
        self.step_seconds += time.perf_counter() - begin
        return state


class Wordless(Forced):
    """The same without an output layer: the words are drawn beforehand.

    Args:
        words: [T, N]
    """

    def __init__(self, model: Any, words: Ints) -> None:
        super().__init__(model)
        self.words = words
        self.turn = 0

    def best(self, state: Any) -> Ints:
        self.turn = (self.turn + 1) % len(self.words)
        return endless(self.words[self.turn])


def endless(words: Ints) -> Ints:
    """The first word of the vocabulary in place of EOS."""
    return np.where(words == EOS, EOS + 1, words)


def translate(model: Forced, sources: Sequence[Ints], length: int) -> tuple[float, float, list[list[int]]]:
    """Greedy translations of exactly so many words: seconds in all, seconds without the start, and the words."""
    with mock.patch.dict(greedy.__globals__, length_limit=lambda _: length), model.inference():
        begin = time.perf_counter()
        found = greedy(model, sources, scores=False)
        seconds = time.perf_counter() - begin
    words = [hypothesis.words for hypothesis in found]
    check_lengths(words, length)
    return seconds, seconds - model.start_seconds, words


def check_lengths(translations: Sequence[Sequence[Any]], length: int) -> None:
    lengths = {len(translation) for translation in translations}
    if lengths != {length}:
        raise RuntimeError(f"translations of {length} words were forced, but some have {lengths - {length}}")


def make_sources(count: int, length: int, vocab_size: int, seed: int = 0) -> list[Ints]:
    """Sentences of words at random."""
    random = np.random.default_rng(seed)
    return list(random.integers(len(MARKERS), vocab_size, size=(count, length)))


def names(vocab_size: int) -> list[str]:
    """The words of a made-up vocabulary, those that follow the markers."""
    return [f"w{place}" for place in range(vocab_size - len(MARKERS))]

"""A stopwatch around a model: how long a search spends in encoder, decoder and output layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trellex.search.loop import Ints, Model
from trellex.text.vocabulary import BOS


class EncodingModel(Model, Protocol):
    """A model whose `start` is `encode` and a first `step`."""

    def encode(self, sources: Sequence[NDArray[Any]], attention: bool = False) -> Any: ...


class TimedModel:
    """The same model, which counts seconds. Those of a GPU are not all seen, for it works on by itself.

    Attributes:
        seconds: of encoder, decoder and output layer so far
    """

    def __init__(self, model: EncodingModel) -> None:
        self._model = model
        self.seconds = dict.fromkeys(("encoder", "decoder", "output layer"), 0.0)

    def inference(self) -> AbstractContextManager[None]:
        return self._model.inference()

    def start(self, sources: Sequence[NDArray[Any]], attention: bool = False) -> Any:
        with self._counted("encoder"):
            state = self._model.encode(sources, attention)
        return self.step(state, np.full(len(sources), BOS))

    def step(self, state: Any, words: Ints) -> Any:
        with self._counted("decoder"):
            return self._model.step(state, words)

    def best(self, state: Any) -> Ints:
        with self._counted("output layer"):
            return self._model.best(state)

    def topk(self, state: Any, k: int) -> tuple[Ints, NDArray[Any]]:
        with self._counted("output layer"):
            return self._model.topk(state, k)

    def log_prob(self, state: Any, words: Ints) -> NDArray[Any]:
        with self._counted("output layer"):
            return self._model.log_prob(state, words)

    def sample(self, state: Any, temperature: float, random: np.random.Generator) -> Ints:
        with self._counted("output layer"):
            return self._model.sample(state, temperature, random)

    @contextmanager
    def _counted(self, part: str) -> Iterator[None]:
        begin = perf_counter()
        try:
            yield
        finally:
            self.seconds[part] += perf_counter() - begin

"""Greedy search: the best next word, again and again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trellex.text.vocabulary import EOS


class Model(Protocol):
    """What search asks of a model, be it in torch or in the runtime.

    A state is the model's own; `state.select(rows)` keeps these of its rows, in this order.
    """

    def start(self, sources: Sequence[NDArray[Any]]) -> Any: ...

    def step(self, state: Any, words: NDArray[np.int64]) -> Any: ...

    def topk(self, state: Any, k: int) -> tuple[NDArray[np.int64], NDArray[Any]]: ...


def length_limit(source_length: int) -> int:
    """The most words a translation may have: generous, so that only a runaway meets it."""
    return 2 * source_length + 10


def greedy(model: Model, sources: Sequence[NDArray[Any]]) -> list[list[int]]:
    """Translate non-empty sentences side by side; the finished ones leave the batch. -> ids without EOS, in order"""
    translations: list[list[int]] = [[] for _ in sources]
    if not translations:
        return translations
    rows = np.arange(len(sources))  # the sentences still being translated
    limits = np.array([length_limit(len(source)) for source in sources])
    state = model.start(sources)
    for length in range(1, int(limits.max()) + 1):
        words = model.topk(state, 1)[0][:, 0]
        going = np.flatnonzero(words != EOS)
        for row, word in zip(rows[going], words[going], strict=True):
            translations[row].append(int(word))
        going = going[limits[rows[going]] > length]
        if len(going) == 0:
            break
        if len(going) < len(rows):
            rows, words, state = rows[going], words[going], state.select(going)
        state = model.step(state, words)
    return translations

"""Forced scoring: what the model thinks of translations that it is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.search.loop import Choice, Hypothesis, Model, Open, grow
from trellex.text.vocabulary import EOS


def score(
    model: Model,
    sources: Sequence[NDArray[Any]],
    targets: Sequence[NDArray[Any]],
    observe: Callable[[Any, NDArray[np.int64]], None] | None = None,
    attention: bool = False,
) -> list[Hypothesis]:
    """log P of every word of given translations, EOS included.

    Args:
        sources: ids of each sentence, none of them empty
        targets: ids of each translation, without EOS
        observe: called with the model's state and the words that come next, at every step
        attention: whether hypotheses shall have it
    """
    if len(sources) != len(targets):
        raise ValueError(f"targets: expected one for each of {len(sources)} sources, got {len(targets)}")
    if any((np.asarray(target) == EOS).any() for target in targets):
        raise ValueError("targets: the end of a sentence may not stand inside of one; leave EOS out")
    ended = [np.append(target, EOS).astype(np.int64) for target in targets]

    def choose(rows: Open) -> Choice:
        words = np.array([ended[sentence][rows.length] for sentence in rows.sentence])
        if observe is not None:
            observe(rows.state, words)
        return Choice(None, words, model.log_prob(rows.state, words))

    limits = [len(target) for target in ended]
    return [best for (best,) in grow(model, sources, choose, limits=limits, attention=attention)]

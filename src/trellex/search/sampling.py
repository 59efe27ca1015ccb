"""Ancestral sampling: translations drawn with the model's own probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.search.loop import Choice, Hypothesis, Model, Open, grow, length_limit


def sample(
    model: Model,
    sources: Sequence[NDArray[Any]],
    count: int = 1,
    temperature: float = 1.0,
    seed: Any = None,
    attention: bool = False,
) -> list[list[Hypothesis]]:
    """Translations of every sentence, each drawn word by word, the most probable first.

    Args:
        sources: ids of each sentence, none of them empty
        count: how many of each
        temperature: words are drawn with probabilities in proportion to P^(1 / temperature); log_probs are of P
        seed: a seed or a numpy generator; the same seed and batch give the same translations
        attention: whether hypotheses shall have it
    """
    random = np.random.default_rng(seed)

    def choose(rows: Open) -> Choice:
        words = model.sample(rows.state, temperature, random)
        return Choice(None, words, model.log_prob(rows.state, words))

    limits = [length_limit(len(source)) for source in sources]
    return grow(model, sources, choose, limits=limits, width=count, copies=count, nbest=count, attention=attention)

"""Beam search: the best translations, keeping a few beginnings at a time; with one, greedy search."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.search.loop import Choice, GreedyModel, Hypothesis, Model, Open, grow, length_limit
from trellex.text.vocabulary import EOS


def greedy(
    model: Model,
    sources: Sequence[NDArray[Any]],
    scores: bool = True,
    length_penalty: float = 1.0,
    attention: bool = False,
) -> list[Hypothesis]:
    """The best next word, again and again. Without `scores` it is faster, and log_probs are NaN.

    A model that is asked for words alone and can do this by itself is let to.

    sources: ids of each sentence, none of them empty -> one hypothesis of each
    """
    limits = [length_limit(len(source)) for source in sources]
    own: Sequence[Sequence[int] | None] = [None] * len(sources)
    if not scores and not attention and isinstance(model, GreedyModel):
        own = model.greedy(sources, limits)

    def choose(rows: Open) -> Choice:
        if scores:
            words, log_probs = model.topk(rows.state, 1)
            return Choice(None, words[:, 0], log_probs[:, 0])
        best = model.best(rows.state)
        return Choice(None, best, np.full(len(best), np.nan))

    left = [place for place, words in enumerate(own) if words is None]
    others = iter(
        grow(
            model,
            [sources[place] for place in left],
            choose,
            limits=[limits[place] for place in left],
            length_penalty=length_penalty,
            attention=attention,
        )
    )
    return [next(others)[0] if words is None else _without_scores(words) for words in own]


def _without_scores(words: Sequence[int]) -> Hypothesis:
    """words: up to EOS, where that was reached"""
    return Hypothesis([int(word) for word in words if word != EOS], [np.nan] * len(words), np.nan)


def beam(
    model: Model,
    sources: Sequence[NDArray[Any]],
    width: int,
    nbest: int = 1,
    length_penalty: float = 1.0,
    attention: bool = False,
) -> list[list[Hypothesis]]:
    """The nbest best translations of every sentence that a beam of some width finds, best first.

    A finished hypothesis keeps its place in the beam, so the beam of a sentence narrows until all are finished. It
    ends earlier if no open hypothesis can enter the nbest best any more, which changes nothing in the result.

    Args:
        sources: ids of each sentence, none of them empty
        width: hypotheses a sentence, at least nbest
        length_penalty: α; hypotheses are ranked by log P / words^α, EOS included: 0 prefers short ones, 1 the mean
        attention: whether hypotheses shall have it
    """
    return grow(
        model,
        sources,
        lambda rows: _best(model, rows, width),
        limits=[length_limit(len(source)) for source in sources],
        width=width,
        nbest=nbest,
        length_penalty=length_penalty,
        attention=attention,
    )


def _best(model: Model, rows: Open, width: int) -> Choice:
    """Of every sentence the best of all words that could follow, as many as it has room for."""
    words, log_probs = model.topk(rows.state, width)
    candidates = np.flatnonzero(words >= 0)  # there may be fewer words than the beam is wide
    row, word, log_prob = candidates // width, words.ravel()[candidates], log_probs.ravel()[candidates]
    order = np.lexsort((-(rows.total[row] + log_prob), rows.sentence[row]))
    sentence = rows.sentence[row[order]]
    rank = np.arange(len(order)) - np.searchsorted(sentence, sentence)
    order = order[rank < rows.room[sentence]]
    return Choice(row[order], word[order], log_prob[order])

"""Beam search: the best translations, keeping a few beginnings at a time; with one, greedy search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trellex.search.loop import (
    BeamModel,
    Choice,
    Following,
    GreedyModel,
    Hypothesis,
    Ints,
    Model,
    Open,
    Reader,
    grow,
    length_limit,
)
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

    A model that chooses by itself what goes on is let to, unless attention is asked for.

    Args:
        sources: ids of each sentence, none of them empty
        width: hypotheses a sentence, at least nbest
        length_penalty: α; hypotheses are ranked by log P / words^α, EOS included: 0 prefers short ones, 1 the mean
        attention: whether hypotheses shall have it
    """
    limits = [length_limit(len(source)) for source in sources]

    def search(reader: Reader, choose: Callable[[Open], Choice], places: Sequence[int]) -> list[list[Hypothesis]]:
        return grow(
            reader,
            [sources[place] for place in places],
            choose,
            limits=[limits[place] for place in places],
            width=width,
            nbest=nbest,
            length_penalty=length_penalty,
            attention=attention,
        )

    own: Sequence[list[Hypothesis] | None] = [None] * len(sources)
    if not attention and isinstance(model, BeamModel):
        own = model.beams(
            sources, limits, width, lambda places, following: search(_Elsewhere(), partial(_told, following), places)
        )
    left = [place for place, found in enumerate(own) if found is None]
    others = iter(search(model, lambda rows: _best(model, rows, width), left))
    return [next(others) if found is None else found for found in own]


class _Elsewhere:
    """In place of a model and of its states, where another keeps them."""

    attention = None

    def start(self, sources: Sequence[NDArray[Any]], attention: bool = False) -> Self:
        return self

    def step(self, state: Self, words: Ints) -> Self:
        return self

    def select(self, rows: Ints) -> Self:
        return self


def _told(following: Following, rows: Open) -> Choice:
    """What a model has chosen by itself."""
    sentences, first = np.unique(rows.sentence, return_index=True)
    parent, word, log_prob = following(sentences)
    is_kept = word >= 0
    return Choice((first[:, None] + parent)[is_kept], word[is_kept], log_prob[is_kept])


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

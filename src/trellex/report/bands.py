"""BLEU and F1 by groups: of how frequent words are in training, of how long sentences are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trellex.evaluation.bootstrap import bleu_of
from trellex.report.result_set import GREEDY, Direction, Method
from trellex.report.systems import spelled_too

RANKS = (100, 300, 1_000, 3_000, 10_000, 30_000)
LENGTHS = (10, 20, 40, 80)
SMALLEST_SHARE = 0.15  # of the sentences, or of their tokens, for a group of its own


class Group(NamedTuple):
    """Sentences or words that are alike: ranks or lengths from `first` on and below `end`, how many, and a label."""

    first: int
    end: int
    size: int
    label: str


class Bands(NamedTuple):
    """A figure by groups: of each method, a list of values by group for each of its seeds."""

    groups: list[Group]
    values: dict[str, list[list[float]]]


def bleu_by_rarest_word(direction: Direction) -> Bands | None:
    """Greedy token BLEU of the sentences whose rarest reference word is of like frequency; None without ranks."""
    example = direction.ranked
    if example is None:
        return None
    groups = sentence_groups(example.rarest, example.size.vocabulary)
    return _bleu_by_group(direction.methods, GREEDY, groups, np.array(example.rarest))


def bleu_by_length(direction: Direction, search: str) -> Bands | None:
    """Token BLEU of the sentences whose references are of like length, by one way of searching; None if not done."""
    example = next((result.scores[search] for result in direction.results if search in result.scores), None)
    if example is None:
        return None
    lengths = np.array(example.sentences)[:, 1]
    return _bleu_by_group(direction.methods, search, length_groups(lengths), lengths)


def bleu_by_unknown_words(direction: Direction) -> Bands | None:
    """Greedy token BLEU of the sentences whose source has unknown words, and of the others.

    Behind a method that can read those by their spelling stands what that brings. Of methods whose source is cut alike;
    None where no sentence has any.
    """
    example = next((result.unknown for result in direction.results if any(result.unknown or [])), None)
    if example is None:
        return None
    unknown = np.array(example)
    groups = [
        Group(first, end, _count(unknown, first, end), label)
        for first, end, label in ((0, 1, "all known"), (1, max(example) + 1, "some unknown"))
    ]
    methods = {name: each for name, each in spelled_too(direction).items() if each.first.unknown == example}
    return _bleu_by_group(methods, GREEDY, groups, unknown)


def _bleu_by_group(
    methods: Mapping[str, Method], search: str, groups: list[Group], of_sentences: NDArray[np.int64]
) -> Bands:
    """of_sentences: what they are grouped by  [S]"""
    members = [(of_sentences >= group.first) & (of_sentences < group.end) for group in groups]
    values: dict[str, list[list[float]]] = {}
    for name, method in methods.items():
        scores = [np.array(result.scores[search].sentences) for result in method.results if search in result.scores]
        if scores:
            values[name] = [[bleu_of(sentences[member]) for member in members] for sentences in scores]
    return Bands(groups, values)


def word_f1(direction: Direction) -> Bands | None:
    """F1 of known words of like frequency: of what is translated and what is expected, how much is right.

    Of methods that have words alone; None if there are none.
    """
    return _f1(direction, direction.methods)


def spelled_word_f1(direction: Direction) -> Bands | None:
    """The same of methods that can read unknown source words by their spelling, as they are and when they do."""
    methods = {name: each for name, each in spelled_too(direction).items() if each.first.spelled_bands}
    return _f1(direction, methods) if methods else None


def _f1(direction: Direction, methods: Mapping[str, Method]) -> Bands | None:
    example = direction.ranked
    if example is None:
        return None
    vocabulary = example.size.vocabulary
    known = [place for place, band in enumerate(example.bands) if band.first_rank < vocabulary]
    groups = [
        Group(band.first_rank, band.end_rank, band.expected, rank_label(band.first_rank, band.end_rank, vocabulary))
        for band in (example.bands[place] for place in known)
    ]
    values = {
        name: [[result.bands[place].f1 for place in known] for result in method.results]
        for name, method in methods.items()
        if method.first.bands
    }
    return Bands(groups, values)


def sentence_groups(rarest: Sequence[int], vocabulary: int) -> list[Group]:
    """Split sentences by the rank of their rarest word, so that no group is tiny; unknown words come last.

    Few unknown words join the rarest known ones.

    rarest [S]: a rank below `vocabulary`, or `vocabulary` for an unknown word
    """
    ranks = np.array(rarest)
    known = _count(ranks, 0, vocabulary)
    apart = min(known, len(ranks) - known) >= _smallest(ranks)
    edges = _edges(ranks, [edge for edge in RANKS if edge < vocabulary], vocabulary if apart else vocabulary + 1)
    edges += [vocabulary + 1] if apart else []
    return [
        Group(first, end, _count(ranks, first, end), rank_label(first, end, vocabulary))
        for first, end in pairwise(edges)
    ]


def length_groups(lengths: NDArray[np.int64]) -> list[Group]:
    """Split sentences by length, so that no group has few of all tokens. lengths [S]"""
    longest = int(lengths.max(initial=0))
    of_tokens = np.repeat(lengths, lengths)
    edges = _edges(of_tokens, [most + 1 for most in LENGTHS if most < longest], longest + 1)
    return [
        Group(first, end, _count(lengths, first, end), length_label(first, end, longest))
        for first, end in pairwise(edges)
    ]


def _edges(values: NDArray[np.int64], candidates: Sequence[int], top: int) -> list[int]:
    """0, those candidates that leave no group of values tiny, and `top`."""
    edges = [0]
    for edge in candidates:
        if min(_count(values, edges[-1], edge), _count(values, edge, top)) >= _smallest(values):
            edges.append(edge)
    return [*edges, top]


def _count(values: NDArray[np.int64], first: int, end: int) -> int:
    return int(((values >= first) & (values < end)).sum())


def _smallest(values: NDArray[np.int64]) -> float:
    return max(SMALLEST_SHARE * len(values), 1)


def length_label(first: int, end: int, longest: int) -> str:
    """Lengths in words, such as 21–40 tokens."""
    if first == 0:
        return "all" if end > longest else f"≤ {end - 1} tokens"
    return f"> {first - 1} tokens" if end > longest else f"{first}–{end - 1} tokens"


def rank_label(first: int, end: int, vocabulary: int) -> str:
    """Ranks in words, such as 1,000–9,999."""
    if first >= vocabulary:
        return "unknown"
    if first == 0 and end >= vocabulary:
        return "all known" if end == vocabulary else "all"
    if end >= vocabulary:
        return f"≥ {first:,}" if end == vocabulary else f"≥ {first:,} or unknown"
    return f"{first:,}–{end - 1:,}" if first else f"< {end:,}"

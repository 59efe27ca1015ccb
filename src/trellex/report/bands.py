"""BLEU and F1 by how frequent words are in training."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from trellex.evaluation.bootstrap import bleu_of
from trellex.experiment.result import Result
from trellex.report.study import Direction

EDGES = (100, 300, 1_000, 3_000, 10_000, 30_000)
SMALLEST_SHARE = 0.15  # of the sentences, for a group of its own


class Group(NamedTuple):
    """Sentences or words of like frequency: ranks from `first` on and below `end`, how many there are, and a label."""

    first: int
    end: int
    size: int
    label: str


class Bands(NamedTuple):
    """A figure by groups: of each method, a list of values by group for each of its seeds."""

    groups: list[Group]
    values: dict[str, list[list[float]]]


def bleu_by_rarest_word(direction: Direction) -> Bands:
    """Greedy token BLEU of the sentences whose rarest reference word is of like frequency."""
    example = _example(direction)
    groups = sentence_groups(example.rarest, example.size.vocabulary)
    rarest = np.array(example.rarest)
    members = [(rarest >= group.first) & (rarest < group.end) for group in groups]
    values: dict[str, list[list[float]]] = {}
    for name, method in direction.methods.items():
        scores = [np.array(result.scores["greedy"].sentences) for result in method.results if "greedy" in result.scores]
        if scores:
            values[name] = [[bleu_of(sentences[member]) for member in members] for sentences in scores]
    return Bands(groups, values)


def word_f1(direction: Direction) -> Bands:
    """F1 of known words of like frequency: of what is translated and what is expected, how much is right."""
    example = _example(direction)
    vocabulary = example.size.vocabulary
    known = [(place, band) for place, band in enumerate(example.bands) if band.first_rank < vocabulary]
    places, bands = [place for place, _ in known], [band for _, band in known]
    groups = [
        Group(band.first_rank, band.end_rank, band.expected, rank_label(band.first_rank, band.end_rank, vocabulary))
        for band in bands
    ]
    values = {
        name: [
            [
                200 * band.right / max(band.translated + band.expected, 1)
                for band in (result.bands[place] for place in places)
            ]
            for result in method.results
        ]
        for name, method in direction.methods.items()
    }
    return Bands(groups, values)


def sentence_groups(rarest: Sequence[int], vocabulary: int) -> list[Group]:
    """Split sentences by the rank of their rarest word, so that no group is tiny; unknown words come last.

    Few unknown words join the rarest known ones.

    rarest [S]: a rank below `vocabulary`, or `vocabulary` for an unknown word
    """
    ranks = np.array(rarest)
    smallest = max(SMALLEST_SHARE * len(ranks), 1)

    def count(first: int, end: int) -> int:
        return int(((ranks >= first) & (ranks < end)).sum())

    apart = min(count(0, vocabulary), count(vocabulary, vocabulary + 1)) >= smallest
    top = vocabulary if apart else vocabulary + 1
    edges = [0]
    for edge in EDGES:
        if edge < vocabulary and count(edges[-1], edge) >= smallest and count(edge, top) >= smallest:
            edges.append(edge)
    edges += [top, vocabulary + 1] if apart else [top]
    return [Group(first, end, count(first, end), rank_label(first, end, vocabulary)) for first, end in pairwise(edges)]


def rank_label(first: int, end: int, vocabulary: int) -> str:
    """Ranks in words, such as 1,000–9,999."""
    if first >= vocabulary:
        return "unknown"
    if first == 0 and end >= vocabulary:
        return "all known" if end == vocabulary else "all"
    if end >= vocabulary:
        return f"≥ {first:,}" if end == vocabulary else f"≥ {first:,} or unknown"
    return f"{first:,}–{end - 1:,}" if first else f"< {end:,}"


def _example(direction: Direction) -> Result:
    return next(iter(direction.methods.values())).first

"""Bands: how well words are translated that are frequent, and words that are rare."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from trellex.evaluation.bleu import check_numbers
from trellex.text.vocabulary import UNK, Vocabulary


@dataclass(frozen=True)
class WordBand:
    """Words of like frequency.

    The rank of a word is its id in the vocabulary. Unknown words are a band of their own, from V to V.

    Attributes:
        first_rank, end_rank: the ranks, the end excluded
        right: words of the translations that the reference has, too, sentence by sentence
        translated: words of the translations
        expected: words of the references
    """

    first_rank: int
    end_rank: int
    right: int
    translated: int
    expected: int

    @property
    def f1(self) -> float:
        """Of what is translated and what is expected, how much is right, in percent."""
        return 200 * self.right / max(self.translated + self.expected, 1)


def word_bands(
    hypotheses: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
    vocabulary: Vocabulary,
    edges: Sequence[int] = (100, 1_000, 10_000),
) -> list[WordBand]:
    """The words of translations and references by frequency, the band of unknown words last.

    A word is right as often as both the translation and the reference have it. A translation's unknown words never
    are, since nobody knows what they stand for.

    Args:
        hypotheses: tokens of each translation  [S] of [length]
        references: tokens of each reference, unknown words and all  [S] of [length]
        vocabulary: V words, by frequency
        edges: ranks at which a new band begins; those from V on are left out
    """
    check_numbers(hypotheses, references)
    size = len(vocabulary)
    right, translated, expected = Counter[int](), Counter[int](), Counter[int]()  # by rank
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        ours, theirs = (Counter(_ranks(tokens, vocabulary).tolist()) for tokens in (hypothesis, reference))
        right.update(ours & theirs)
        translated.update(ours)
        expected.update(theirs)
    del right[size]
    bounds = sorted({0, *(edge for edge in edges if edge < size), size})
    bands = [(first, end, range(first, end)) for first, end in pairwise(bounds)]
    return [
        WordBand(first, end, *(sum(counts[rank] for rank in ranks) for counts in (right, translated, expected)))
        for first, end, ranks in [*bands, (size, size, [size])]
    ]


def rarest_ranks(references: Sequence[Sequence[str]], vocabulary: Vocabulary) -> list[int]:
    """The rank of the rarest word of each reference: V if it has an unknown one, 0 if it has no words."""
    return [int(_ranks(reference, vocabulary).max(initial=0)) for reference in references]


def _ranks(tokens: Sequence[str], vocabulary: Vocabulary) -> NDArray[np.int64]:
    """Ids, V where the word is not known. tokens [T] -> [T]"""
    ids = vocabulary.ids(tokens)
    return np.where(ids == UNK, len(vocabulary), ids)

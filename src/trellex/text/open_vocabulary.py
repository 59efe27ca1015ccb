"""An open vocabulary: a word that is not known gets the code of the known words that are written like it."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from trellex.codes import Code
from trellex.text.spellings import Spellings
from trellex.text.vocabulary import MARKERS, UNK, Vocabulary

ALIKE = 8  # words that are asked

Ints = NDArray[np.int64]


class OpenVocabulary:
    """Word → id for models that read codes: id V + n stands for an unknown word of the number n.

    The number is found bit by bit from the first on, which parts the clusters most coarsely: of the known words written
    most like the unknown one, those decide that have all bits so far, each by how alike it is.

    Args:
        vocabulary: the known words, V of them
        code: of these, by clusters; its numbers have no gaps
    """

    def __init__(self, vocabulary: Vocabulary, code: Code) -> None:
        self.vocabulary, self.code = vocabulary, code

    def ids(self, tokens: Sequence[str]) -> Ints:
        """The ids of tokens, UNK where no known word is written like one. tokens [T] -> ids [T]"""
        ids = self.vocabulary.ids(tokens)
        for place in np.flatnonzero(ids == UNK).tolist():
            ids[place] = self._id(tokens[place])
        return ids

    def _id(self, word: str) -> int:
        places, weights = self._spellings.nearest(word, ALIKE)
        if len(places) == 0:
            return UNK
        numbers = self.code.numbers(places + len(MARKERS))
        for bit in range(self.code.num_bits):
            is_one = (numbers >> bit & 1).astype(bool)
            stays = is_one == (weights[is_one].sum() > weights[~is_one].sum())
            numbers, weights = numbers[stays], weights[stays]
        return len(self.vocabulary) + int(numbers[0])

    @cached_property
    def _spellings(self) -> Spellings:
        """Of all words but the markers; made for the first unknown word."""
        return Spellings(self.vocabulary.words[len(MARKERS) :])

"""Recall: how many words of references a shortlist has, and how long its lists are."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from trellex.shortlist.shortlist import Shortlist
from trellex.text.corpus import ParallelIds
from trellex.text.vocabulary import UNK


class Recall(NamedTuple):
    """What lists have of the references of a split; unknown words are in every list and are not counted."""

    words: int  # of the references
    listed: int  # those of them that are in the list of their sentence
    sentences: int
    listed_sentences: int  # whose list has all words of the reference
    mean_size: float  # words of a list

    @property
    def share(self) -> float:
        """Of words that are listed."""
        return self.listed / max(self.words, 1)

    @property
    def whole_share(self) -> float:
        """Of sentences whose list has all words."""
        return self.listed_sentences / max(self.sentences, 1)

    @classmethod
    def of(cls, shortlist: Shortlist, pairs: ParallelIds) -> Recall:
        """Over all sentences of a split that are not empty."""
        words, listed, sizes, whole = 0, 0, list[int](), 0
        for row in range(len(pairs)):
            source, target = pairs.source(row), pairs.target(row)
            if not len(source):
                continue
            chosen, known = shortlist.words_for(source), target[target != UNK]
            found = int(np.isin(known, chosen).sum())
            words, listed, whole = words + len(known), listed + found, whole + (found == len(known))
            sizes.append(len(chosen))
        return cls(words, listed, len(sizes), whole, float(np.mean(sizes)) if sizes else 0.0)

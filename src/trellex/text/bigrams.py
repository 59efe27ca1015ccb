"""How often a word follows another, in all sentences of a text."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trellex.text.chunks import chunks
from trellex.text.parallel import Ids


class Bigrams(NamedTuple):
    """Pairs of words that stand beside each other, in rising order."""

    left: Ids  # [P]
    right: Ids  # [P]
    counts: Ids  # [P]


def bigrams(ids: NDArray[Any], lengths: Ids, vocab_size: int) -> Bigrams:
    """Those of all sentences, with BOS before and EOS after each. ids [tokens], lengths [N]"""
    if lengths.sum() != len(ids):
        raise ValueError(f"lengths: sum to {int(lengths.sum()):,}, but there are {len(ids):,} ids; pass one a sentence")
    if len(ids) and not 0 <= ids.min() <= ids.max() < vocab_size:
        raise ValueError(f"ids: word ids go from 0 to {vocab_size - 1}, got {int(ids.min())} … {int(ids.max())}")
    pairs, counts = np.empty(0, np.int64), np.empty(0, np.int64)
    for words, sentences in chunks(ids, lengths):
        together = sentences[1:] == sentences[:-1]
        left, right = words[:-1][together].astype(np.int64), words[1:][together]
        found, found_counts = np.unique(left * vocab_size + right, return_counts=True)
        pairs, places = np.unique(np.concatenate((pairs, found)), return_inverse=True)
        counts = np.bincount(places, np.concatenate((counts, found_counts))).astype(np.int64)
    return Bigrams(*np.divmod(pairs, vocab_size), counts)

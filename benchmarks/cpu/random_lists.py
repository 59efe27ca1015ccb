"""Shortlists of random words, of the length that real ones have. Imports no torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from trellex.shortlist.shortlist import Shortlist
from trellex.text.vocabulary import Vocabulary

FREQUENT, LISTED = 100, 500  # words in every list, and in all of a sentence's


def save_shortlist(path: Path, export: Path, source_length: int) -> None:
    """Write one for the vocabularies of an exported model: sentences of so many words have lists of about 500."""
    source, target = (Vocabulary.load(export / f"vocab.{side}.txt") for side in ("source", "target"))
    each = (LISTED - FREQUENT) // source_length
    words = np.random.default_rng(0).integers(FREQUENT, len(target), (len(source) + 1, each), np.uint32)
    Shortlist.of(source, target, np.arange(1, len(words) + 1) * each, words.ravel(), FREQUENT).save(path)

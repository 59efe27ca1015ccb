"""The sentences of the phrasebook: patterns in English and Japanese, the most frequent first."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.resources.abc import Traversable
from random import Random
from typing import NamedTuple

from trellex.phrasebook.data import FOLDER, at, blocks
from trellex.phrasebook.inflection import Entry
from trellex.phrasebook.lexicon import LEXICON
from trellex.phrasebook.slots import Filler, check


class Sentence(NamedTuple):
    """A sentence in both languages, and the number of the pattern that made it."""

    pattern: int
    english: str
    japanese: str


def read(file: Traversable, lexicon: Mapping[str, Sequence[Entry]]) -> tuple[Entry, ...]:
    """The patterns of a file such as patterns.txt, whose slots the lexicon fills."""
    patterns = []
    for block in blocks(file):
        with at(block[0]):
            if len(block) != 2:
                raise ValueError(f"expected an English line and its Japanese, got {len(block)} lines together")
        for line in block:
            with at(line):
                check(line.text, lexicon)
        patterns.append({"en": block[0].text, "ja": block[1].text})
    return tuple(patterns)


PATTERNS = read(FOLDER / "patterns.txt", LEXICON)


def sentences(seed: int) -> Iterator[Sentence]:
    """Endless random sentences, with repetitions; the same for the same seed."""
    filler = Filler(LEXICON, Random(seed))
    while True:
        pattern = filler.rank(len(PATTERNS))
        sentence = filler.fill(PATTERNS[pattern])
        yield Sentence(pattern, sentence["en"], sentence["ja"])

"""The vocabulary: the words a model knows, numbered by frequency after three markers."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trellex.files import AnyPath, atomic_writer
from trellex.packed import MAX_OWN, PACKED
from trellex.text.lines import OWN_MAX_BYTES, read_lines

UNK, BOS, EOS = 0, 1, 2
MARKERS = ("<unk>", "<s>", "</s>")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


class Vocabulary:
    """Word ↔ id. Ids 0, 1, 2 are UNK, BOS and EOS; the rest are words, in `from_counts` the most frequent first.

    A marker's surface in a text is an unknown word like any other: no input can forge an end of sentence.

    Attributes:
        words: the surfaces, markers included  [V]
        counts: how often each occurred in training  [V] int64
    """

    def __init__(self, words: Sequence[str], counts: Any) -> None:
        self.words = list(words)
        self.counts: NDArray[np.int64] = np.array(counts, np.int64)
        _check_words(self.words, "words, place")
        if self.counts.shape != (len(self.words),) or (self.counts < 0).any():
            raise ValueError(
                f"counts: expected {len(self.words)} numbers of at least 0, one a word, got shape {self.counts.shape}"
            )
        self._ids = {word: place for place, word in enumerate(self.words) if place >= len(MARKERS)}

    @classmethod
    def from_counts(
        cls,
        counts: Mapping[str, int],
        size: int | None = None,
        sentences: int = 0,
        min_count: int = 1,
        known: Container[str] | None = None,
    ) -> Self:
        """The most frequent words, ties in the order of code points.

        Args:
            counts: how often each word occurs
            size: V, the markers included; None takes all words
            sentences: the number of sentences, which is the count of BOS and EOS
            min_count: words that occur less often are left out
            known: if given, other words are left out
        """
        if size is not None and size < len(MARKERS):
            raise ValueError(f"size: the markers alone are {len(MARKERS)} words, got {size}")
        ranked = sorted(
            (-count, word)
            for word, count in counts.items()
            if count >= min_count and word not in MARKERS and (known is None or word in known)
        )
        kept = ranked[: None if size is None else size - len(MARKERS)]
        unknown = sum(counts.values()) + sum(count for count, _ in kept)  # counts are negative in `kept`
        return cls(
            [*MARKERS, *(word for _, word in kept)], [unknown, sentences, sentences, *(-count for count, _ in kept)]
        )

    def ids(self, tokens: Iterable[str]) -> NDArray[np.int64]:
        """The ids of tokens, UNK where the word is not known. tokens [T] -> ids [T]"""
        return np.array([self._ids.get(token, UNK) for token in tokens], np.int64)

    def tokens(self, ids: Any) -> list[str]:
        """The surfaces of ids, markers included. ids [T] -> tokens [T]"""
        ids = np.asarray(ids)
        if ids.size and (ids.min() < 0 or ids.max() >= len(self)):
            raise ValueError(f"ids: word ids go from 0 to {len(self) - 1}, got {ids.min()} … {ids.max()}")
        return [self.words[place] for place in ids.tolist()]

    def fingerprint(self) -> str:
        """The same for the same words in the same order, however often each occurred."""
        return hashlib.sha256("\n".join(self.words).encode()).hexdigest()

    def save(self, path: AnyPath) -> None:
        """Write a line a word, "word<TAB>count". The file appears whole or not at all."""
        with atomic_writer(path) as file:
            file.writelines(f"{word}\t{count}\n" for word, count in zip(self.words, self.counts.tolist(), strict=True))

    @classmethod
    def load(cls, path: AnyPath) -> Self:
        """Read what `save` wrote. Raises ValueError that names file and line if it is not a vocabulary."""
        name, is_packed = Path(os.fspath(path)).name, Path(os.fspath(path)).suffix in PACKED
        words, counts, size = [], [], 0
        for number, line in enumerate(read_lines(path, OWN_MAX_BYTES), start=1):
            size += len(line)
            if is_packed and size > MAX_OWN:
                raise ValueError(f"{name} line {number}: unpacks to more than {MAX_OWN:,} bytes; unpack it beforehand")
            word, tab, count = line.partition("\t")
            if not (tab and count.isascii() and count.isdigit() and len(count) <= 18):
                raise ValueError(f"{name} line {number}: expected a word, a tab and its count, got {line[:80]!r}")
            words.append(word)
            counts.append(int(count))
        _check_words(words, f"{name} line")
        return cls(words, counts)

    def __len__(self) -> int:
        return len(self.words)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self.words == other.words and np.array_equal(self.counts, other.counts)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} words)"


def _check_words(words: Sequence[str], where: str) -> None:
    """Raise ValueError unless the markers come first and the words are distinct and free of white space."""
    for number, marker in enumerate(MARKERS, start=1):
        if len(words) < number or words[number - 1] != marker:
            found = repr(words[number - 1]) if len(words) >= number else "nothing"
            raise ValueError(f"{where} {number}: expected the marker {marker!r}, found {found}")
    seen: set[str] = set()
    for number, word in enumerate(words, start=1):
        if word in seen:
            raise ValueError(f"{where} {number}: duplicate word {word!r}")
        if word.split() != [word] or _CONTROL.search(word):
            raise ValueError(
                f"{where} {number}: a word may not be empty or hold white space or control characters, got {word!r}"
            )
        seen.add(word)

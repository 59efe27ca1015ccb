"""The shortlist: which target words the translation of a sentence is made of, in a file beside a model."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, ValidationError

from trellex.arrays import as_count
from trellex.files import AnyPath, atomic_writer, check_file
from trellex.records import Sealed, problems, sealed
from trellex.text.vocabulary import MARKERS, UNK, Vocabulary

if TYPE_CHECKING:
    from trellex.shortlist.word_translations import Report
    from trellex.text.corpus import Corpus

REMEDY = "make one with `trellex shortlist`"
MAX_HEADER = 1 << 12  # bytes
KIND = np.dtype("<u4")  # of all numbers after the header

Ints = NDArray[np.int64]


class Header(Sealed):
    """The first line of the file, JSON. After it come the lengths of all lists, and then their words."""

    format: Literal["trellex-shortlist"] = "trellex-shortlist"
    version: Literal[1] = 1
    source_words: int = Field(ge=len(MARKERS))
    target_words: int = Field(ge=len(MARKERS))
    source_vocabulary: str  # fingerprints
    target_vocabulary: str
    frequent: int = Field(ge=len(MARKERS))
    translations: int = Field(ge=0)  # of all source words together
    sha256: str = ""  # of what comes after the header

    @property
    def lists(self) -> int:
        """One for each source word, and that of NULL, the last."""
        return self.source_words + 1

    @property
    def body_bytes(self) -> int:
        return KIND.itemsize * (self.lists + self.translations)

    def as_line(self) -> bytes:
        return json.dumps(sealed(self.model_dump(mode="json"))).encode() + b"\n"


class Shortlist:
    """A list of target words for every source word, and one for all sentences.

    Args:
        header: what it is
        ends: where the list of a source word ends, that of NULL last  [source words + 1]
        words: of all lists, one after another  [translations]
        name: what errors call it
    """

    def __init__(self, header: Header, ends: Ints, words: NDArray[Any], name: str = "shortlist") -> None:
        self.header, self.name = header, name
        self._begins, self._words = np.append(0, ends), words
        frequent = np.arange(min(header.frequent, header.target_words))  # the end of a sentence among them
        self._always = np.union1d(frequent, self._lists([header.source_words])[0]).astype(KIND)

    @classmethod
    def of(
        cls, source: Vocabulary, target: Vocabulary, ends: Ints, words: NDArray[Any], frequent: int = len(MARKERS)
    ) -> Self:
        """Of lists that are there, for models with these vocabularies; see the class, and `learn`."""
        if as_count(frequent, "frequent") < len(MARKERS):
            raise ValueError(f"frequent: the markers alone are {len(MARKERS)} words, got {frequent}; give more")
        header = Header(
            source_words=len(source),
            target_words=len(target),
            source_vocabulary=source.fingerprint(),
            target_vocabulary=target.fingerprint(),
            frequent=frequent,
            translations=len(words),
        )
        return cls(header, ends, words)

    @classmethod
    def learn(
        cls,
        corpus: Corpus,
        translations: int = 100,
        frequent: int = 100,
        steps: int = 5,
        report: Report = lambda done, total: None,
    ) -> Self:
        """From the training text of a prepared corpus.

        Args:
            translations: the most of a source word, the most probable by IBM model 1
            frequent: target words that are in every list, the most frequent, with three markers among them
            steps: of EM
            report: called now and then with how much is done, and of how much
        """
        from trellex.shortlist.word_translations import word_translations  # loads numba

        text, source, target = corpus.split("train"), corpus.source_vocabulary, corpus.target_vocabulary
        found = word_translations(
            *(text.source_ids, text.source_lengths, text.target_ids, text.target_lengths),
            source_size=len(source),
            target_size=len(target),
            best=translations,
            steps=steps,
            report=report,
        )
        return cls.of(source, target, found.ends, found.words, frequent)

    def words_for(self, source: NDArray[Any]) -> Ints:
        """The target words for a sentence, rising; a word from V on is unknown. source: ids [S] -> ids [L]"""
        known = np.where(np.asarray(source) < self.header.source_words, source, UNK)
        words = np.sort(np.concatenate((self._always, *self._lists(known))))
        is_new = np.append(True, words[1:] != words[:-1])
        return words[is_new].astype(np.int64)  # faster than np.unique

    def _lists(self, source: Any) -> list[NDArray[Any]]:
        """Those of source words. source: ids [S]"""
        source = np.asarray(source)
        begins, ends = self._begins[source].tolist(), self._begins[source + 1].tolist()
        return [self._words[begin:end] for begin, end in zip(begins, ends, strict=True)]

    def check_vocabularies(self, source: Vocabulary, target: Vocabulary) -> None:
        """Raises ValueError unless it was learned from a corpus with these vocabularies."""
        for side, expected, vocabulary in (
            ("source", self.header.source_vocabulary, source),
            ("target", self.header.target_vocabulary, target),
        ):
            if vocabulary.fingerprint() != expected:
                raise ValueError(
                    f"{self.name}: was learned from a corpus with other {side} words than the model's; "
                    "run `trellex shortlist` on the corpus that the model was trained on"
                )

    def save(self, path: AnyPath) -> None:
        """Write a file that `load` reads, whole or not at all."""
        body = np.diff(self._begins).astype(KIND).tobytes() + self._words.astype(KIND).tobytes()
        header = self.header.model_copy(update={"sha256": hashlib.sha256(body).hexdigest()})
        with atomic_writer(path, "wb") as file:
            file.write(header.as_line() + body)

    @classmethod
    def load(cls, path: AnyPath) -> Self:
        """Read what `save` wrote. Raises ValueError that names the file and the remedy if it is anything else."""
        path = Path(path)
        check_file(path, REMEDY)
        try:
            with path.open("rb") as file:
                header, ends, words = _read(file)
        except ValueError as error:
            problem = problems(error)[0] if isinstance(error, ValidationError) else str(error)
            raise ValueError(f"{path}: not a shortlist ({problem}); {REMEDY}") from error
        return cls(header, ends, words, str(path))


def _read(file: BinaryIO) -> tuple[Header, Ints, NDArray[np.uint32]]:
    """Raises ValueError, before memory is taken for it, if a file is not as long as it says."""
    line = file.readline(MAX_HEADER)
    if not line.endswith(b"\n"):
        raise ValueError("its first line is no header")
    header = Header.model_validate_json(line)
    if os.fstat(file.fileno()).st_size != len(line) + header.body_bytes:
        raise ValueError("it is longer or shorter than its header says")
    body = file.read(header.body_bytes)
    if hashlib.sha256(body).hexdigest() != header.sha256:
        raise ValueError("damaged, its checksum differs")
    numbers = np.frombuffer(body, KIND)
    ends, words = numbers[: header.lists].cumsum(dtype=np.int64), numbers[header.lists :]
    if ends[-1] != len(words) or words.max(initial=0) >= header.target_words:
        raise ValueError("its lists do not fit its header")
    return header, ends, words

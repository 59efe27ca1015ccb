"""Pieces: words and parts of words, by which sentencepiece cuts text once it has learnt them from the training text."""

from __future__ import annotations

import hashlib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from trellex.files import AnyPath, atomic_writer, check_file
from trellex.records import read_bounded

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

KINDS = ("bpe", "unigram")  # how pieces are chosen; the names of their tokenisers
DEFAULT_SIZE, MAX_SIZE = 8192, 1 << 17  # pieces, three markers included
MAX_BYTES = 1 << 24  # of a model


class PieceModel:
    """What sentencepiece has learnt, as the bytes of its file. The package is needed only when a line is cut.

    Args:
        data: the bytes
        place: where they are from, for messages
        remedy: what to do if they are no model
    """

    def __init__(self, data: bytes, place: AnyPath, remedy: str) -> None:
        self.data, self.place, self.remedy = data, place, remedy

    @classmethod
    def load(cls, path: Path, sha256: str | None, remedy: str) -> Self:
        """Read a file. Raises ValueError that names it unless just the bytes that were read have this checksum."""
        check_file(path, remedy)
        try:
            data = read_bounded(path, MAX_BYTES)
        except ValueError as error:
            raise ValueError(f"{path}: {error}; {remedy}") from error
        if hashlib.sha256(data).hexdigest() != sha256:
            raise ValueError(f"{path}: damaged, its checksum {'differs' if sha256 else 'is missing'}; {remedy}")
        return cls(data, path, remedy)

    def save(self, path: AnyPath) -> None:
        """Write a file that sentencepiece reads, too, whole or not at all."""
        with atomic_writer(path, "wb") as file:
            file.write(self.data)

    def pieces(self) -> set[str]:
        """All pieces that it knows."""
        return set(self.processor.id_to_piece(list(range(len(self.processor)))))

    @cached_property
    def processor(self) -> SentencePieceProcessor:
        """Raises ImportError that names the extra, or ValueError that names the file if it is no model."""
        check_installed()
        from sentencepiece import SentencePieceProcessor

        processor = SentencePieceProcessor()
        try:
            processor.LoadFromSerializedProto(self.data)
        except (RuntimeError, ValueError, OSError) as error:
            raise ValueError(f"{self.place}: no piece model, sentencepiece cannot read it; {self.remedy}") from error
        return processor


def check_installed() -> None:
    """Raises ImportError that tells what to install unless sentencepiece is there."""
    try:
        import sentencepiece  # noqa: F401
    except ImportError as error:
        message = "pieces of words need the package sentencepiece: pip install 'trellex[pieces]'"
        raise ImportError(message, name="sentencepiece") from error


def pieces_file(side: str) -> str:
    """The name of the model of a side in the folder of a corpus, a checkpoint or an export."""
    return f"pieces.{side}.model"

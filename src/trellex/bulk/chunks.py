"""Chunks of a shard: rows that are translated together, and the file that takes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from trellex.bulk.division import Piece
from trellex.bulk.sources import Mark
from trellex.text.lines import CHUNK, Line, read_from


class Chunk(NamedTuple):
    """Lines and, of Parquet, the rows that they are from."""

    lines: list[Line]
    batch: Any = None


class Output(Protocol):
    """The file of a shard."""

    def write(self, chunk: Chunk, answers: Sequence[str | None]) -> None: ...

    def close(self) -> None: ...


class LineOutput:
    """A file with a line for each."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def write(self, chunk: Chunk, answers: Sequence[str | None]) -> None:
        self.file.writelines(f"{answer or ''}\n" for answer in answers)

    def close(self) -> None:
        """Whoever opened the file closes it."""


def read_lines(path: Path, piece: Piece, mark: Mark) -> Iterator[Chunk]:
    """Lines of a file, some at a time, read from a mark on."""
    lines = islice(read_from(path, piece.first, mark.rows, mark.offset), piece.end - piece.first)
    while chunk := list(islice(lines, CHUNK)):
        yield Chunk(chunk)

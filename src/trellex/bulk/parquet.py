"""Parquet: rows of text among other columns, which are kept, read and written some at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from trellex.bulk.chunks import Chunk
from trellex.bulk.division import Piece
from trellex.bulk.job import Settings
from trellex.text.lines import CHUNK, Line, checked

GROUP_ROWS, GROUP_BYTES = 1 << 16, 1 << 26  # of a row group that is written, about
READ_BUFFER = 1 << 20  # bytes of a column


def rows_in(path: Path) -> int:
    with _opened(path) as file:
        return int(file.metadata.num_rows)


def check_schemas(paths: Sequence[Path], settings: Settings) -> None:
    """Raises ValueError unless all files have the same columns, one of them the text, and none the translations."""
    text, translation = settings.column, settings.new_column
    first: Any = None
    for path in paths:
        with _opened(path) as file:
            schema = file.schema_arrow
        if schema.names.count(text) != 1:
            raise ValueError(f"{path}: has no column {text!r}; choose by --column one of {', '.join(schema.names)}")
        if not _is_text(schema.field(text).type):
            raise ValueError(f"{path}: column {text!r} holds {schema.field(text).type}, no text; choose another")
        if translation in schema.names:
            raise ValueError(f"{path}: has a column {translation!r} already; name another by --new-column")
        if first is not None and not schema.equals(first):
            raise ValueError(f"{path}: has other columns than {paths[0]}, or of other types; translate them apart")
        first = first if first is not None else schema


def read_chunks(path: Path, piece: Piece, settings: Settings) -> Iterator[Chunk]:
    """Rows of a file, some at a time, none of them read before it is needed but for its row group."""
    with _opened(path) as file:
        groups, before = _groups(file.metadata, piece)
        for batch in file.iter_batches(CHUNK, row_groups=groups):
            first, end = max(piece.first - before, 0), min(piece.end - before, len(batch))
            if first < end:
                part = batch.slice(first, end - first)
                yield Chunk(_lines(part.column(settings.column), path, before + first), part)
            before += len(batch)


class ParquetOutput:
    """A file of a shard: the columns of its rows, and their translations behind them.

    Args:
        file: to write to
        like: a file of the source
        settings: name the columns
    """

    def __init__(self, file: Any, like: Path, settings: Settings) -> None:
        with _opened(like) as source:
            schema = source.schema_arrow
        self.schema = schema.append(pa.field(settings.new_column, pa.string()))
        self.settings, self._batches, self._rows, self._bytes = settings, list[Any](), 0, 0
        self._writer = pq.ParquetWriter(file, self.schema, compression="zstd")

    def write(self, chunk: Chunk, answers: Sequence[str | None]) -> None:
        """Rows and the translation of each; None is what has none."""
        given = chunk.batch.column(self.settings.column).is_valid().to_pylist()
        found = [answer if is_given else None for answer, is_given in zip(answers, given, strict=True)]
        columns = [*chunk.batch.columns, pa.array(found, pa.string())]
        batch = pa.RecordBatch.from_arrays(columns, schema=self.schema)
        self._batches.append(batch)
        self._rows, self._bytes = self._rows + len(batch), self._bytes + batch.nbytes
        if self._rows >= GROUP_ROWS or self._bytes >= GROUP_BYTES:
            self._write_group()

    def close(self) -> None:
        self._write_group()
        self._writer.close()

    def _write_group(self) -> None:
        if self._batches:
            self._writer.write_table(pa.Table.from_batches(self._batches, self.schema))
            self._batches, self._rows, self._bytes = [], 0, 0


def _lines(column: Any, path: Path, first: int) -> list[Line]:
    """Texts as lines, checked alike; what is null is empty."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    texts = column.cast(pa.large_binary()).to_pylist()
    return list(checked((text or b"" for text in texts), f"{path} row", first))


def _groups(metadata: Any, piece: Piece) -> tuple[list[int], int]:
    """The row groups that hold a piece, and how many rows are before them."""
    found: list[int] = []
    before = skipped = 0
    for group in range(metadata.num_row_groups):
        rows = metadata.row_group(group).num_rows
        if before + rows <= piece.first:
            skipped = before + rows
        elif before < piece.end:
            found.append(group)
        before += rows
    return found, skipped


def _is_text(kind: Any) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """A file, closed in the end. Raises ValueError that names it if it is damaged."""
    try:
        with pq.ParquetFile(path, buffer_size=READ_BUFFER) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        problem = str(error).strip().partition("\n")[0]
        raise ValueError(f"{path}: no Parquet file, or a damaged one ({problem}); write it again") from error

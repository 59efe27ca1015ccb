"""Text files: read line by line, plain or compressed."""

from __future__ import annotations

import gzip
import lzma
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path

from trellex.files import AnyPath


def read_lines(path: AnyPath) -> Iterator[str]:
    """The lines of a UTF-8 file, `.gz` and `.xz` unpacked on the way, one in memory at a time.

    Only "\\n" ends a line; a "\\r" before it and a byte order mark at the start of the file are left out.
    """
    path = Path(path)
    number = 0
    with unpacking(path), open_binary(path) as file:
        try:
            for number, line in enumerate(file, start=1):
                text = line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
                yield text.removeprefix("\ufeff") if number == 1 else text
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path} line {number}: not valid UTF-8 at byte {error.start + 1} of the line; "
                "convert the file, e.g. with `iconv -t UTF-8`"
            ) from error


@contextmanager
def unpacking(path: Path) -> Iterator[None]:
    """Say so if a compressed file is truncated or damaged."""
    try:
        yield
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{path}: cannot be unpacked to its end ({error}); the file is truncated or damaged, "
            "get it again, or rename it if it is not compressed"
        ) from error


def open_binary(path: Path) -> BufferedIOBase:
    """A file to read bytes from, unpacked if its name ends in `.gz` or `.xz`."""
    if path.suffix == ".gz":
        return gzip.open(path, "rb")
    if path.suffix == ".xz":
        return lzma.open(path, "rb")
    return open(path, "rb")


def read_pairs(source: AnyPath, target: AnyPath) -> Iterator[tuple[str, str]]:
    """Line n of the one file with line n of the other. Raises ValueError if one has more lines."""
    source_lines, target_lines = read_lines(source), read_lines(target)
    pairs = 0
    while True:
        source_line, target_line = next(source_lines, None), next(target_lines, None)
        if source_line is None or target_line is None:
            break
        yield source_line, target_line
        pairs += 1
    source_count = pairs + (source_line is not None) + sum(1 for _ in source_lines)
    target_count = pairs + (target_line is not None) + sum(1 for _ in target_lines)
    if source_count != target_count:
        raise ValueError(
            f"{os.fspath(source)} has {source_count} lines but {os.fspath(target)} has {target_count}; "
            "line n of one side must be the translation of line n of the other"
        )

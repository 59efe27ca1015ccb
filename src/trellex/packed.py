"""Packed files: `.gz` and `.xz` unpacked a piece at a time, to their very end or not at all; and how to pack one."""

from __future__ import annotations

import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

READ_BYTES = 1 << 16
PACKED = (".gz", ".xz")  # how the names of packed files end
MAX_OWN = 1 << 24  # bytes of text in a packed file of our own, which could hide any number
MAX_DICTIONARY = 1 << 28  # bytes of memory that an .xz file may ask for; `xz -9` asks for a quarter of that

Read = Callable[[int], bytes]  # gives at most so many bytes, and none at the end


@contextmanager
def open_unpacked(path: Path, start: int = 0) -> Iterator[tuple[Read, Callable[[], int]]]:
    """What reads a file, unpacked if its name ends in `.gz` or `.xz`, and what tells how many of its bytes were read.

    Several packed files one after another are one text. Raises ValueError that names the file where it is damaged, cut
    short, or followed by something else.

    start: bytes to leave out of a file that is not packed
    """
    try:
        with path.open("rb") as stored:
            if path.suffix in PACKED and not stored.peek(1):
                raise EOFError("it is empty")
            if path.suffix == ".gz":
                with gzip.open(stored) as file:
                    yield file.read, stored.tell
            elif path.suffix == ".xz":
                pieces = _unpacked_xz(stored)
                yield lambda size: next(pieces, b""), stored.tell
            else:
                stored.seek(start)
                yield stored.read, stored.tell
    except (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise ValueError(
            f"{path}: cannot be unpacked to its end ({error}); the file is truncated or damaged, "
            "get it again, or rename it if it is not compressed"
        ) from error


def pack(path: Path) -> None:
    """Put `name.xz` in the place of a file, if that is smaller, and no larger to unpack than our own files may be."""
    data = path.read_bytes()
    packed = lzma.compress(data, preset=9)
    if len(data) <= MAX_OWN and len(packed) < len(data):
        path.with_name(f"{path.name}.xz").write_bytes(packed)
        path.unlink()


def _unpacked_xz(stored: BinaryIO) -> Iterator[bytes]:
    """The text of all streams of a file. Python's own reader would leave out, silently, what follows the first few."""
    data = stored.read(READ_BYTES)
    while data:
        stream = lzma.LZMADecompressor(memlimit=MAX_DICTIONARY)
        while not stream.eof:
            if stream.needs_input and not data:
                raise EOFError("it ends before its text does")
            piece = stream.decompress(data, READ_BYTES)
            data = stored.read(READ_BYTES) if stream.needs_input and not stream.eof else b""
            if piece:
                yield piece
        data = _without_padding(stream.unused_data, stored)


def _without_padding(data: bytes, stored: BinaryIO) -> bytes:
    """What follows the zeros that may stand between streams and after them."""
    while not (data := data.lstrip(b"\0")):
        data = stored.read(READ_BYTES)
        if not data:
            break
    return data

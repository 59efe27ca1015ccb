"""Lines of text as they come: what is no text is told apart, and nothing waits for more than is there."""

from __future__ import annotations

import os
import re
import select
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from trellex.text.files import open_binary, unpacking

STDIN = 0  # its file descriptor
FIRST_CHUNK, CHUNK = 64, 2048  # lines: few, for an early first answer; then enough to sort by length
MAX_BYTES = 1 << 20  # of a line
READ_BYTES = 1 << 16
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f]")  # all but the tab


class Line(NamedTuple):
    """A line of input.

    Attributes:
        text: without its end; empty if there is a problem
        place: where it stands, for messages
        problem: why it cannot be read, or None
    """

    text: str
    place: str
    problem: str | None = None


def read_chunks(paths: Sequence[Path], eager: bool = True) -> Iterator[list[Line]]:
    """The lines of files in turn, `.gz` and `.xz` unpacked, or of stdin if there are none, some at a time.

    If eager, a chunk of a pipe or a terminal is what is there already, so that nobody waits for an answer.
    """
    if not paths:
        splitter = Splitter(lambda size: os.read(STDIN, size))
        yield from _chunks(splitter.lines("line"), lambda: not eager or splitter.has_line() or _is_readable(STDIN))
        return
    yield from _chunks((line for path in paths for line in _lines_of(path)), lambda: True)


class Splitter:
    """Cuts what a function reads into lines. Only "\\n" ends a line.

    Args:
        read: gives at most so many bytes, and none at the end
    """

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._lines: deque[bytes] = deque()
        self._rest = bytearray()

    def has_line(self) -> bool:
        """Whether a line is there without reading on."""
        return bool(self._lines)

    def lines(self, place: str) -> Iterator[Line]:
        """All lines, each with the place and its number."""
        number = 0
        while self._lines or self._read_on():
            number += 1
            yield _checked(self._lines.popleft(), f"{place} {number}", number == 1)

    def _read_on(self) -> bool:
        """Read at least one line, unless there is none. Of a line beyond all measure only the beginning is kept."""
        while not self._lines:
            data = self._read(READ_BYTES)
            if not data:
                if self._rest:
                    self._lines.append(bytes(self._rest))
                    self._rest.clear()
                break
            *whole, last = data.split(b"\n")
            if whole:
                self._lines.append(bytes(self._rest) + whole[0])
                self._lines.extend(whole[1:])
                self._rest.clear()
            self._rest += last
            del self._rest[MAX_BYTES + 1 :]
        return bool(self._lines)


def _chunks(lines: Iterator[Line], is_more: Callable[[], bool]) -> Iterator[list[Line]]:
    size = FIRST_CHUNK
    chunk: list[Line] = []
    for line in lines:
        chunk.append(line)
        if len(chunk) >= size or not is_more():
            yield chunk
            chunk, size = [], CHUNK
    if chunk:
        yield chunk


def _is_readable(descriptor: int) -> bool:
    """Whether reading would not block. Where that cannot be asked: yes."""
    try:
        return bool(select.select([descriptor], [], [], 0)[0])
    except (OSError, ValueError):
        return True


def _lines_of(path: Path) -> Iterator[Line]:
    with unpacking(path), open_binary(path) as file:
        yield from Splitter(file.read).lines(f"{path} line")


def _checked(line: bytes, place: str, is_first: bool) -> Line:
    """A "\\r" at the end and a byte order mark at the start of the first line are left out."""
    if len(line) > MAX_BYTES:
        return Line("", place, f"has more than {MAX_BYTES:,} bytes; split it into sentences")
    try:
        text = line.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        return Line("", place, f"not valid UTF-8 at byte {error.start + 1}; convert it, e.g. with `iconv -t UTF-8`")
    text = text.removeprefix("\ufeff") if is_first else text
    control = _CONTROL.search(text)
    if control:
        name = f"U+{ord(control[0]):04X}"
        return Line("", place, f"holds the control character {name} at character {control.start() + 1}; remove it")
    return Line(text, place)

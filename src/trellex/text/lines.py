"""Lines of text: read from files and pipes in bounded memory, and what is no text is told apart."""

from __future__ import annotations

import os
import re
import select
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from trellex.files import AnyPath
from trellex.packed import READ_BYTES, Read, open_unpacked

STDIN = 0  # its file descriptor
FIRST_CHUNK, CHUNK = 64, 2048  # lines: few, for an early first answer; then enough to sort by length
MAX_BYTES = 1 << 20  # of a line
OWN_MAX_BYTES = 32 * MAX_BYTES  # of a line in files of our own, where tokens may take more room than the text did
_CONTROL = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f]")  # all but the tab


@dataclass
class Amount:
    """How much was read: bytes as they lie in files, packed or not, and bytes of text."""

    stored: int = 0
    text: int = 0


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


def read_lines(path: AnyPath, max_bytes: int = MAX_BYTES) -> Iterator[str]:
    """The lines of a UTF-8 file, `.gz` and `.xz` unpacked on the way, few in memory at a time.

    Only "\\n" ends a line; a "\\r" before it and a byte order mark at the start of the file are left out. Raises
    ValueError that names file and line if that is no UTF-8 or longer than `max_bytes`.
    """
    for number, line in enumerate(_raw_lines(Path(path), max_bytes), start=1):
        try:
            text = _decoded(line, number, max_bytes)
        except ValueError as error:
            raise ValueError(f"{path} line {number}: {error}") from error
        yield text


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


def read_chunks(paths: Sequence[Path], eager: bool = True, amount: Amount | None = None) -> Iterator[list[Line]]:
    """The lines of files in turn, `.gz` and `.xz` unpacked, or of stdin if there are none, some at a time.

    If eager, a chunk of a pipe or a terminal is what is there already, so that nobody waits for an answer. What is read
    of files is added to an amount, if there is one; they must be regular files then.
    """
    if not paths:
        splitter = Splitter(_read_stdin)
        lines = checked(splitter.lines(), "line")
        yield from _chunks(lines, lambda: not eager or splitter.has_line() or _is_readable(STDIN))
        return
    raw_lines = ((path, _raw_lines(path, amount=amount)) for path in paths)
    yield from _chunks((line for path, raw in raw_lines for line in checked(raw, f"{path} line")), lambda: True)


def read_from(path: Path, first: int, skipped: int = 0, start: int = 0) -> Iterator[Line]:
    """The lines of a file from one on, number 0 being the first, with their places; `.gz` and `.xz` are unpacked.

    skipped, start: so many lines end before that byte of a file that is not packed, from which on it is read
    """
    lines = _raw_lines(path, start=start)
    return checked(islice(lines, first - skipped, None), f"{path} line", first)


class Splitter:
    """Cuts what a function reads into lines. Only "\\n" ends a line.

    Args:
        read: gives at most so many bytes, and none at the end
        max_bytes: a longer line is cut, somewhere behind that, as soon as it is known to be longer
    """

    def __init__(self, read: Read, max_bytes: int = MAX_BYTES) -> None:
        self._read = read
        self._max_bytes = max_bytes
        self._lines: deque[bytes] = deque()

    def has_line(self) -> bool:
        """Whether a line is there without reading on."""
        return bool(self._lines)

    def lines(self) -> Iterator[bytes]:
        """All lines, without their ends."""
        rest = bytearray()  # of a line whose end was not read yet
        is_cut = False  # that line was too long
        while data := self._read(READ_BYTES):
            if is_cut:
                _, end, data = data.partition(b"\n")
                is_cut = not end
            *whole, last = data.split(b"\n") if not is_cut else [b""]
            if whole:
                self._lines.append(bytes(rest) + whole[0])
                self._lines.extend(whole[1:])
                rest.clear()
            rest += last
            if len(rest) > self._max_bytes:
                self._lines.append(bytes(rest))
                rest.clear()
                is_cut = True
            while self._lines:
                yield self._lines.popleft()
        if rest:
            yield bytes(rest)


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


def _read_stdin(size: int) -> bytes:
    """At most so many bytes, and none at the end; it waits for some even on a pipe that was opened not to block."""
    while True:
        try:
            return os.read(STDIN, size)
        except BlockingIOError:
            select.select([STDIN], [], [])


def _is_readable(descriptor: int) -> bool:
    """Whether reading would not block. Where that cannot be asked: yes."""
    try:
        return bool(select.select([descriptor], [], [], 0)[0])
    except (OSError, ValueError):
        return True


def _raw_lines(path: Path, max_bytes: int = MAX_BYTES, amount: Amount | None = None, start: int = 0) -> Iterator[bytes]:
    """The lines of a file, unpacked if its name ends in `.gz` or `.xz`; or of its bytes from `start` on."""
    with open_unpacked(path, start) as (read, tell):
        yield from Splitter(read if amount is None else _counted(read, tell, amount), max_bytes).lines()


def _counted(read: Read, tell: Callable[[], int], amount: Amount) -> Read:
    """The same that adds to an amount; tell: how far the file was read."""
    before = amount.stored

    def read_and_count(size: int) -> bytes:
        data = read(size)
        amount.stored, amount.text = before + tell(), amount.text + len(data)
        return data

    return read_and_count


def checked(lines: Iterable[bytes], place: str, first: int = 0) -> Iterator[Line]:
    """Lines with their numbers; what cannot be read or has control characters is a problem.

    first: how many lines were before these
    """
    for number, line in enumerate(lines, start=first + 1):
        where = f"{place} {number}"
        try:
            text = _decoded(line, number, MAX_BYTES)
        except ValueError as error:
            yield Line("", where, str(error))
            continue
        control = _CONTROL.search(text)
        if control:
            name, place_in_line = f"U+{ord(control[0]):04X}", control.start() + 1
            yield Line("", where, f"holds the control character {name} at character {place_in_line}; remove it")
        else:
            yield Line(text, where)


def _decoded(line: bytes, number: int, max_bytes: int) -> str:
    """The text of a line, the first of which is number 1. Raises ValueError that tells why there is none."""
    if len(line) > max_bytes:
        raise ValueError(f"has more than {max_bytes:,} bytes; split it into sentences")
    try:
        text = line.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        problem = f"not valid UTF-8 at byte {error.start + 1} of the line; convert it, e.g. with `iconv -t UTF-8`"
        raise ValueError(problem) from error
    return text.removeprefix("\ufeff") if number == 1 else text

"""Standard streams that lose nothing: they wait for readers where others give up, and a closed one is an error."""

from __future__ import annotations

import io
import os
import select
import sys
from typing import Any, NoReturn

STDIN, STDOUT, STDERR = range(3)  # file descriptors


class PatientFile(io.FileIO):
    """A file that waits until there is room, even if it was opened not to, as some parents open pipes."""

    def write(self, data: Any) -> int:
        while (written := super().write(data)) is None:
            select.select([], [self], [])
        return written


class ClosedOutput(io.TextIOBase):
    """Where stdout is closed: what is written raises OSError."""

    def writable(self) -> bool:
        return False

    def write(self, text: str) -> NoReturn:
        raise OSError("stdout is closed: what it should say is lost; send it to a file or a pipe")


def take_streams() -> None:
    """Make `sys.stdout` and `sys.stderr` such streams, and let no other file take the place of one that is closed."""
    for descriptor, mode in ((STDIN, os.O_WRONLY), (STDOUT, os.O_RDONLY), (STDERR, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, mode)  # gets the lowest number that is free
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout is sys.__stdout__:  # else somebody redirected it
        sys.stdout = _patient(sys.stdout, STDOUT)
    if isinstance(sys.stderr, io.TextIOWrapper) and sys.stderr is sys.__stderr__:
        sys.stderr = _patient(sys.stderr, STDERR)


def _patient(stream: io.TextIOWrapper, descriptor: int) -> io.TextIOWrapper:
    """The same stream, written to by a `PatientFile`."""
    is_prompt = stream.line_buffering or stream.write_through
    file = io.BufferedWriter(PatientFile(descriptor, "w", closefd=False))
    return io.TextIOWrapper(file, stream.encoding, stream.errors, line_buffering=is_prompt)

"""An attempt: one input goes to one reader, which may refuse it, or take it, but nothing else."""

from __future__ import annotations

import faulthandler
import resource
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import trellex

HERE = Path(__file__).resolve().parent
SOURCE = Path(trellex.__file__).parent
REFUSALS = (ValueError, OSError)  # what readers may raise
SECONDS = 20  # for an input
MEMORY = 1 << 30  # bytes that a process may ever have
MORE_MEMORY = 1 << 27  # that an input may add where other tests have taken as much before
HARD_LIMIT = 3 << 30  # where the machine is protected

ACCEPTED, REFUSED = "accepted", "refused"


class ChangedError(AssertionError):
    """What was read is not what was written, and nobody said so. `place` tells where the damage was."""

    def __init__(self, place: str, message: str) -> None:
        super().__init__(message)
        self.place = place


class HangError(BaseException):
    """It takes too long. No `except Exception` holds it up."""


@dataclass(frozen=True)
class Finding:
    """What went wrong.

    Attributes:
        kind: the class of the error, or "memory", "crash"
        place: where in the source, or what was damaged; findings of one kind and place are one
        report: for people
    """

    kind: str
    place: str
    report: str


def attempt(read: Callable[[bytes], object], data: bytes) -> str | Finding:
    """ACCEPTED, REFUSED, or what went wrong."""
    before, outcome = peak_memory(), ACCEPTED
    try:
        with _alarm(SECONDS), _limit(HARD_LIMIT):
            read(data)
    except REFUSALS:
        outcome = REFUSED
    except (Exception, HangError) as error:
        report = "".join(traceback.format_exception(error, limit=-12))
        return Finding(type(error).__name__, getattr(error, "place", None) or _place(error), report)
    if peak_memory() > max(before + MORE_MEMORY, MEMORY):
        return Finding("memory", "", f"the process grew to {peak_memory() / 1e6:.0f} MB")
    return outcome


def peak_memory() -> int:
    """The most bytes that this process ever had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise HangError in time; what is deaf to that ends the process some time later."""

    def ring(*_: Any) -> None:
        raise HangError(f"no answer after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    faulthandler.dump_traceback_later(3 * seconds, exit=True, file=sys.__stderr__)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _limit(size: int) -> Iterator[None]:
    before, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (size, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, most))


def _place(error: BaseException) -> str:
    """The innermost function of Trellex, or the line of a test that failed."""
    frames = traceback.extract_tb(error.__traceback__)
    tests = [frame for frame in frames if Path(frame.filename).parent == HERE]
    if isinstance(error, AssertionError):
        return f"{Path(tests[-1].filename).name}:{tests[-1].lineno}"
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(SOURCE)] or tests
    return f"{Path(own[-1].filename).name}:{own[-1].name}"

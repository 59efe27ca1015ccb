"""Signals that end a program: which of them come, and who gets them for a while."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

ENDING = ("SIGINT", "SIGTERM", "SIGHUP")
POLITE = ("SIGINT", "SIGTERM")  # those that leave the terminal there

Handler = Callable[[int, FrameType | None], Any]


def heeded(*names: str) -> list[int]:
    """Those of these signals that this system has and nobody has ignored, as `nohup` does."""
    known = [getattr(signal, name) for name in names if hasattr(signal, name)]
    return [number for number in known if signal.getsignal(number) is not signal.SIG_IGN]


@contextmanager
def handled(handler: Handler, *names: str) -> Iterator[dict[int, Any]]:
    """Inside `with` a handler gets these signals, as far as they are heeded; gives the handlers before, by number."""
    before = {number: signal.signal(number, handler) for number in heeded(*names)}
    try:
        yield before
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)

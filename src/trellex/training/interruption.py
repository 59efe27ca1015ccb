"""Interruption: Ctrl-C and a polite kill, noted until the present step is done."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Self


class Interruption:
    """Inside `with` a first signal is noted, and a second one ends the program.

    Attributes:
        came: whether there was one
    """

    def __init__(self) -> None:
        self.came = False

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *error: type[BaseException] | BaseException | TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.came:
            raise KeyboardInterrupt
        self.came = True

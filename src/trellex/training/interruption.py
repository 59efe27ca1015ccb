"""Interruption: Ctrl-C and a polite kill, noted until the present step is done."""

from __future__ import annotations

from contextlib import ExitStack
from types import FrameType, TracebackType
from typing import Self

from trellex.signals import POLITE, handled


class Interruption:
    """Inside `with` a first signal is noted, and a second one does what it would do outside: it ends the program.

    Attributes:
        came: whether there was one
    """

    def __init__(self) -> None:
        self.came = False

    def __enter__(self) -> Self:
        self._handlers = ExitStack()
        self._before = self._handlers.enter_context(handled(self._note, *POLITE))
        return self

    def __exit__(self, *error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._handlers.close()

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.came:
            if callable(self._before[number]):
                self._before[number](number, frame)
            raise KeyboardInterrupt
        self.came = True

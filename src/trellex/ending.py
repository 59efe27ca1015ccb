"""The ending of a command by a signal, as Ctrl-C: it cleans up, and no library on the way can lose the signal."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack
from types import FrameType, TracebackType
from typing import Self

from trellex.signals import ENDING, handled

AGAIN = 2.0  # seconds after which a signal comes again, if it has not ended the block by then
TIMES = 3  # that it comes before the process just ends


class Signalled(KeyboardInterrupt):
    """A signal came. After a plain KeyboardInterrupt in `exec` Python would die of SIGINT, whatever the status."""


class Ending:
    """Inside `with` a signal raises an error at once, and at its end the exit status tells of the signal.

    Callbacks, such as those of imports, swallow errors, and some libraries turn them into others: hence it comes again.
    """

    def __init__(self) -> None:
        self.number: int | None = None  # of the signal that came
        self._times = 0

    def __enter__(self) -> Self:
        self._handlers = ExitStack()
        self._handlers.enter_context(handled(self._come_again, "SIGALRM"))
        self._handlers.enter_context(handled(self._come, *ENDING))
        self._tell_unraisable, sys.unraisablehook = sys.unraisablehook, self._unraisable
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._set_alarm(0)
        sys.unraisablehook = self._tell_unraisable
        self._handlers.close()
        if self.number is not None:
            raise SystemExit(128 + self.number) from error

    def _come(self, number: int, _: FrameType | None) -> None:
        self.number = number
        self._set_alarm(AGAIN)
        raise Signalled

    def _come_again(self, number: int, frame: FrameType | None) -> None:
        if self.number is None:
            return
        self._times += 1
        if self._times == TIMES:
            os._exit(128 + self.number)
        self._come(self.number, frame)

    def _unraisable(self, unraisable: sys.UnraisableHookArgs) -> None:
        """An error in a callback, which cannot end anything."""
        if self.number is None:
            self._tell_unraisable(unraisable)
        else:
            self._set_alarm(0.01)

    @staticmethod
    def _set_alarm(seconds: float) -> None:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, seconds)

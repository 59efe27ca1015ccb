"""The program `trellex`, also as `python -m trellex`: signals end it quietly from its first moment on."""

import atexit
import os
import signal
from types import FrameType

from trellex.signals import ENDING, heeded


def main() -> None:
    """Run the command line. While it is imported, and after it, there is nothing to clean up when a signal comes."""
    for number in heeded(*ENDING):
        signal.signal(number, _leave)
    atexit.register(_ignore_signals)  # the first to be registered is the last to be called
    from trellex.cli import app
    from trellex.terminal import run

    run(app)


def _leave(number: int, _: FrameType | None) -> None:
    os._exit(128 + number)


def _ignore_signals() -> None:
    """All is done but for what Python puts away, when it would let a signal change how this ended."""
    for number in heeded(*ENDING):
        signal.signal(number, signal.SIG_IGN)


if __name__ == "__main__":
    main()

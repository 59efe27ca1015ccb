"""The program `trellex`, also as `python -m trellex`: signals end it quietly from its first moment on."""

import os
import signal
from types import FrameType


def main() -> None:
    """Run the command line. While it is imported, and after it, there is nothing to clean up when a signal comes."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as after `nohup`
            signal.signal(number, _leave)
    from trellex.cli import app
    from trellex.terminal import run

    run(app)


def _leave(number: int, _: FrameType | None) -> None:
    os._exit(128 + number)


if __name__ == "__main__":
    main()

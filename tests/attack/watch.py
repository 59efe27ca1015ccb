"""A watch over one target: its child is started, looked after, and started anew whenever it is lost."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

from all_targets import TARGETS
from attempt import MEMORY, SECONDS, Finding
from child import TOO_LARGE, read_board
from findings import inputs, save

START = 60  # seconds until the first input, at most


class Watch:
    """A target and the child that attacks it.

    Args:
        name: of the target
        work: the workspace
        found: where findings go
        seed: of what is random
        seconds: for all children together
    """

    def __init__(self, name: str, work: Path, found: Path, seed: int, seconds: float) -> None:
        self.target, self.work, self.found, self.seed, self.seconds = TARGETS[name], work, found, seed, seconds
        self.is_guided = self.target.is_guided and importlib.util.find_spec("atheris") is not None
        self.tried = self.refused = self.accepted = self.peak = 0
        self.child: subprocess.Popen[bytes] | None = None
        self.begun: float | None = None
        self.spent = 0.0

    @property
    def findings(self) -> int:
        return len(inputs(self.found, self.target.name))

    @property
    def state(self) -> str:
        if self.begun is None:
            return "waits"
        return "runs" if self.child is not None else "done"

    def start(self) -> None:
        self.begun = self.begun or time.monotonic()
        self.board = self.work / f"{self.target.name}.board"
        self.board.unlink(missing_ok=True)
        self.counted, self.moved = (0, 0, 0), time.monotonic()
        left = self.seconds - (time.monotonic() - self.begun)
        places = (self.target.name, self.work, self.board, self.found)
        options = [*map(str, places), str(self.seed), str(left)]
        options += ["--guided"] * self.is_guided + ["--is-first"] * (self.tried == 0)
        self.seed += 1  # of the next, should this one be lost
        self.found.mkdir(parents=True, exist_ok=True)
        with (self.found / f"{self.target.name}.log").open("ab") as log:
            self.child = subprocess.Popen(
                [sys.executable, str(Path(__file__).with_name("child.py")), *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def look(self) -> None:
        """See how far the child is; end it if it hangs or grows, and start another if it is lost before its time."""
        assert self.child is not None
        assert self.begun is not None
        *counts, peak, data = read_board(self.board)
        if tuple(counts) != self.counted:
            for name, now, before in zip(("tried", "refused", "accepted"), counts, self.counted, strict=True):
                setattr(self, name, getattr(self, name) + now - before)
            self.counted, self.moved = tuple(counts), time.monotonic()
        status, resident = self.child.poll(), _resident(self.child.pid)
        self.peak = max(self.peak, peak, resident)
        idle = time.monotonic() - self.moved
        self.spent = time.monotonic() - self.begun
        if status is None and idle > (2 * SECONDS if counts[0] else START):
            self._lose(data, "hang", f"no answer after {idle:.0f} seconds, and deaf to signals")
        elif status is None and resident > MEMORY:
            self._lose(data, "memory", f"grew beyond {MEMORY / 1e6:.0f} MB")
        elif status not in (None, 0, TOO_LARGE):
            self._lose(data, "crash", f"the process ended with status {status}; see the log")
        if self.child.poll() is not None:
            self.child = None
            if self.spent < self.seconds - 5 and status != 0:
                self.start()

    def _lose(self, data: bytes, kind: str, report: str) -> None:
        save(self.found, self.target, data, Finding(kind, self.target.place(data) if data else "", report))
        self.stop()

    def stop(self) -> None:
        if self.child is not None:
            self.child.kill()
            self.child.wait()


def _resident(process: int) -> int:
    """Bytes that a process has in memory now."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except OSError:  # it has ended
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")

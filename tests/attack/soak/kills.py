"""How a command is killed: after some time, or right before one of its changes to the file system."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT
CHANGES = {"os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.truncate", "os.chmod", "ctypes.call_function"}
NEVER = sys.maxsize  # a change that does not come: they are counted, and the number is printed
LONGEST = 120.0  # seconds that any command may take: beyond that it hangs


@dataclass(frozen=True)
class Moment:
    """When a command is killed, and how.

    Attributes:
        seconds: after its start; None: never
        change: before this change to the file system, the first is 1; None: whenever the time has come
        signal: what it gets
        whole: whether it is a new Python, whose start counts, too, or forked from one that has imported everything
    """

    seconds: float | None = None
    change: int | None = None
    signal: signal.Signals = signal.SIGKILL
    whole: bool = False

    @property
    def kind(self) -> str:
        if self.seconds is None and self.change is None:
            return "none"
        return "at a change" if self.change else "while starting" if self.whole else "at any time"


@dataclass
class Ending:
    """How a command ended.

    Attributes:
        status: as subprocess has it: 0 is well, −9 is killed
        output: all that it wrote
        seconds: how long it took
    """

    status: int
    output: str
    seconds: float

    @property
    def was_killed(self) -> bool:
        return self.status < 0 or self.status in (130, 143)


@dataclass
class Attempt:
    """A command on its way, in a process of its own, whose output goes to a file."""

    arguments: Sequence[str]
    moment: Moment
    log: Path
    pid: int = field(init=False)
    _began: float = field(init=False)
    _process: subprocess.Popen[bytes] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._began = time.monotonic()
        if self.moment.whole:
            with self.log.open("wb") as log:
                command = [sys.executable, "-m", "trellex", *self.arguments]
                self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
            self.pid = self._process.pid
            return
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _become(self.arguments, self.moment, self.log)

    def end(self) -> Ending:
        """Wait for the moment and the end. Raises TimeoutError if there is none."""
        if self.moment.seconds is not None and not self._wait(self._began + self.moment.seconds):
            os.kill(self.pid, self.moment.signal)
        if not self._wait(time.monotonic() + LONGEST):
            os.kill(self.pid, signal.SIGKILL)
            self._wait(time.monotonic() + LONGEST)
            raise TimeoutError(f"{' '.join(self.arguments)}: hangs; its output was {self._output()}")
        return Ending(self._status, self._output(), time.monotonic() - self._began)

    def _wait(self, until: float) -> bool:
        """Whether it ends before that time."""
        while True:
            if self._process is not None:
                if (status := self._process.poll()) is not None:
                    self._status = status
                    return True
            else:
                pid, code = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self._status = os.waitstatus_to_exitcode(code)
                    self._wait = lambda until: True  # type: ignore[method-assign]
                    return True
            if time.monotonic() >= until:
                return False
            time.sleep(min(0.001, max(0.0, until - time.monotonic())))

    def _output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")


def _become(arguments: Sequence[str], moment: Moment, log: Path) -> None:
    """Be that command from now on, in a forked process. Does not return."""
    status = 1
    try:
        os.setsid()
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        from trellex.cli import app

        watch = Watch(moment.change)
        if moment.change is not None:
            sys.addaudithook(watch)
        try:
            app(list(arguments), prog_name="trellex")
        except SystemExit as error:
            status = int(error.code or 0)
        if moment.change == NEVER:
            print("changes:", watch.seen)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


class Watch:
    """Counts the changes that a process makes to the file system, and kills it right before one of them."""

    def __init__(self, last: int | None) -> None:
        self.last, self.seen = last, 0

    def __call__(self, event: str, details: tuple[Any, ...]) -> None:
        if event in CHANGES or (event == "open" and details[2] & WRITING):
            self.seen += 1
            if self.seen == self.last:
                os.kill(os.getpid(), signal.SIGKILL)


def choose_moment(random: random.Random, seconds: float, changes: int) -> Moment:
    """Any moment of a command that takes so long and changes the file system so often, most of them early."""
    kind = random.random()
    if kind < 0.5:
        return Moment(change=1 + int(changes * random.random() ** 2))
    if kind < 0.9:
        return Moment(seconds=seconds * random.random())
    polite = random.choice([signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
    return Moment(seconds=(3 + seconds) * random.random(), signal=polite, whole=True)

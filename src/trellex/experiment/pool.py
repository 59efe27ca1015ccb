"""The pool: processes that train, score and time cells, several at a time."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Literal

from trellex.experiment.display import GridDisplay
from trellex.experiment.status import JobStatus, State
from trellex.experiment.threads import environment
from trellex.signals import ENDING, handled

Phase = Literal["train", "score", "time"]
STATES: dict[Phase, State] = {"train": "training", "score": "scoring", "time": "timing"}
POLL_SECONDS = 0.1


@dataclass
class _Running:
    statuses: Sequence[JobStatus]
    process: subprocess.Popen[bytes]
    phases: Sequence[Phase]  # that come after this one


class Pool:
    """Runs jobs, each phase in a process of its own, whose output goes to the log of the (first) run.

    The processes are out of reach of the terminal's Ctrl-C, which is passed on to them once, so that they save and end;
    and they end by themselves when this one is gone, since then their standard input ends.

    Args:
        display: notified of every change
        lock: a file descriptor that all processes inherit, where there are locks
    """

    def __init__(self, display: GridDisplay, lock: int | None) -> None:
        self.display, self.was_stopped = display, False
        self._lock = lock
        self._running: list[_Running] = []
        self._signal: int | None = None

    def run(self, groups: Sequence[Sequence[JobStatus]], phases: Sequence[Phase], at_once: int) -> None:
        """All phases of all groups, `at_once` side by side, until they are through or a signal stops them.

        The statuses of a group share a process.
        """
        waiting = deque(groups)
        with handled(self._note, *ENDING):
            try:
                while self._running or (waiting and not self.was_stopped):
                    while waiting and len(self._running) < at_once and not self.was_stopped:
                        self._start(waiting.popleft(), phases)
                    self._pass_signal_on()
                    self._collect()
                    self.display.refresh()
                    time.sleep(POLL_SECONDS)
            finally:
                for each in self._running:  # only if something unforeseen ends the loop
                    each.process.terminate()

    def _start(self, statuses: Sequence[JobStatus], phases: Sequence[Phase]) -> None:
        phase, *others = phases
        paths = [str(status.job.save()) for status in statuses]
        self._change(statuses, STATES[phase])
        with statuses[0].job.log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "trellex.experiment", phase, *paths],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=None if phase == "time" else environment(statuses[0].job),  # what is timed has all cores
                start_new_session=True,
                pass_fds=[] if self._lock is None else [self._lock],
            )
        self._running.append(_Running(statuses, process, others))

    def _collect(self) -> None:
        """Take in processes that have ended, and let their next phase begin."""
        for each in [each for each in self._running if each.process.poll() is not None]:
            self._running.remove(each)
            if each.process.stdin:
                each.process.stdin.close()
            code = each.process.returncode
            if code == 0 and not each.phases:
                self._change(each.statuses, "done")
            elif self.was_stopped:
                self._change(each.statuses, "stopped")
            elif code == 0:
                self._start(each.statuses, each.phases)
            else:
                log = each.statuses[0].job.log
                self._change(each.statuses, "failed", f"{_ending(code)}: {_last_line(log)} ({log})")

    def _change(self, statuses: Sequence[JobStatus], state: State, problem: str = "") -> None:
        for status in statuses:
            status.enter(state, problem)
            self.display.changed(status)

    def _pass_signal_on(self) -> None:
        if self._signal is not None:
            number, self._signal = self._signal, None
            self.was_stopped = True
            for each in self._running:
                each.process.send_signal(number)

    def _note(self, number: int, frame: FrameType | None) -> None:
        """The loop passes signals on, so that no process that is just being started misses them."""
        self._signal = signal.SIGINT if number == signal.SIGINT else signal.SIGTERM


def _ending(code: int) -> str:
    return f"ended with status {code}" if code > 0 else f"ended by {signal.Signals(-code).name}"


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "nothing in its log")

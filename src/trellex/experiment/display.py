"""What an experiment shows, a live table on a terminal and plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from trellex.evaluation.curve import best_evaluation
from trellex.experiment.status import JobStatus
from trellex.training.metrics import Metrics

REFRESH_SECONDS = 1.0  # between readings of the metrics, on a terminal
LINE_SECONDS = 30.0  # between lines about a cell, elsewhere
AT_WORK = ("training", "scoring", "timing")
STYLES = {"training": "cyan", "scoring": "cyan", "timing": "cyan", "done": "green", "failed": "bold red"}


class _Begun(NamedTuple):
    """When a cell entered its state, and at which step of training."""

    time: float
    step: int


class GridDisplay:
    """Shows how far the jobs of a grid are, in its order.

    clock: the time in seconds
    """

    def __init__(
        self, statuses: Sequence[JobStatus], console: Console, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.statuses, self.console, self._clock = statuses, console, clock
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self._refreshed = clock()
        self._begun: dict[str, _Begun] = {}  # of those at work, by name

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live:
            self._live.stop()

    def changed(self, status: JobStatus) -> None:
        """A job is in another state."""
        if status.state in AT_WORK:
            self._begun[status.job.name] = _Begun(self._clock(), Metrics.read(status.job.run).step)
        else:
            self._begun.pop(status.job.name, None)
        if self._live:
            self.refresh(at_once=True)
        elif status.state != "scoring":
            self._print(_line(status))

    def refresh(self, at_once: bool = False) -> None:
        """Read the metrics anew, now and then."""
        if not at_once and self._clock() - self._refreshed < (REFRESH_SECONDS if self._live else LINE_SECONDS):
            return
        self._refreshed = self._clock()
        if self._live:
            self._live.update(table(self.statuses), refresh=True)
            return
        at_work = [status for status in self.statuses if status.job.name in self._begun]
        for status in at_work:
            if status.state != "timing":
                self._print(self._progress(status))
        if timed := [status for status in at_work if status.state == "timing"]:
            who = timed[0].job.name if len(timed) == 1 else f"{len(timed)} cells"
            self._print(f"{who}: timing for {duration(self._seconds(timed[0]))}")

    def _print(self, line: str) -> None:
        self.console.print(escape(line), highlight=False, soft_wrap=True)

    def _seconds(self, status: JobStatus) -> float:
        """Since a cell that is at work entered its state."""
        return self._clock() - self._begun[status.job.name].time

    def _progress(self, status: JobStatus) -> str:
        """How far a cell is that is trained or scored."""
        if status.state == "scoring":
            return f"{status.job.name}: scoring for {duration(self._seconds(status))}"
        metrics, max_steps = Metrics.read(status.job.run), status.job.recipe.training.max_steps
        parts = [f"{status.job.name}: step {metrics.step:,} of {max_steps:,}"]
        if metrics.losses:
            parts += [f"loss {metrics.losses[-1].loss:.3f}", f"{metrics.tokens_per_second:,.0f} tokens/s"]
        if metrics.evaluations:
            parts.append(f"dev BLEU {best_evaluation(metrics.evaluations).dev:.2f}")
        if (done := metrics.step - self._begun[status.job.name].step) > 0:
            left = self._seconds(status) / done * (max_steps - metrics.step)
            parts.append(f"about {duration(left)} left")
        return ", ".join(parts)


def duration(seconds: float) -> str:
    """In a unit that suits it, such as 40 s or 3 min."""
    for size, unit in ((3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def table(statuses: Sequence[JobStatus]) -> Table:
    """How far all of them are. What test BLEU is stands above it, or beside each if they differ."""
    rows = [status.row() for status in statuses]
    kinds = sorted({row["test BLEU is"] for row in rows} - {None})
    test_heading = f"test BLEU, {kinds[0]}" if len(kinds) == 1 else "test BLEU"
    shown = Table("cell", "state", box=None)
    shown.columns[0].overflow = "fold"
    for heading in ("step", "dev BLEU", test_heading, "tokens/s"):
        shown.add_column(heading, justify="right")
    for row in rows:
        step = f"{row['step']:,}" if row["step"] else ""
        dev = "" if row["dev BLEU"] is None else f"{row['dev BLEU']:.2f}"
        test = "" if row["test BLEU"] is None else _test_bleu(row, tells=len(kinds) > 1)
        speed = "" if row["tokens/s"] is None else f"{row['tokens/s']:,.0f}"
        shown.add_row(escape(row["cell"]), row["state"], step, dev, test, speed, style=STYLES.get(row["state"]))
    return shown


def _line(status: JobStatus) -> str:
    row = status.row()
    line = f"{row['cell']}: {status.state}"
    if status.state == "done":
        line += f": dev BLEU {row['dev BLEU']:.2f}, test BLEU {_test_bleu(row)}"
    return f"{line}: {status.problem}" if status.problem else line


def _test_bleu(row: Mapping[str, Any], tells: bool = True) -> str:
    """tells: whether what it is stands behind it"""
    return f"{row['test BLEU']:.2f}" + (f" ({row['test BLEU is']})" if tells else "")

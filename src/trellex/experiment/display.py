"""What an experiment shows, a live table on a terminal and plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.table import Table

from trellex.experiment.status import JobStatus

REFRESH_SECONDS = 1.0  # between readings of the metrics
STYLES = {"training": "cyan", "scoring": "cyan", "timing": "cyan", "done": "green", "failed": "bold red"}


class GridDisplay:
    """Shows how far the jobs of a grid are, in its order."""

    def __init__(self, statuses: Sequence[JobStatus], console: Console) -> None:
        self.statuses, self.console = statuses, console
        self._live = Live(console=console, auto_refresh=False, transient=True) if console.is_terminal else None
        self._refreshed = 0.0

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._live:
            self._live.stop()

    def changed(self, status: JobStatus) -> None:
        """A job is in another state."""
        if self._live:
            self.refresh(at_once=True)
        elif status.state != "scoring":
            self.console.print(_line(status), highlight=False, soft_wrap=True)

    def refresh(self, at_once: bool = False) -> None:
        """Read the metrics anew, now and then."""
        if self._live and (at_once or time.monotonic() - self._refreshed > REFRESH_SECONDS):
            self._live.update(table(self.statuses), refresh=True)
            self._refreshed = time.monotonic()


def table(statuses: Sequence[JobStatus]) -> Table:
    """How far all of them are; test BLEU is the mean of 5 evaluations around the best."""
    shown = Table("cell", "state", box=None)
    shown.columns[0].overflow = "fold"
    for heading in ("step", "dev BLEU", "test BLEU", "tokens/s"):
        shown.add_column(heading, justify="right")
    for status in statuses:
        row = status.row()
        step = f"{row['step']:,}" if row["step"] else ""
        bleus = ["" if row[key] is None else f"{row[key]:.2f}" for key in ("dev BLEU", "test BLEU")]
        speed = "" if row["tokens/s"] is None else f"{row['tokens/s']:,.0f}"
        shown.add_row(escape(row["cell"]), status.state, step, *bleus, speed, style=STYLES.get(status.state))
    return shown


def _line(status: JobStatus) -> str:
    row = status.row()
    line = f"{row['cell']}: {status.state}"
    if status.state == "done":
        line += f": dev BLEU {row['dev BLEU']:.2f}, test BLEU {row['test BLEU']:.2f}"
    return escape(f"{line}: {status.problem}" if status.problem else line)

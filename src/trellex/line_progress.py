"""How far a command has come that goes through the lines of files: a bar on a terminal."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from trellex.text.lines import Amount, Line


class LineProgress:
    """Lines, lines a second and, of files whose size is known, a bar and the time that is left.

    Args:
        console: to show it on
        files: that are read; none is stdin, whose end nobody knows
        is_shown: whether to show it at all
        total_lines: how many there are, where that is known; files need none then

    Attributes:
        amount: what `read_chunks` is to count in, or None
    """

    def __init__(self, console: Console, files: Sequence[Path], is_shown: bool, total_lines: int | None = None) -> None:
        is_measured = bool(files) and all(path.is_file() for path in files)
        self.is_by_lines = total_lines is not None
        self.amount = Amount() if is_measured and is_shown else None
        self.total = sum(path.stat().st_size for path in files) if is_measured else total_lines
        lines = TextColumn("{task.fields[lines]:,} lines, {task.fields[speed]:,.0f} lines/s,")
        columns: tuple[ProgressColumn, ...] = lines, TimeElapsedColumn()
        if self.total is not None:
            columns = BarColumn(), TaskProgressColumn(), lines, TimeRemainingColumn(), TextColumn("left")
        self.progress = Progress(*columns, console=console, disable=not is_shown, speed_estimate_period=3600)
        self.task = self.progress.add_task("", total=self.total, lines=0, speed=0)
        self.lines, self.text, self.began = 0, 0, time.perf_counter()

    def __enter__(self) -> Self:
        self.progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.progress.stop()

    def add(self, lines: Sequence[Line]) -> None:
        """Show that these are done, too."""
        self.text += sum(len(line.text.encode()) + 1 for line in lines)
        self.add_count(len(lines))

    def add_count(self, lines: int) -> None:
        """Show that so many more are done, which need not be counted in bytes."""
        self.lines += lines
        speed = self.lines / (time.perf_counter() - self.began)
        self.progress.update(self.task, completed=self._completed(), lines=self.lines, speed=speed)

    def _completed(self) -> float | None:
        """Lines, or bytes of files: of those read, as large a part as of their text is done.

        Reading is some lines ahead.
        """
        if self.is_by_lines:
            return self.lines
        if self.amount is None:
            return None
        return self.amount.stored * min(1, self.text / max(1, self.amount.text))

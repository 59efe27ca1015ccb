"""What a training run shows: a live table on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table

from trellex.evaluation.curve import Evaluation

SHOWN = 8  # evaluations in the live table


class Display:
    """Shows progress on stderr.

    Args:
        title: what is being trained
        quiet: show nothing at all
    """

    def __init__(self, title: str, quiet: bool = False) -> None:
        self.title, self.quiet = title, quiet
        self.console = Console(file=sys.stderr)
        self.is_live = self.console.is_terminal and not quiet
        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self.console,
        )
        self.task = self.progress.add_task(title)
        self.live = Live(console=self.console, refresh_per_second=4)
        self.evaluations: list[Evaluation] = []
        self.values: dict[str, Any] = {}

    def __enter__(self) -> Self:
        if self.is_live:
            self.live.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._show()
        if self.is_live:
            self.live.stop()

    def tell(self, what: str) -> None:
        """What is done before training begins."""
        if not self.quiet:
            self.console.print(f"{self.title}: {what}")

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Meanwhile the bar of a terminal tells what keeps it from going on."""
        self.progress.update(self.task, description=f"{self.title}: {what}")
        self._show()
        try:
            yield
        finally:
            self.progress.update(self.task, description=self.title)

    def start(self, step: int, max_steps: int, evaluations: Sequence[Evaluation]) -> None:
        self.max_steps, self.first_step, self.started = max_steps, step, time.perf_counter()
        self.evaluations = list(evaluations)
        self.progress.update(self.task, completed=step, total=max_steps)
        self._show()
        if step:
            self.tell(f"going on from step {step:,}")

    def update(self, step: int, values: Mapping[str, Any]) -> None:
        """Take in what was reported at a step."""
        self.values.update(values)
        if "dev_bleu" in values:
            self.evaluations.append(Evaluation(step, values["dev_bleu"], values["test_bleu"]))
        self.progress.update(self.task, completed=step)
        self._show()
        if self.is_live:
            return
        if not self.quiet and ("dev_bleu" in values or step % 500 == 0):
            self.console.print(self._line(step, values), highlight=False)

    def end(self, step: int) -> None:
        """The last step is taken."""
        self.progress.update(self.task, completed=step)

    def _show(self) -> None:
        if self.is_live:
            self.live.update(self._screen())

    def _line(self, step: int, values: Mapping[str, Any]) -> str:
        if "dev_bleu" in values:
            test = "" if values["test_bleu"] is None else f", test BLEU {values['test_bleu']:.2f}"
            return f"{self.title}: step {step:,}: dev BLEU {values['dev_bleu']:.2f}{test}"
        left = (time.perf_counter() - self.started) / max(1, step - self.first_step) * (self.max_steps - step)
        return (
            f"{self.title}: step {step:,} of {self.max_steps:,}: loss {values['loss']:.3f}, "
            f"{values['tokens_per_second']:,.0f} tokens/s, {left / 60:.0f} min left"
        )

    def _screen(self) -> Group:
        numbers = Table(box=None)
        for heading in ("loss", "tokens/s", "step", "dev BLEU", "test BLEU"):
            numbers.add_column(heading, justify="right")
        best = max((evaluation.dev for evaluation in self.evaluations), default=None)
        if "loss" in self.values:
            numbers.add_row(f"{self.values['loss']:.3f}", f"{self.values['tokens_per_second']:,.0f}")
        for evaluation in self.evaluations[-SHOWN:]:
            style = "bold green" if evaluation.dev == best else ""
            test = "" if evaluation.test is None else f"{evaluation.test:.2f}"
            numbers.add_row("", "", f"{evaluation.step:,}", f"{evaluation.dev:.2f}", test, style=style)
        return Group(self.progress, numbers)

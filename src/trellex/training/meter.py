"""The meter: what training did since its last report."""

from __future__ import annotations

import time
from typing import NamedTuple

import torch
from torch import Tensor

from trellex.training.processes import Processes


class Totals(NamedTuple):
    """Of all steps since the last report.

    Attributes:
        loss: the sum over tokens, of all processes
        tokens: of the target, EOS included, of all processes
        seconds: of training, in which words may exchange their numbers
    """

    loss: float = 0.0
    tokens: int = 0
    seconds: float = 0.0


class Meter:
    """Adds up loss, tokens and time. Checkpoints hold the totals, so a run in pieces reports what a whole one does."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self.restart()

    def restart(self, totals: Totals | None = None) -> None:
        """Begin at nothing, or at the totals of a checkpoint."""
        totals = totals or Totals()
        self._loss = torch.tensor(totals.loss if self._processes.is_first else 0.0, device=self._processes.device)
        self._tokens, self._seconds = totals.tokens, totals.seconds
        self.go_on()

    def go_on(self) -> None:
        """Let time count from now on, after something that is no training."""
        self._since = time.perf_counter()

    def add(self, loss: Tensor, tokens: int) -> None:
        """A step: the summed loss of this process, the tokens of all."""
        self._loss = self._loss + loss
        self._tokens += tokens

    def totals(self) -> Totals:
        """The totals so far; waits for the device, and is called in all processes."""
        loss = float(self._processes.total(self._loss.clone()))
        now = time.perf_counter()
        self._seconds += now - self._since
        self._since = now
        return Totals(loss, self._tokens, self._seconds)

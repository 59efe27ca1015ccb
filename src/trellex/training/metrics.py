"""The metrics of a run, as training reported them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from trellex.evaluation.curve import Evaluation, Loss

WARM_UP = 3  # reports whose speed does not count


class Metrics:
    """What the lines of metrics.jsonl tell together.

    Args:
        lines: losses and evaluations, in the order of steps
    """

    def __init__(self, lines: Sequence[Mapping[str, Any]]) -> None:
        self._reports = [line for line in lines if "loss" in line]
        self._evaluations = [line for line in lines if "dev_bleu" in line]

    @classmethod
    def read(cls, run: Path) -> Metrics:
        """Those of a run, which may be going on; none if it has reported nothing yet."""
        try:
            text = (run / "metrics.jsonl").read_text(encoding="utf-8")
        except FileNotFoundError:
            return cls([])
        whole = text[: text.rfind("\n") + 1]  # the last line may be half written
        return cls([json.loads(line) for line in whole.splitlines()])

    @property
    def step(self) -> int:
        """The last that was reported."""
        return max((line["step"] for line in (*self._reports[-1:], *self._evaluations[-1:])), default=0)

    @property
    def evaluations(self) -> list[Evaluation]:
        return [Evaluation(line["step"], line["dev_bleu"], line["test_bleu"]) for line in self._evaluations]

    @property
    def losses(self) -> list[Loss]:
        return [Loss(line["step"], line["loss"]) for line in self._reports]

    @property
    def tokens(self) -> int:
        return sum(line["tokens"] for line in self._reports)

    @property
    def seconds(self) -> float:
        """Of training steps alone."""
        return sum(line["seconds"] for line in self._reports)

    @property
    def tokens_per_second(self) -> float | None:
        """The median over all reports but the first few; None before the first."""
        speeds = [line["tokens_per_second"] for line in self._reports]
        return median(speeds[WARM_UP:] or speeds) if speeds else None

    @property
    def peak_memory(self) -> int | None:
        """Bytes of the GPU; None on the CPU."""
        return max((line["peak_memory"] for line in self._reports if line["peak_memory"] is not None), default=None)

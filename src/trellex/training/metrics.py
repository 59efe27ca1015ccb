"""The metrics of a run: a file of JSON lines, losses and evaluations in the order of steps."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

from pydantic import TypeAdapter

from trellex.evaluation.curve import Evaluation, Loss
from trellex.files import atomic_writer, check_no_other
from trellex.records import Record
from trellex.temporaries import make_folder
from trellex.training import checkpoint
from trellex.training.info import Count, Real, Signed, Step

FILE = "metrics.jsonl"  # in the folder of the run
WARM_UP = 3  # reports whose speed does not count


class _Report(Record, extra="ignore"):
    """A line every so many batches."""

    step: Step
    loss: Signed
    learning_rate: Real = 0.0
    tokens: Count
    seconds: Real
    tokens_per_second: Real
    peak_memory: Count | None


class _Evaluation(Record, extra="ignore"):
    """A line of an evaluation."""

    step: Step
    dev_bleu: Real
    test_bleu: Real | None
    averaged_test_bleu: Real | None = None


_LINE: TypeAdapter[_Report | _Evaluation] = TypeAdapter(_Report | _Evaluation)


def append_metrics(run: Path, step: int, values: Mapping[str, Any]) -> None:
    """Add a line to those of a run."""
    path = run / FILE
    check_no_other(path, "move that elsewhere")
    with checkpoint.writing(path):
        make_folder(run)
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"step": step, **values}) + "\n")


def drop_metrics(run: Path, after: int) -> None:
    """Remove the lines after a step, those that a crash has cut short, and what is none of ours."""
    path = run / FILE
    check_no_other(path, "move that elsewhere")
    if path.is_file():
        lines = _lines(run)
        with checkpoint.writing(path), atomic_writer(path) as file:
            file.writelines(json.dumps(line) + "\n" for line in lines if line["step"] <= after)


def _lines(run: Path) -> list[dict[str, Any]]:
    """All whole lines, none if there is no file. The last of a run that is going on may be half written."""
    path, found = run / FILE, []
    for text in path.read_bytes().split(b"\n") if path.is_file() else []:
        with suppress(ValueError):
            _LINE.validate_json(text)  # so that it is not too deep for `json`, either
            found.append(json.loads(text))
    return found


class Metrics:
    """What the lines tell together.

    Args:
        lines: in the order of steps
    """

    def __init__(self, lines: Sequence[Mapping[str, Any]]) -> None:
        self._reports = [line for line in lines if "loss" in line]
        self._evaluations = [line for line in lines if "dev_bleu" in line]

    @classmethod
    def read(cls, run: Path) -> Metrics:
        """Those of a run, which may be going on; none if it has reported nothing yet."""
        return cls(_lines(run))

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
        """Of training steps, and of exchanges of numbers."""
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

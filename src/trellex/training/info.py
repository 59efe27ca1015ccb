"""What a checkpoint tells of itself: the file checkpoint.json, checked when it is read."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from trellex.evaluation.curve import Evaluation
from trellex.records import Record, Sealed
from trellex.text.manifest import PrepareSettings
from trellex.training.recipe import Recipe

VERSION: Literal[2] = 2
MAX_STEP = 999_999_999  # whose folder has a name of nine digits

Step = Annotated[int, Field(strict=True, ge=0, le=MAX_STEP)]
Real = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Signed = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Count = Annotated[int, Field(strict=True, ge=0, lt=1 << 63)]
Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class SinceReport(Record, frozen=True):
    """What training did since its last report."""

    loss: Signed = 0.0
    tokens: Count = 0
    seconds: Real = 0.0


class Info(Sealed, frozen=True):
    """The file that makes a folder a checkpoint. Those of older versions lack what has a default."""

    version: Literal[2] = VERSION
    step: Step
    evaluations: list[tuple[Step, Real, Real | None]] = Field([])  # all so far: step, BLEU of dev and of test
    since_report: SinceReport = SinceReport()
    recipe: Recipe
    corpus: PrepareSettings
    averaged: list[Step] | None = Field(None, min_length=1)  # of an average: the steps whose mean it is
    bleu: dict[str, Real] = Field({})  # by split, of an average that was evaluated
    files: dict[str, Sha256] | None = None  # the checksum of every other file

    @model_validator(mode="after")
    def _is_in_order(self) -> Self:
        steps = [step for step, *_ in self.evaluations]
        if steps != sorted(set(steps)) or max(steps, default=0) > self.step:
            raise ValueError(f"evaluations: not in the order of steps up to {self.step}")
        for name in {"head", "model"} - self.recipe.model_fields_set:
            raise ValueError(f"recipe.{name}: missing")  # which has a default only where a training begins
        return self

    def curve(self) -> list[Evaluation]:
        """All evaluations so far."""
        return [Evaluation(*evaluation) for evaluation in self.evaluations]


class Version(Record, extra="ignore"):
    """What all versions have in common."""

    version: int = Field(strict=True)


class Mark(Record, extra="ignore"):
    """The file best.json of a run: which checkpoint is the best, and whether the average is better still."""

    step: Step
    average: bool = Field(False, strict=True)

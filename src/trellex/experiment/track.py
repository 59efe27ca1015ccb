"""A track: how far a job has come."""

from __future__ import annotations

from typing import Any, Literal

from trellex.evaluation.curve import best_evaluation
from trellex.evaluation.result import Result
from trellex.experiment.job import Job
from trellex.training.metrics import Metrics

State = Literal["waiting", "training", "scoring", "timing", "done", "failed", "stopped"]


class Track:
    """A job, its state and its result.

    Attributes:
        state: done if it has a result, waiting if not, before anything is begun
        problem: why it failed
        result: what its file held when the state last changed
    """

    state: State
    problem: str
    result: Result | None

    def __init__(self, job: Job) -> None:
        self.job = job
        self.look()

    def look(self) -> None:
        """See whether there is a result."""
        self.enter("waiting" if self.job.result() is None else "done")

    def enter(self, state: State, problem: str = "") -> None:
        self.state, self.problem, self.result = state, problem, self.job.result()

    def row(self) -> dict[str, Any]:
        """What tables show of it; None where nothing is known yet."""
        row: dict[str, Any] = {"cell": self.job.name, "state": self.state}
        if self.result is not None:
            training = self.result.training
            return row | {
                "step": training.steps,
                "dev BLEU": self.result.best.dev,
                "test BLEU": self.result.averaged_test_bleu,
                "tokens/s": training.tokens_per_second,
                "timed": self.result.timing is not None,
            }
        metrics = Metrics.read(self.job.run)
        return row | {
            "step": metrics.step,
            "dev BLEU": best_evaluation(metrics.evaluations).dev if metrics.evaluations else None,
            "test BLEU": None,
            "tokens/s": metrics.tokens_per_second,
            "timed": False,
        }

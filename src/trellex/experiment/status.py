"""How far a job has come."""

from __future__ import annotations

from typing import Any, Literal

from trellex.evaluation.curve import best_evaluation
from trellex.evaluation.result import Result
from trellex.experiment.job import Job
from trellex.training.metrics import Metrics

State = Literal["waiting", "training", "scoring", "timing", "done", "failed", "stopped"]


class JobStatus:
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
        self.refresh()

    def refresh(self) -> None:
        """See whether there is a result."""
        self.enter("done" if self.job.result_file.exists() else "waiting")

    def enter(self, state: State, problem: str = "") -> None:
        self.state, self.problem, self.result = state, problem, self.job.result()

    def row(self) -> dict[str, Any]:
        """What tables show of it; None where nothing is known yet."""
        keys = ("cell", "state", "step", "dev BLEU", "test BLEU", "test BLEU is", "tokens/s", "timed")
        figures: tuple[Any, ...]
        if self.result is None:
            metrics = Metrics.read(self.job.run)
            dev = best_evaluation(metrics.evaluations).dev if metrics.evaluations else None
            figures = metrics.step, dev, None, None, metrics.tokens_per_second, False
        else:
            training, is_timed = self.result.training, self.result.timing is not None
            bleus = self.result.best.dev, *self.result.test_bleu
            figures = training.steps, *bleus, training.tokens_per_second, is_timed
        return dict(zip(keys, (self.job.name, self.state, *figures), strict=True))

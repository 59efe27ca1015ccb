"""The curve of a training: losses and evaluations by step, and what counts of the evaluations in the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

AROUND = 2  # evaluations on either side of the best that the paper's figure averages
AVERAGED = 2 * AROUND + 1
ENOUGH = 2 * AVERAGED  # evaluations from which on those around the best of a rising curve lie in its second half


@dataclass(frozen=True)
class Loss:
    """The mean training loss of the steps up to this one."""

    step: int
    loss: float


@dataclass(frozen=True)
class Evaluation:
    """Token BLEU by greedy search after a number of steps; of test, where there is such a split."""

    step: int
    dev: float
    test: float | None


def best_evaluation(evaluations: Sequence[Evaluation]) -> Evaluation:
    """The first of the highest dev BLEU."""
    return max(evaluations, key=lambda evaluation: evaluation.dev)


def averaged_test_bleu(evaluations: Sequence[Evaluation]) -> float | None:
    """The paper's figure: test BLEU averaged over 5 consecutive evaluations around the one of the best dev BLEU.

    None without test scores, and of fewer than 10 evaluations: of a short training the 5 take in its beginning, and
    rather tell how fast a model learns than how good it becomes. There the best checkpoint's test BLEU counts.
    """
    if len(evaluations) < ENOUGH:
        return None
    best = evaluations.index(best_evaluation(evaluations))
    first = max(0, min(best - AROUND, len(evaluations) - AVERAGED))
    scores = [evaluation.test for evaluation in evaluations[first : first + AVERAGED]]
    return None if None in scores else float(np.mean(np.array(scores, np.float64)))

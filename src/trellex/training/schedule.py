"""The schedule: the learning rate of every step."""

from __future__ import annotations

import math
from collections.abc import Sequence

from trellex.evaluation.curve import Evaluation
from trellex.training.recipe import TrainingSettings


def learning_rate(settings: TrainingSettings, step: int, evaluations: Sequence[Evaluation]) -> float:
    """That of a step, the first being 1. evaluations: those before it, from which alone a plateau is known."""
    rate, warmup = settings.learning_rate, settings.warmup_steps
    if step < warmup:
        return rate * step / warmup
    if settings.schedule == "inverse_sqrt":
        return rate * math.sqrt(warmup / step)
    if settings.decay_patience:
        return rate * 0.5 ** plateaus(evaluations, settings.decay_patience)
    return rate * 0.5 ** (step // settings.decay_steps) if settings.decay_steps else rate


def plateaus(evaluations: Sequence[Evaluation], patience: int) -> int:
    """How many times so many evaluations on end brought no better dev BLEU than the best before them."""
    found, since, best = 0, 0, -math.inf
    for evaluation in evaluations:
        since = 0 if evaluation.dev > best else since + 1
        best = max(best, evaluation.dev)
        if since == patience:
            found, since = found + 1, 0
    return found

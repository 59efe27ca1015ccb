"""CPU threads: how many a process of an experiment may have, so that those side by side do not take each other's."""

from __future__ import annotations

import os

from trellex.experiment.job import Job
from trellex.experiment.machine import cpu_count
from trellex.training.processes import choose_device

VARIABLE = "OMP_NUM_THREADS"  # which PyTorch, and NumPy's libraries, heed when they are imported


def threads_of(job: Job) -> int | None:
    """The recipe's number, or a fair share of the cores; None: as many as PyTorch likes, for one that trains alone.

    A training on a GPU has those, too, since it hardly needs any.
    """
    settings = job.recipe.training
    if settings.threads is not None:
        return settings.threads
    if job.side_by_side == 1 or choose_device(settings.device) != "cpu":
        return None
    return max(1, cpu_count() // job.side_by_side)


def environment(job: Job) -> dict[str, str]:
    """The environment of a process that trains or scores. What the user has set stays."""
    threads = threads_of(job)
    return ({} if threads is None else {VARIABLE: str(threads)}) | os.environ

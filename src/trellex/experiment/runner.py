"""The runner: trains the cells of a grid that have no result yet, then times those that were not timed together."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console

from trellex.experiment.display import GridDisplay
from trellex.experiment.grid import Grid
from trellex.experiment.pool import Pool
from trellex.experiment.status import JobStatus
from trellex.locks import exclusive
from trellex.temporaries import make_folder
from trellex.text.manifest import Manifest
from trellex.training import checkpoint
from trellex.training.processes import training_device

ABSENT = "no GPU, so that nothing is missing"


class Runner:
    """An experiment on its way. All cells are checked before any is trained.

    Args:
        grid: what to train
        only: parts of names; cells whose name has none of them are left alone; none: all are taken
        at_once: trainings side by side, instead of the grid's number

    Attributes:
        statuses: how far the cells are, in the order of the grid
        was_stopped: whether a signal ended the work before its time
    """

    def __init__(self, grid: Grid, only: Sequence[str] = (), at_once: int | None = None) -> None:
        self.grid, self.was_stopped = grid, False
        jobs = grid.jobs()
        chosen = [job for job in jobs if not only or any(part in job.name for part in only)]
        if not chosen:
            names = ", ".join(job.name for job in jobs)
            raise ValueError(f"only: no cell's name has {' or '.join(map(repr, only))} in it; there are {names}")
        self.statuses = [JobStatus(job) for job in chosen]
        for status in self.statuses:
            if status.result is None:
                status.job.check_run()
        untrained = sum(status.state == "waiting" for status in self.statuses)
        self.at_once = min(at_once or grid.at_once, max(untrained, 1))
        for job in chosen:
            job.side_by_side = self.at_once

    def run(self, timing: bool, console: Console) -> None:
        """Train and score, then time if asked for; the console shows progress.

        Raises ValueError if a recipe asks for what the device of this machine has not, ImportError if a package is
        missing that cuts translations of a corpus into words.
        """
        recipes = [status.job.recipe for status in self.statuses if status.result is None]
        for recipe in recipes:
            training_device(recipe.training)
        for data in {recipe.data for recipe in recipes}:
            Manifest.load(data).settings.check_word_tokenizer()
        for folder in (self.grid.results, self.grid.runs):
            make_folder(folder)
        notice = f"another process works in {self.grid.runs}; waiting for it to end"
        alone = exclusive(self.grid.runs, lambda: console.print(notice))
        with alone as lock, GridDisplay(self.statuses, console) as display:
            pool = Pool(display, lock.descriptor)
            for status in self.statuses:
                status.refresh()  # another process may have gone on with them
            pool.run([[status] for status in self.statuses if status.result is None], ("train", "score"), self.at_once)
            if timing and not pool.was_stopped:
                pool.run(to_be_timed(self.statuses), ("time",), 1)
            self.was_stopped = pool.was_stopped

    @property
    def failed(self) -> list[JobStatus]:
        return [status for status in self.statuses if status.state == "failed"]


def to_be_timed(statuses: Sequence[JobStatus]) -> list[list[JobStatus]]:
    """Those of one corpus and direction, which will be compared, unless all have been timed in turns already.

    Words and pieces are among them. What was timed without something that the grid asks for is timed again.
    """
    groups: dict[tuple[str, str, str], list[JobStatus]] = {}
    for status in statuses:
        if status.result is not None and checkpoint.best_checkpoint(status.job.run) is not None:
            cell, device = status.job.cell, status.job.recipe.training.device
            groups.setdefault((cell.corpus, cell.direction, device), []).append(status)
    return [group for group in groups.values() if not _were_timed_in_turns(group)]


def _were_timed_in_turns(statuses: Sequence[JobStatus]) -> bool:
    begun = {_begun(status) for status in statuses}
    return len(begun) == 1 and None not in begun


def _begun(status: JobStatus) -> str | None:
    """When a cell was timed; None if not everything was."""
    timing = status.result.timing if status.result else None
    if timing is None:
        return None
    on_gpu = timing.gpu_sentence if timing.gpu else ABSENT
    found = {"gpu": on_gpu, "cpu": timing.cpu_sentence, "int8": timing.int8, "compact": timing.compact}
    if any(found[engine] is None for engine in status.job.timed):
        return None
    if status.job.shortlist and "int8" in status.job.timed and timing.listed is None:
        return None
    return timing.begun

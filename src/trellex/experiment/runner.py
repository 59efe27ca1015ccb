"""The runner: trains the cells of a grid that have no result yet, then times those that were not timed together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from trellex.experiment.board import Board
from trellex.experiment.grid import Grid
from trellex.experiment.pool import Pool, alone_in
from trellex.experiment.track import Track
from trellex.training import checkpoint
from trellex.training.trainer import training_device


class Runner:
    """An experiment on its way. All cells are checked before any is trained.

    Args:
        grid: what to train
        only: parts of names; cells whose name has none of them are left alone; none: all are taken
        at_once: trainings side by side, instead of the grid's number

    Attributes:
        tracks: the cells, in the order of the grid
        was_stopped: whether a signal ended the work before its time
    """

    def __init__(self, grid: Grid, only: Sequence[str] = (), at_once: int | None = None) -> None:
        self.grid, self.was_stopped = grid, False
        jobs = grid.jobs()
        chosen = [job for job in jobs if not only or any(part in job.name for part in only)]
        if not chosen:
            names = ", ".join(job.name for job in jobs)
            raise ValueError(f"only: no cell's name has {' or '.join(map(repr, only))} in it; there are {names}")
        self.tracks = [Track(job) for job in chosen]
        for track in self.tracks:
            if track.result is None:
                track.job.check_run()
        untrained = sum(track.state == "waiting" for track in self.tracks)
        self.at_once = min(at_once or grid.at_once, max(untrained, 1))
        for job in chosen:
            job.side_by_side = self.at_once

    def run(self, timing: bool, console: Console) -> None:
        """Train and score, then time if asked for; the console shows progress.

        Raises ValueError if a recipe asks for what the device of this machine has not.
        """
        for track in self.tracks:
            if track.result is None:
                training_device(track.job.recipe.training)
        self.grid.results.mkdir(parents=True, exist_ok=True)
        say = f"another process works in {self.grid.runs}; waiting for it to end"
        with alone_in(self.grid.runs, lambda: console.print(say)) as lock, Board(self.tracks, console) as board:
            pool = Pool(board, lock)
            for track in self.tracks:
                track.look()  # another process may have gone on with them
            pool.run([[track] for track in self.tracks if track.result is None], ("train", "score"), self.at_once)
            if timing and not pool.was_stopped:
                pool.run(to_be_timed(self.tracks), ("time",), 1)
            self.was_stopped = pool.was_stopped

    @property
    def failed(self) -> list[Track]:
        return [track for track in self.tracks if track.state == "failed"]


def to_be_timed(tracks: Sequence[Track]) -> list[list[Track]]:
    """Those of one prepared corpus, which will be compared, unless all of them have been timed in turns already."""
    groups: dict[tuple[Path, str], list[Track]] = {}
    for track in tracks:
        if track.result is not None and checkpoint.best_checkpoint(track.job.run) is not None:
            kind = track.job.recipe.data, track.job.recipe.training.device
            groups.setdefault(kind, []).append(track)
    return [group for group in groups.values() if not _were_timed_in_turns(group)]


def _were_timed_in_turns(tracks: Sequence[Track]) -> bool:
    timings = [track.result.timing if track.result else None for track in tracks]
    begun = {timing.begun if timing else None for timing in timings}
    return len(begun) == 1 and None not in begun

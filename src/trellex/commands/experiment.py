"""Train a grid."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from trellex.terminal import Json, complain, errors_explained, examples, stderr, tell


@examples(
    "trellex experiment recipes/grids/phrasebook.yaml",
    "trellex experiment grid.yaml --only hybrid --only softmax --at-once 4",
)
def experiment(
    grid: Annotated[Path, typer.Argument(help="A YAML file; see recipes/grids.")],
    at_once: Annotated[
        int | None, typer.Option(min=1, help="Another number of trainings side by side than the grid's.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Only cells whose name has this in it; may be repeated.")
    ] = None,
    timing: Annotated[bool, typer.Option(help="Time the cells when all are trained.")] = True,
    list_cells: Annotated[bool, typer.Option("--list", help="Show the cells and how far they are, and end.")] = False,
    as_json: Json = False,
) -> None:
    """Train a grid of output layers, corpora and seeds, several at a time, and write a result file a cell.

    Every cell is trained by its recipe in a process of its own, then scored on
    the test set with its best checkpoint; those side by side on a CPU share its
    cores, unless the recipe has a number of threads. In the end all of one
    prepared corpus are timed together, unless they have been.
    Cells with a result are not trained again, and interrupted ones go on where
    they were when the same command is given again.
    A training that fails stops no other; its log is in the folder of its run.
    """
    with errors_explained():
        from trellex.experiment.display import table
        from trellex.experiment.grid import Grid
        from trellex.experiment.runner import Runner
        from trellex.files import check_writable

        loaded = Grid.load(grid)
        for folder in () if list_cells else (loaded.runs, loaded.results):
            check_writable(folder)
        runner = Runner(loaded, only or (), at_once)
        if not list_cells:
            runner.run(timing, stderr)
        if as_json:
            print(json.dumps([status.row() for status in runner.statuses], ensure_ascii=False))
        else:
            Console().print(table(runner.statuses))
        for status in runner.failed:
            complain(f"{status.job.name}: {status.problem}")
        if runner.was_stopped:
            tell("stopped; the same command goes on from there")
            raise typer.Exit(130)
        if runner.failed:
            raise typer.Exit(1)

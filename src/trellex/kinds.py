"""The kinds of files and folders that Trellex reads, for messages where one was given in place of another."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from trellex.files import AnyPath, denied

CORPUS_FILE, CHECKPOINT_FILE, EXPORT_FILE = "manifest.json", "checkpoint.json", "trellex.json"  # they make the kind
MAX_YAML = 1 << 20  # bytes that are looked at
STEP_FOLDER = re.compile(r"step-[0-9]{9}")  # of a checkpoint in a run

CORPUS, RUN, CHECKPOINT, EXPORT = "a prepared corpus", "a run", "a checkpoint", "an exported model"
RUNS, RESULTS, RECIPE, GRID = "a folder of runs", "a folder of results", "a recipe", "a grid"

REMEDIES = {
    CORPUS: "make one with `trellex prepare`",
    RUN: "train one with `trellex train`",
    CHECKPOINT: "they are in the folder of a run, which `trellex train` makes",
    EXPORT: "make one of a run with `trellex export`",
    RESULTS: "`trellex experiment` makes one",
    RECIPE: "a YAML file for `trellex train` that names the corpus as `data`",
    GRID: "a YAML file for `trellex experiment`, see recipes/grids",
}
HINTS = {  # where what was given leads to what is needed; by both
    (EXPORT, RUN): "give the run that it was made from",
    (RUNS, RUN): "give one of those in it",
    (RECIPE, RUN): "train it with `trellex train`, then give its `output`",
    (RUN, RESULTS): "those of a run are where the grid's `results` says",
    (RUNS, RESULTS): "those of these runs are where the grid's `results` says",
    (RUN, RECIPE): "give the recipe that it was trained by",
    (RECIPE, GRID): "train it with `trellex train`",
    (GRID, RECIPE): "train it with `trellex experiment`",
}


def kinds_of(path: AnyPath) -> Iterator[str]:
    """What this is, with an article; nothing if it is nothing of Trellex's. A folder may hold runs and results."""
    path = Path(path)
    if path.is_file() and path.suffix in (".yaml", ".yml"):
        yield from _kinds_of_yaml(path)
    if not path.is_dir():
        return
    for name, kind in ((EXPORT_FILE, EXPORT), (CHECKPOINT_FILE, CHECKPOINT), (CORPUS_FILE, CORPUS)):
        if (path / name).is_file():
            yield kind
    if _is_run(path):
        yield RUN
    if any(_is_run(child) for child in path.iterdir()):
        yield RUNS
    if any(b'"trellex-result"' in _start(file, 100) for file in filter(Path.is_file, path.glob("*.json"))):
        yield RESULTS


def check_kind(path: AnyPath, *needed: str) -> None:
    """Raises ValueError that tells what was given, and what to give instead, if it is of another kind than needed.

    What is nothing of Trellex's, or not there, passes: its reader knows better what is wrong. Raises PermissionError
    if this user may not look.
    """
    path = Path(path)
    if path.exists() and not os.access(path, os.R_OK | os.X_OK if path.is_dir() else os.R_OK):
        raise denied(path)
    found = next(kinds_of(path), None)
    if found is not None and not any(kind in needed for kind in kinds_of(path)):
        remedy = next((HINTS[found, kind] for kind in needed if (found, kind) in HINTS), REMEDIES[needed[0]])
        wanted = " or ".join(filter(None, (", ".join(needed[:-1]), needed[-1])))
        raise ValueError(f"{path}: is {found}; needed is {wanted}: {remedy}")


def _is_run(folder: Path) -> bool:
    names = {path.name for path in folder.iterdir()} if folder.is_dir() and os.access(folder, os.R_OK) else set()
    return "metrics.jsonl" in names or any(STEP_FOLDER.fullmatch(name) for name in names)


def _kinds_of_yaml(path: Path) -> Iterator[str]:
    """By a key that the one has and the other has not."""
    keys = re.findall(rb"^(grid|data):", _start(path, MAX_YAML), re.MULTILINE)
    if keys:
        yield GRID if b"grid" in keys else RECIPE


def _start(path: Path, size: int) -> bytes:
    with path.open("rb") as file:
        return file.read(size)

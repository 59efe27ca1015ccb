"""A job: a cell of the grid, how to train it and where its files go."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import ValidationError

from trellex.evaluation.result import Cell, Result
from trellex.records import Record
from trellex.temporaries import make_folder
from trellex.training import checkpoint
from trellex.training.recipe import Recipe

# on what is learnt
WITHOUT_EFFECT = ("device", "threads", "save_every", "keep_checkpoints", "keep_best", "tensorboard")


WHAT = "the description of a cell"

# PyTorch on a GPU; exports on one CPU thread, in single precision, in int8, and compact ones
Engine = Literal["gpu", "cpu", "int8", "compact"]
ENGINES: tuple[Engine, ...] = ("gpu", "cpu", "int8")  # unless a grid says otherwise


class _Begun(Record, extra="ignore"):
    """What a file of an older version has as well."""

    recipe: dict[str, Any]
    corpus: str | None = None
    code: str | None = None


class Job(Record):
    """What a process that trains, scores or times a cell must know."""

    cell: Cell
    recipe: Recipe
    result_file: Path
    corpus: str  # the fingerprint of what was prepared
    code: str | None = None  # the checksum of the file that the output layer's code is read from, if it is
    side_by_side: int = 1  # trainings at once, this one included
    shortlist: bool = False  # whether it also translates with one
    timed: Sequence[Engine] = ENGINES  # what translates when it is timed

    @property
    def name(self) -> str:
        return self.cell.name

    @property
    def run(self) -> Path:
        """The folder of checkpoints, metrics and the log."""
        return self.recipe.output

    @property
    def log(self) -> Path:
        return self.run / "log.txt"

    def result(self) -> Result | None:
        """The result, if there is one. Raises ValueError that names its file if it is of another training."""
        if not self.result_file.exists():
            return None
        result = Result.load(self.result_file)
        recipe = self._checked(self.result_file, result)
        self._compare(self.result_file, _settings(self.cell, self.recipe), _settings(result.cell, recipe))
        if self.shortlist and result.selection is None:
            raise ValueError(
                f"{self.result_file}: made without a shortlist, but the grid asks for one; leave `shortlist` out, "
                f"or remove this file to score again if {self.run} is still there"
            )
        return result

    def check_run(self) -> None:
        """Raises ValueError if a training was begun in the folder that cannot go on by this recipe."""
        path = self._path()
        if path.exists() and checkpoint.checkpoints(self.run):
            before = _Begun.load_json(path, WHAT, f"remove this file and {self.run} to train anew")
            recipe = self._checked(path, before)
            self._compare(path, self.recipe.identity(), recipe.identity())

    def _checked(self, path: Path, made: Result | _Begun) -> Recipe:
        """The recipe that a file holds. Raises ValueError if it is none, or its corpus or its code is another one."""
        try:
            checked = Recipe.model_validate(made.recipe)
        except ValidationError as error:
            raise ValueError(f"{path}: made by another version of Trellex; remove this file and {self.run}") from error
        if made.corpus not in (None, self.corpus):
            raise ValueError(
                f"{path}: made from another corpus than {self.recipe.data} now holds; "
                f"prepare that again, or remove this file and {self.run} to train anew"
            )
        if made.code not in (None, self.code):
            raise ValueError(
                f"{path}: made with another code than its file now holds; "
                f"put that code back, or remove this file and {self.run} to train anew"
            )
        return checked

    def _compare(self, path: Path, ours: dict[str, Any], theirs: dict[str, Any]) -> None:
        """Raises ValueError that names the file and the first setting that is another one there."""
        for key, our in ours.items():
            if our != (their := theirs[key]):
                remedy = f"remove this file and {self.run} to train anew"
                if key == "max_steps" and our > their:
                    remedy = f"remove this file to train on if {self.run} is still there"
                raise ValueError(
                    f"{path}: made with {key} {their!r}, but the grid says {our!r}; go back to that, or {remedy}"
                )

    def save(self) -> Path:
        """Write it to the folder of the run; returns the file."""
        make_folder(self.run)
        self.save_json(self._path(), indent=1)
        return self._path()

    @classmethod
    def load(cls, path: Path) -> Job:
        return cls.load_json(path, WHAT, "give the same command again")

    def _path(self) -> Path:
        return self.run / "job.json"


def _settings(cell: Cell, recipe: Recipe) -> dict[str, Any]:
    """All that a result depends on, by name."""
    training = recipe.training.model_dump(exclude=set(WITHOUT_EFFECT))
    return {**cell.model_dump(), "data": str(recipe.data), "model": recipe.model.model_dump(), **training}

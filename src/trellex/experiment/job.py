"""A job: a cell of the grid, how to train it and where its files go."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from trellex.evaluation.result import Cell, Result
from trellex.records import Record
from trellex.training import checkpoint
from trellex.training.recipe import Recipe

WITHOUT_EFFECT = ("device", "threads", "save_every", "keep_checkpoints")  # on what is learnt


class Job(Record):
    """What a process that trains, scores or times a cell must know."""

    cell: Cell
    recipe: Recipe
    result_file: Path
    corpus: str  # the fingerprint of what was prepared
    side_by_side: int = 1  # trainings at once, this one included

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
        self._compare(self.result_file, result.cell, result.recipe, result.corpus)
        return result

    def check_run(self) -> None:
        """Raises ValueError if a training by another recipe was begun in the folder; it may end at another step."""
        path = self._path()
        if path.exists() and checkpoint.checkpoints(self.run):
            before = json.loads(path.read_text(encoding="utf-8"))
            cell, may_differ = Cell.model_validate(before["cell"]), ("max_steps", "patience")
            self._compare(path, cell, before["recipe"], before.get("corpus"), may_differ)

    def _compare(
        self, path: Path, cell: Cell, recipe: dict[str, Any], corpus: str | None, except_for: Collection[str] = ()
    ) -> None:
        """Raises ValueError that names the file if these are not the same in all that matters."""
        try:
            theirs = _identity(cell, Recipe.model_validate(recipe))
        except ValidationError as error:
            raise ValueError(f"{path}: made by another version of Trellex; remove this file and {self.run}") from error
        if corpus not in (None, self.corpus):
            raise ValueError(
                f"{path}: made from another corpus than {self.recipe.data} now holds; "
                f"prepare that again, or remove this file and {self.run} to train anew"
            )
        for key, ours in _identity(self.cell, self.recipe).items():
            if ours != theirs[key] and key not in except_for:
                remedy = f"remove this file and {self.run} to train anew"
                if key == "max_steps" and ours > theirs[key]:
                    remedy = f"remove this file to train on if {self.run} is still there"
                raise ValueError(
                    f"{path}: made with {key} {theirs[key]!r}, but the grid says {ours!r}; go back to that, or {remedy}"
                )

    def save(self) -> Path:
        """Write it to the folder of the run; returns the file."""
        self.run.mkdir(parents=True, exist_ok=True)
        self.save_json(self._path(), indent=1)
        return self._path()

    @classmethod
    def load(cls, path: Path) -> Job:
        return cls.model_validate_json(path.read_bytes())

    def _path(self) -> Path:
        return self.run / "job.json"


def _identity(cell: Cell, recipe: Recipe) -> dict[str, Any]:
    """All that a result depends on, by name."""
    training = recipe.training.model_dump(exclude=set(WITHOUT_EFFECT))
    return {**cell.model_dump(), "data": str(recipe.data), "model": recipe.model.model_dump(), **training}

"""The origin of checkpoints: the training and the corpus that they come from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trellex.nmt.word_codes import WORD_CODES
from trellex.text.corpus import Corpus
from trellex.text.manifest import PIECE_MODELS, VOCABULARIES
from trellex.training import checkpoint
from trellex.training.recipe import Recipe


def recipe_of(folder: Path) -> Recipe:
    """The recipe that a checkpoint was trained by."""
    return checkpoint.load_info(folder).recipe


def corpus_of(folder: Path) -> Corpus:
    """The corpus that a checkpoint was trained on. Raises ValueError or OSError if it is not there, or another now."""
    data = recipe_of(folder).data
    corpus = Corpus.open(data)
    _check_words(folder, data, "prepare the data as it was")
    return corpus


def check_trained_by(recipe: Recipe, folder: Path) -> None:
    """Raises ValueError if a checkpoint is of another training than that of a recipe."""
    before = recipe_of(folder).identity()
    for part, value in recipe.identity().items():
        if before[part] != value:
            raise ValueError(
                f"{folder}: was trained with another {part} than the recipe says; "
                "choose another output folder, or the old recipe"
            )
    _check_words(folder, recipe.data, "choose another output folder, or prepare the data as it was")


def check_one_training(folders: Sequence[Path]) -> None:
    """Raises ValueError that names a checkpoint of another training than that of the first."""
    first = _origin(folders[0])
    for folder in folders[1:]:
        for part, value in _origin(folder).items():
            if value != first[part]:
                if part == checkpoint.CODE and recipe_of(folder).training.renumber_every:
                    raise ValueError(
                        f"{folder}: its words have other numbers than those of {folders[0]}, for they exchanged them "
                        "meanwhile (training.renumber_every); such checkpoints have no mean"
                    )
                raise ValueError(
                    f"{folder}: was trained with another {part} than {folders[0]}; average checkpoints of one training"
                )


def _origin(folder: Path) -> dict[str, Any]:
    """What all checkpoints of a training have in common, by name."""
    names = (*VOCABULARIES, *PIECE_MODELS, checkpoint.CODE, *WORD_CODES)
    return {**recipe_of(folder).identity(), **{name: _contents(folder / name) for name in names}}


def _check_words(folder: Path, data: Path, remedy: str) -> None:
    """Raises ValueError if a checkpoint has other vocabularies, or pieces, than a corpus."""
    for name in (*VOCABULARIES, *PIECE_MODELS):
        if _contents(folder / name) != _contents(data / name):
            raise ValueError(f"{folder / name}: differs from {data / name}, so word ids mean other words; {remedy}")


def _contents(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None

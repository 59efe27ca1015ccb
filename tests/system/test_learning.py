"""All kinds of systems learn: copying, shelves in CI and the others, as the phrasebook, in `make test-slow`."""

from pathlib import Path

import numpy as np
import pytest
import torch

from trellex import phrasebook
from trellex.evaluation.curve import best_evaluation
from trellex.text import PrepareSettings, prepare
from trellex.training.display import Display
from trellex.training.recipe import load_recipe
from trellex.training.trainer import Trainer

RECIPE = Path(__file__).parents[2] / "recipes" / "phrasebook.yaml"

SHELVES = "{type: shelves, words: 8, visit: 2}"
COPY_BAR = {"softmax": 95, "binary": 80, "hybrid-16": 90, "binary-ec": 90, "hybrid-16-ec": 90, SHELVES: 90}
SLOW = ("softmax", "binary", "binary-ec", "hybrid-16", "hybrid-16-ec")  # which learn as the others do
PHRASEBOOK_BAR = {"softmax": 92, "binary": 77, "hybrid-256": 81, "binary-ec": 85, "hybrid-256-ec": 88}


def prepared(text: Path, folder: Path) -> Path:
    files = {
        f"{split}_{side}": text / f"{split}.{language}"
        for split in ("train", "dev", "test")
        for side, language in (("source", "en"), ("target", "ja"))
    }
    languages = {"source_language": "en", "target_language": "ja"}
    prepare(PrepareSettings(**files, **languages, source_tokenizer="whitespace", target_tokenizer="whitespace"), folder)
    return folder


def best_bleu(data: Path, output: Path, head: str, **training: object) -> float:
    """The test BLEU at the best dev BLEU."""
    recipe = load_recipe(RECIPE, head=head, output=output)
    recipe = recipe.model_copy(
        update={
            "data": data,
            "training": recipe.training.model_copy(update={"threads": torch.get_num_threads()} | training),
        }
    )
    return best_evaluation(Trainer(recipe, Display(head, quiet=True)).run()).test


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    """Sentences of 3 to 8 words out of 60, to be copied."""
    rng = np.random.default_rng(0)
    text = tmp_path_factory.mktemp("copies")
    for split, pairs in (("train", 8000), ("dev", 100), ("test", 100)):
        lines = [" ".join(f"w{word}" for word in rng.integers(0, 60, rng.integers(3, 9))) + "\n" for _ in range(pairs)]
        for language in ("en", "ja"):
            (text / f"{split}.{language}").write_text("".join(lines))
    return prepared(text, text / "data")


@pytest.mark.parametrize(
    "head", [pytest.param(head, marks=pytest.mark.slow) if head in SLOW else head for head in COPY_BAR]
)
def test_copying(copies, tmp_path, head):
    steps = {"max_steps": 700, "validate_every": 350, "save_every": 700, "decay_steps": 300}
    assert best_bleu(copies, tmp_path / "run", head, **steps) >= COPY_BAR[head]


@pytest.fixture(scope="module")
def phrases(tmp_path_factory):
    text = tmp_path_factory.mktemp("phrasebook")
    phrasebook.write(text)
    return prepared(text, text / "data")


@pytest.mark.slow
@pytest.mark.parametrize("head", PHRASEBOOK_BAR)
def test_phrasebook(phrases, tmp_path, head):
    bleu = best_bleu(phrases, tmp_path / "run", head)
    print(f"{head}: test BLEU {bleu:.2f}")
    assert bleu >= PHRASEBOOK_BAR[head]

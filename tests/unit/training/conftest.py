"""A corpus of a few pairs, and runs on it that take a moment."""

import pytest

from trellex.text import PrepareSettings, prepare
from trellex.training import validation
from trellex.training.display import Display
from trellex.training.recipe import Recipe
from trellex.training.trainer import Trainer


def pairs(count, first=0):
    """Sentences of 1 to 6 of 20 words; a translation has the same words in capitals."""
    lines = [" ".join(f"w{(row * 7 + place * place) % 20}" for place in range(1 + row % 6)) for row in range(count)]
    return [(line, line.upper()) for line in lines[first:]]


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A prepared corpus of 60 pairs to train on, 8 of dev and 8 of test."""
    folder = tmp_path_factory.mktemp("corpus")
    files = {}
    for name, chosen in {"train": pairs(60), "dev": pairs(68, 60), "test": pairs(76, 68)}.items():
        for place, side in enumerate(("source", "target")):
            files[f"{name}_{side}"] = folder / f"{name}.{side}"
            files[f"{name}_{side}"].write_text("".join(pair[place] + "\n" for pair in chosen))
    languages = {"source_language": "en", "target_language": "en"}
    tokenizers = {"source_tokenizer": "whitespace", "target_tokenizer": "whitespace"}
    prepare(PrepareSettings(**files, **languages, **tokenizers), folder / "data")
    return folder / "data"


@pytest.fixture
def recipe(data, tmp_path):
    """Makes the recipe of a tiny run: recipe(max_steps=5, head="softmax")."""

    def recipe(head="binary", output="run", dropout=0.2, **training):
        sizes = {"embedding_size": 8, "hidden_size": 8, "dropout": dropout}
        defaults = {"max_steps": 12, "validate_every": 4, "save_every": 3, "batch_sentences": 8, "device": "cpu"}
        return Recipe(data=data, output=tmp_path / output, head=head, model=sizes, training=defaults | training)

    return recipe


@pytest.fixture
def trainer():
    """Makes the trainer of a recipe, which shows nothing."""
    return lambda recipe: Trainer(recipe, Display("test", quiet=True))


@pytest.fixture
def dev_scores(monkeypatch):
    """Replaces BLEU by given scores, dev and test the same."""

    def dev_scores(*scores):
        queue = [score for score in scores for _ in ("dev", "test")]
        monkeypatch.setattr(validation, "split_bleu", lambda *arguments: float(queue.pop(0)))

    return dev_scores


@pytest.fixture
def scores_by_step(monkeypatch):
    """Replaces BLEU by a score for every step, which is the same when a run comes there again."""

    def scores_by_step(steps, scores):
        scores, validate = dict(zip(steps, map(float, scores), strict=True)), Trainer._validate

        def score(self):
            monkeypatch.setattr(validation, "split_bleu", lambda *arguments: scores[self.step])
            return validate(self)

        monkeypatch.setattr(Trainer, "_validate", score)

    return scores_by_step

"""Runs whose word vectors are composed from codes: trained, gone on with, averaged and loaded they stay the same."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file

from trellex.codes import FrequencyCode, RandomCode, cluster_code, load_code
from trellex.nmt.composed_embedding import ComposedEmbedding
from trellex.nmt.word_codes import WORD_CODES
from trellex.text.corpus import Corpus
from trellex.text.word_vectors import word_vectors
from trellex.training import checkpoint, word_codes
from trellex.training.average import make_average
from trellex.training.loading import load_checkpoint
from trellex.translator import Translator

TIED = {"type": "softmax", "tied": True}
SHELVES = {"type": "shelves", "words": 4, "visit": 2, "memory": 3}
HEADS = ["binary", TIED, SHELVES, {"type": "hybrid-4-ec", "code": "clusters"}]
COMPOSED = {"type": "composed", "memory": 2, "residual": 3, "frequent": 8}


@pytest.fixture
def composed(recipe):
    """Makes the recipe of a tiny run with composed vectors."""

    def composed(head="binary", output="run", embeddings=COMPOSED, **options):
        made = recipe(head, output, **options)
        model = {**made.model.model_dump(), "embeddings": embeddings}
        return type(made).model_validate({**made.model_dump(), "model": model})

    return composed


def of_step(recipe, step):
    return checkpoint.step_folder(recipe.output, step)


def same_tensors(folders, names=("model", "optimizer")):
    for name in names:
        mine, theirs = (load_file(folder / f"{name}.safetensors") for folder in folders)
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[key], theirs[key]) for key in mine)


@pytest.mark.parametrize("head", HEADS, ids=str)
def test_a_run_in_two_pieces_ends_as_one(composed, trainer, head, monkeypatch):
    for output, pieces in (("pieces", (7, 12)), ("whole", (12,))):
        for max_steps in pieces:
            if max_steps == 12 and len(pieces) == 2:
                monkeypatch.setattr(word_codes, "word_vectors", None)  # that of the checkpoint is enough
            trainer(composed(head, output, max_steps=max_steps)).run()
            monkeypatch.undo()
    folders = [of_step(composed(head, output), 12) for output in ("pieces", "whole")]
    same_tensors(folders)
    for name in WORD_CODES:
        assert load_code(folders[0] / name) == load_code(folders[1] / name)
    saved = {key for key in load_file(folders[0] / "model.safetensors") if "embedding" in key}
    parts = ("table", "residual", "project", "own")
    assert saved == {f"network.{side}.embedding.{part}" for side in ("encoder", "decoder") for part in parts}


@pytest.mark.parametrize("head", HEADS, ids=str)
def test_codes_are_clusters_of_the_text_of_either_side(composed, trainer, data, head):
    codes, train = trainer(composed(head)).model.network.word_codes, Corpus.open(data).split("train")
    sides = (train.source_ids, train.source_lengths), (train.target_ids, train.target_lengths)
    for code, side in zip(codes, sides, strict=True):
        assert code == cluster_code(word_vectors(*side, code.vocab_size))


@pytest.mark.parametrize("code", ["frequency", "random"])
def test_other_codes_need_no_text(composed, trainer, monkeypatch, code):
    monkeypatch.setattr(word_codes, "word_vectors", None)
    run = trainer(composed(embeddings=COMPOSED | {"code": code}))
    run.run()
    assert load_checkpoint(run.recipe.output).model.network.word_codes == run.model.network.word_codes


@pytest.mark.parametrize("head", HEADS, ids=str)
def test_they_learn_and_translate_without_the_corpus(composed, trainer, head, data, tmp_path, monkeypatch):
    corpus = shutil.copytree(data, tmp_path / "corpus")
    options = {"dropout": 0, "max_steps": 60, "validate_every": 60, "learning_rate": 0.02}
    run = trainer(composed(head, **options).model_copy(update={"data": corpus}))
    rows = next(run.feed.after(0))
    batch = run.feed.tensors(rows)

    def loss():
        with torch.no_grad():
            return float(run.model(*batch).sum())

    first = loss()
    run.run()
    assert loss() < 0.8 * first
    shutil.rmtree(corpus)
    monkeypatch.setattr(word_codes, "word_vectors", None)
    moved = shutil.copytree(run.recipe.output, tmp_path / "moved")
    loaded = load_checkpoint(moved)
    assert isinstance(loaded.model.network.source_embedding, ComposedEmbedding)
    assert isinstance(loaded.model.network.embedding, ComposedEmbedding)
    with run.model.inference():
        expected = run.model.start([batch[0][0].numpy()]).hidden
        assert torch.equal(loaded.model.start([batch[0][0].numpy()]).hidden, expected)
    assert Translator(loaded).translate(["w1 w2 w3"], beam=2)[0]


def test_averages_have_the_codes_of_their_run(composed, trainer, tmp_path):
    run = trainer(composed(TIED))
    run.run()
    made = make_average([of_step(run.recipe, step) for step in (9, 12)], tmp_path / "average", None)
    assert load_checkpoint(made.folder).model.network.word_codes == run.model.network.word_codes


class TestErrors:
    def test_a_code_that_is_missing_or_of_other_words_is_named(self, composed, trainer):
        run = trainer(composed(max_steps=1))
        run.run()
        folder = of_step(run.recipe, 1)
        for name, content in (
            ("code.source.json", None),
            ("code.target.json", json.dumps(FrequencyCode(4).to_dict())),
        ):
            kept = (folder / name).read_bytes()
            if content is None:
                (folder / name).unlink()
            else:
                (folder / name).write_text(content)
            with pytest.raises(ValueError, match=f"{name}: (missing|damaged)"):
                load_checkpoint(folder)
            with pytest.raises(ValueError, match=f"{folder}: a code is missing, damaged or of another model"):
                load_checkpoint(folder, verify=False)
            (folder / name).write_bytes(kept)
        assert load_checkpoint(folder)

    def test_a_code_of_another_vocabulary_is_told_with_both_sizes(self, composed, trainer):
        run = trainer(composed(max_steps=1))
        run.run()
        (folder := of_step(run.recipe, 1)).joinpath("code.target.json").write_text(json.dumps(RandomCode(4).to_dict()))
        message = f"target: expected a code of {run.model.head.vocab_size} words .*, got .*vocab_size=4"
        with pytest.raises(ValueError, match=message):
            load_checkpoint(folder, verify=False)

    def test_a_run_cannot_change_its_vectors(self, composed, recipe, trainer):
        trainer(recipe("binary", max_steps=1)).run()
        with pytest.raises(ValueError, match="was trained with another model than the recipe says"):
            trainer(composed("binary", max_steps=2))

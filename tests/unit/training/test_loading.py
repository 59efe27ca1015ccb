"""The model of a checkpoint is the one that was trained: its weights, its code, its words."""

import json
import shutil
from functools import partial

import numpy as np
import pytest
import torch

import trellex
from trellex.codes import RandomCode
from trellex.search import greedy
from trellex.training import checkpoint
from trellex.training.display import Display
from trellex.training.loading import load_checkpoint
from trellex.training.recipe import Recipe
from trellex.training.trainer import Trainer

RANDOM = {"type": "hybrid-4-ec", "code": "random", "seed": 3}


@pytest.fixture(scope="module")
def of_random_code(tmp_path_factory, data):
    """A run whose head has a random code, and its model."""
    output = tmp_path_factory.mktemp("run") / "run"
    settings = {"max_steps": 2, "validate_every": 2, "batch_sentences": 8, "device": "cpu"}
    sizes = {"embedding_size": 8, "hidden_size": 8}
    trainer = Trainer(
        Recipe(data=data, output=output, head=RANDOM, model=sizes, training=settings), Display("test", quiet=True)
    )
    trainer.run()
    return output, trainer.model


@pytest.fixture
def copied(of_random_code, tmp_path):
    """A copy of the run, to damage, and its checkpoint."""
    run = shutil.copytree(of_random_code[0], tmp_path / "copy")
    return run, checkpoint.newest_checkpoint(run)


@pytest.fixture
def no_code_is_drawn(monkeypatch):
    """Fails where a random code is drawn."""

    def fail(*arguments):
        raise AssertionError("a code was drawn again")

    monkeypatch.setattr(RandomCode, "__init__", fail)


class TestCode:
    def test_a_checkpoint_holds_its_own(self, of_random_code):
        run, model = of_random_code
        folder = checkpoint.newest_checkpoint(run)
        saved = json.loads((folder / "code.json").read_text())
        assert saved == model.head.code.to_dict()
        assert model.head.code == RandomCode(model.head.vocab_size - 3, 3)
        assert json.loads((folder / "checkpoint.json").read_text())["recipe"]["head"] == RANDOM

    @pytest.mark.usefixtures("no_code_is_drawn")
    def test_loading_draws_none_again(self, of_random_code):
        run, model = of_random_code
        loaded = load_checkpoint(run)
        assert loaded.model.head.code == model.head.code
        assert loaded.head == loaded.model.head.spec
        assert loaded.head.model_dump() == RANDOM
        assert loaded.step == 2
        for name, value in model.state_dict().items():
            assert torch.equal(loaded.model.state_dict()[name], value)

    def test_going_on_draws_none_again(self, copied, data, recipe, trainer, no_code_is_drawn):
        run, folder = copied
        settings = recipe(RANDOM, output=run, dropout=0.3, max_steps=3, validate_every=2, save_every=1000)
        again = trainer(settings)
        assert again.model.head.code == checkpoint.load_code(folder, settings.head, again.model.head.vocab_size)
        again.run()
        assert (
            checkpoint.load_code(checkpoint.newest_checkpoint(run), settings.head, again.model.head.vocab_size)
            == again.model.head.code
        )

    def test_another_code_in_the_file_is_that_of_the_model(self, copied):
        run, folder = copied
        other = RandomCode(load_checkpoint(run).model.head.code.vocab_size, 99)
        (folder / "code.json").write_text(json.dumps(other.to_dict()))
        with pytest.raises(ValueError, match=r"code.json: damaged, its checksum differs; use another checkpoint"):
            load_checkpoint(run)
        assert load_checkpoint(run, verify=False).model.head.code == other

    def test_with_another_decoding_it_stays(self, of_random_code):
        run, model = of_random_code
        loaded = load_checkpoint(run, decoding="paper")
        assert loaded.model.head.code == model.head.code
        assert loaded.model.head.bits.decoding == "paper"

    def test_missing_or_damaged_it_is_an_error_that_names_it(self, copied):
        run, folder = copied
        for content in (b"", b"{", b'{"type": "morse"}', None):
            if content is None:
                (folder / "code.json").unlink()
            else:
                (folder / "code.json").write_bytes(content)
            for load in (load_checkpoint, trellex.load, partial(load_checkpoint, verify=False)):
                with pytest.raises(ValueError, match=f"{folder / 'code.json'}: (missing|damaged)"):
                    load(run)

    @pytest.mark.parametrize(
        "head",
        [
            "binary-ec",
            {"type": "hybrid-9-ec", "loss": "trellis", "numbering": "paper"},
            {"type": "hybrid-9-ec", "numbering": "rare"},
            {"type": "hybrid-9", "code": "huffman", "mixtures": 2},
            "softmax",
        ],
        ids=str,
    )
    def test_of_every_kind(self, model_of, tmp_path, head):
        ours = model_of(head)
        vocabularies = {"source": ours.source_vocabulary, "target": ours.target_vocabulary}
        for side, words in vocabularies.items():
            words.save(tmp_path / side)
        files = {f"{split}_{side}": "none" for split in ("train", "dev") for side in vocabularies}
        checkpoint.save_checkpoint(
            checkpoint.step_folder(tmp_path / "run", 7),
            {"model": ours.model.state_dict()},
            {f"vocab.{side}.txt": tmp_path / side for side in vocabularies},
            {
                "recipe": {
                    **{"head": ours.head.model_dump(), "model": ours.model.network.settings.model_dump()},
                    **{"data": "data", "output": "run"},
                },
                "step": 7,
                "corpus": ours.text.model_dump() | files,
            },
            ours.model.head.code,
        )
        loaded = load_checkpoint(tmp_path / "run")
        assert loaded.head.model_dump() == head
        assert loaded.model.head.code == ours.model.head.code
        sources = [np.array([5, 9, 3]), np.array([7])]
        with ours.model.inference(), loaded.model.inference():
            expected, found = greedy(ours.model, sources), greedy(loaded.model, sources)
        assert [one.words for one in found] == [one.words for one in expected]


@pytest.mark.parametrize(
    "damage",
    [
        lambda info: info.pop("corpus"),
        lambda info: info.pop("recipe"),
        lambda info: info["recipe"].pop("head"),
        lambda info: info["recipe"].update(head="binari"),
        lambda info: info["recipe"].update(head={"type": "binary", "los": 1}),
        lambda info: info["recipe"]["model"].update(type="lstn"),
        lambda info: info.update(step="x"),
    ],
)
def test_a_checkpoint_that_says_too_little_is_an_error_that_names_it(copied, damage):
    _, folder = copied
    info = json.loads((folder / "checkpoint.json").read_text())
    damage(info)
    (folder / "checkpoint.json").write_text(json.dumps(info))
    with pytest.raises(ValueError, match=f"(?s){folder}/checkpoint.json: not the description .*; use another"):
        load_checkpoint(folder)

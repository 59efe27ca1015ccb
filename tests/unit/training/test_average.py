"""An average holds the means of the weights, and stands for its run where it is better."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from trellex.training import checkpoint
from trellex.training.average import Average, make_average, mean_weights
from trellex.training.loading import load_checkpoint
from trellex.training.origin import corpus_of
from trellex.training.ranking import choose, evaluations_of


def weights(folder):
    return load_file(folder / "model.safetensors")


def step(run, number):
    return checkpoint.step_folder(run, number)


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def averaging(recipe, trainer, dev_scores):
    """Trains to step 16 with these scores, the last being that of the average of the best 3; returns the trainer."""

    def averaging(*scores, **training):
        dev_scores(*scores)
        run = trainer(recipe(**{"max_steps": 16, "keep_checkpoints": 1, "average": 3} | training))
        run.run()
        return run

    return averaging


class TestMeans:
    @pytest.fixture
    def save(self, tmp_path):
        """Writes tensors as checkpoints; returns their folders."""

        def save(*models):
            folders = [tmp_path / str(place) for place in range(len(models))]
            for folder, model in zip(folders, models, strict=True):
                folder.mkdir()
                save_file({name: torch.as_tensor(value) for name, value in model.items()}, folder / "model.safetensors")
            return folders

        return save

    def test_by_hand(self, save):
        found = mean_weights(save({"a": [1.0, 2.0], "b": [[3.0]]}, {"a": [2.0, 4.0], "b": [[0.0]]}))
        assert (found["a"].tolist(), found["b"].tolist(), found["a"].dtype) == ([1.5, 3.0], [[1.5]], torch.float32)

    def test_sums_lose_nothing(self, save):
        found = mean_weights(save({"a": [1e8]}, {"a": [1.0]}, {"a": [-1e8]}))
        assert found["a"].tolist() == torch.tensor([1 / 3]).tolist()  # 0 in single precision

    def test_whole_numbers_stay_and_must_be_the_same(self, save, tmp_path):
        assert mean_weights(save({"n": [7], "a": [1.0]}, {"n": [7], "a": [2.0]}))["n"].tolist() == [7]
        save_file({"n": torch.tensor([8]), "a": torch.ones(1)}, tmp_path / "1" / "model.safetensors")
        with pytest.raises(ValueError, match=f"{tmp_path / '1'}: its weights differ in kind"):
            mean_weights([tmp_path / "0", tmp_path / "1"])

    @pytest.mark.parametrize("other", [{"b": [1.0]}, {"a": [1.0, 2.0]}, {"a": [1.0], "b": [1.0]}, {"a": [1]}])
    def test_other_names_shapes_and_types(self, save, tmp_path, other):
        with pytest.raises(ValueError, match=f"{tmp_path / '1'}: its weights differ in kind from those of"):
            mean_weights(save({"a": [1.0]}, other))


class TestEndOfTraining:
    def test_a_better_one_stands_for_the_run(self, averaging):
        run = averaging(1, 5, 3, 4, 6)
        output = run.recipe.output
        assert run.average == Average(output / "average", [8, 12, 16], {"dev": 6.0, "test": 6.0})
        assert checkpoint.model_folder(output) == output / "average"
        assert json.loads((output / "best.json").read_text()) == {"step": 8, "average": True}
        found = {name: value.clone() for name, value in load_checkpoint(output).model.state_dict().items()}
        parts = [weights(step(output, number)) for number in (8, 12, 16)]
        for name, value in found.items():
            expected = sum(part[name].double() for part in parts) / 3
            assert torch.equal(value, expected.float())
        assert run.average.summary(run.evaluations) == {
            "average of steps": "8, 12, 16",
            "dev BLEU of the average": 6.0,
            "test BLEU of the average": 6.0,
            "better than the best": "yes",
        }

    @pytest.mark.parametrize("score", [5, 2])
    def test_one_that_is_no_better_does_not(self, averaging, score):
        run = averaging(1, 5, 3, 4, score)
        assert checkpoint.model_folder(run.recipe.output) == step(run.recipe.output, 8)
        assert json.loads((run.recipe.output / "best.json").read_text()) == {"step": 8}
        assert run.average.summary(run.evaluations)["better than the best"] == "no"

    def test_bleu_is_that_of_the_mean_weights(self, recipe, trainer, monkeypatch):
        seen = []

        def score(model, split, vocabulary):
            seen.append({name: value.clone() for name, value in model.state_dict().items()})
            return float(len(seen))

        monkeypatch.setattr("trellex.training.validation.split_bleu", score)
        settings = recipe(average=2)
        trainer(settings).run()
        kept = weights(settings.output / "average")
        assert all(torch.equal(seen[-1][name], kept[name]) for name in kept)

    def test_a_finished_run_stays_as_it_is(self, averaging, trainer):
        run = averaging(1, 5, 3, 4, 6)
        before = contents(run.recipe.output)
        again = trainer(run.recipe)
        again.run()
        assert again.average == run.average
        assert contents(run.recipe.output) == before

    def test_as_many_as_there_are(self, averaging):
        assert averaging(1, 5, 6, max_steps=8).average.steps == [4, 8]

    def test_one_is_no_average(self, averaging):
        run = averaging(1, max_steps=4)
        assert run.average is None
        assert not (run.recipe.output / "average").exists()

    def test_an_interruption_leaves_nothing_half_written(self, averaging, recipe, trainer, dev_scores, monkeypatch):
        for place in ("training.checkpoint.save_file", "training.average.corpus_bleu", "files.os.replace"):
            output = recipe().output
            shutil.rmtree(output, ignore_errors=True)
            averaging(1, 5, 3, 4, average=None, keep_best=3)
            before = contents(output)

            def interrupt(*arguments):
                raise KeyboardInterrupt

            dev_scores(6)
            with monkeypatch.context() as patch:
                patch.setattr(f"trellex.{place}", interrupt)
                with pytest.raises(KeyboardInterrupt):
                    make_average([step(output, 8), step(output, 12)], output / "average", corpus_of(step(output, 8)))
            assert contents(output) == before
            assert not list(output.glob(".*"))

    @pytest.mark.parametrize("name", ["average", "mean"])
    def test_what_a_killed_process_left_is_removed(self, averaging, name):
        run = averaging(1, 5, 3, 4, average=None, keep_best=3)
        left = run.recipe.output / f".{name}.0123abcd.new"
        left.mkdir()
        folders = [step(run.recipe.output, number) for number in (8, 12)]
        make_average(folders, run.recipe.output / name, None)
        assert not left.exists()

    def test_a_place_that_cannot_be_written_is_told_before_any_work(self, averaging, tmp_path, monkeypatch):
        output = averaging(1, 5, 3, 4, average=None, keep_best=3).recipe.output
        (tmp_path / "file").touch()
        monkeypatch.delattr("trellex.training.average.mean_weights")
        with pytest.raises(NotADirectoryError, match="file: is a file, not a folder"):
            make_average([step(output, 8), step(output, 12)], tmp_path / "file" / "mean", None)


class TestGoingOn:
    def test_training_goes_on_from_its_newest_checkpoint(self, averaging, recipe, trainer, dev_scores):
        averaging(1, 5, 3, 4, 6)
        dev_scores(2, 2, 1, 5, 3, 4, 2, 2)
        on = trainer(recipe(max_steps=24))
        on.run()
        whole = trainer(recipe(output="whole", max_steps=24))
        whole.run()
        ours, theirs = (weights(step(run.recipe.output, 24)) for run in (on, whole))
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)
        assert checkpoint.model_folder(on.recipe.output).name == "average"  # still the best

    def test_a_better_checkpoint_takes_its_place(self, averaging, recipe, trainer, dev_scores):
        averaging(1, 5, 3, 4, 6)
        dev_scores(7)
        trainer(recipe(max_steps=20)).run()
        assert checkpoint.model_folder(recipe().output).name == "step-000000020"

    def test_it_is_made_again_of_better_ones(self, averaging, trainer):
        averaging(1, 5, 3, 4, 6)
        run = averaging(7, 8, max_steps=20)
        assert (run.average.steps, run.average.bleu["dev"]) == ([8, 16, 20], 8.0)
        assert Average.find(run.recipe.output / "average") == run.average
        assert checkpoint.model_folder(run.recipe.output).name == "average"

    @pytest.mark.parametrize("removed", [(16,), (8, 12, 16)])
    def test_one_of_steps_that_will_come_again_goes(self, averaging, recipe, trainer, dev_scores, removed):
        output = averaging(1, 5, 3, 4, 6, keep_checkpoints=9).recipe.output
        for folder in checkpoint.checkpoints(output):
            if int(folder.name[5:]) >= removed[0]:
                shutil.rmtree(folder)
        dev_scores(1, 1, 1, 1)
        trainer(recipe(max_steps=16)).run()
        assert not (output / "average").exists()

    def test_a_mark_without_its_average_is_that_of_the_step(self, averaging):
        output = averaging(1, 5, 3, 4, 6).recipe.output
        shutil.rmtree(output / "average")
        assert checkpoint.model_folder(output) == step(output, 8)

    def test_one_that_is_damaged_stops_no_training(self, averaging, recipe, trainer, dev_scores):
        output = averaging(1, 5, 3, 4, 6).recipe.output
        (output / "average" / "checkpoint.json").write_text("{")
        dev_scores(2)
        trainer(recipe(max_steps=20)).run()
        assert checkpoint.model_folder(output) == step(output, 8)


class TestRefusal:
    @pytest.mark.parametrize(
        ("changed", "part"), [({"seed": 7}, "seed"), ({"head": "softmax"}, "head"), ({"dropout": 0.5}, "model")]
    )
    def test_checkpoints_of_two_trainings(self, recipe, trainer, tmp_path, changed, part):
        folders = []
        for name, settings in (("one", {}), ("two", changed)):
            trainer(recipe(output=name, max_steps=4, **settings)).run()
            folders.append(step(tmp_path / name, 4))
        with pytest.raises(ValueError, match=f"two/.*was trained with another {part} than .*one/"):
            make_average(folders, tmp_path / "average", None)
        assert not (tmp_path / "average").exists()

    @pytest.mark.parametrize("name", ["vocab.target.txt", "code.json"])
    def test_other_words_or_another_code(self, averaging, name):
        output = averaging(1, 5, 3, 4, average=None, keep_best=3).recipe.output
        (step(output, 12) / name).write_text("other")
        with pytest.raises(ValueError, match=f"another {name} than"):
            make_average([step(output, 8), step(output, 12)], output / "average", None)

    def test_words_that_have_exchanged_their_numbers(self, recipe, trainer, tmp_path):
        head = {"type": "binary-ec", "loss": "trellis"}
        chosen = recipe(head, max_steps=6, validate_every=3, keep_best=2, renumber_every=3)
        trainer(chosen).run()
        folders = [step(chosen.output, 3), step(chosen.output, 6)]
        message = f"6: its words have other numbers than those of {folders[0]}, for .*renumber_every.*; such .* no mean"
        with pytest.raises(ValueError, match=message):
            make_average(folders, tmp_path / "average", None)

    def test_a_folder_of_something_else_is_spared(self, averaging, tmp_path):
        output = averaging(1, 5, 3, 4, average=None, keep_best=3).recipe.output
        folders = [step(output, 8), step(output, 12)]
        (tmp_path / "thesis").mkdir()
        for place in (tmp_path / "thesis", step(output, 16)):
            before = contents(place)
            with pytest.raises(ValueError, match=f"{place}: .*choose another"):
                make_average(folders, place, None)
            assert contents(place) == before
        with pytest.raises(ValueError, match="training names its checkpoints like this"):
            make_average(folders, output / "step-000000099", None)

    def test_an_average_is_replaced(self, averaging, tmp_path):
        output = averaging(1, 5, 3, 4, average=None, keep_best=3).recipe.output
        for numbers in ([8, 12], [12, 16]):
            make_average([step(output, number) for number in numbers], tmp_path / "mean", None)
            assert Average.find(tmp_path / "mean") == Average(tmp_path / "mean", numbers, {})


def test_checkpoints_that_tell_of_no_evaluations(averaging, tmp_path):
    output = averaging(1, 5, 3, 4, average=None, keep_best=3).recipe.output
    for folder in checkpoint.checkpoints(output):
        info = json.loads((folder / "checkpoint.json").read_text())
        del info["evaluations"], info["checksum"]
        (folder / "checkpoint.json").write_text(json.dumps(info))
    assert evaluations_of(output) == []
    made = make_average(choose(output, [], None, 2), tmp_path / "mean", None)
    assert load_checkpoint(made.folder).step == made.steps[-1] == 16

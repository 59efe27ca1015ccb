"""The loop: what it minimises, when it stops, what it keeps, and that an interruption changes nothing."""

import errno
import json
import os
import shutil
import signal
import threading
import traceback

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from trellex.checksums import sha256
from trellex.codes import RandomCode, cluster_code, load_code, ordered_code
from trellex.heads import coded_spec
from trellex.locks import exclusive
from trellex.text import Corpus, prepare
from trellex.text.brown import brown_order
from trellex.text.word_vectors import word_vectors
from trellex.training import checkpoint
from trellex.training import trainer as training_loop
from trellex.training.display import Display
from trellex.training.feed import Feed
from trellex.training.loading import load_checkpoint
from trellex.training.trainer import Trainer


def steps(run):
    return [int(folder.name.removeprefix("step-")) for folder in checkpoint.checkpoints(run)]


def metrics(run, key):
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return [(line["step"], line[key]) for line in lines if key in line]


def assert_same_weights(run, other, step):
    """Weights and Adam's moments are the same, bit for bit."""
    for name in ("model", "optimizer"):
        mine, theirs = (load_file(checkpoint.step_folder(x, step) / f"{name}.safetensors") for x in (run, other))
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[key], theirs[key]) for key in mine)


class TestLoop:
    @pytest.mark.parametrize("head", ["softmax", "binary", "binary-ec", "hybrid-4", "hybrid-4-ec"])
    def test_loss_falls(self, recipe, trainer, head):
        settings = recipe(head, dropout=0, max_steps=60, validate_every=20, learning_rate=0.01, save_every=60)
        trainer(settings).run()
        losses = [loss for _, loss in metrics(settings.output, "loss")]
        assert losses[-1] < 0.9 * losses[0]

    def test_metrics_tell_of_every_evaluation(self, recipe, trainer):
        settings = recipe()
        evaluations = trainer(settings).run()
        assert [evaluation.step for evaluation in evaluations] == [4, 8, 12]
        assert metrics(settings.output, "dev_bleu") == [(x.step, x.dev) for x in evaluations]
        assert metrics(settings.output, "test_bleu") == [(x.step, x.test) for x in evaluations]

    def test_metrics_have_a_mean_of_5_from_10_evaluations_on(self, recipe, trainer, dev_scores):
        dev_scores(*range(11))
        settings = recipe(max_steps=11, validate_every=1)
        trainer(settings).run()
        means = [mean for _, mean in metrics(settings.output, "averaged_test_bleu")]
        assert means == [None] * 9 + [7.0, 8.0]

    def test_reported_loss_is_the_mean_over_tokens(self, recipe, trainer):
        settings = recipe(dropout=0, max_steps=1, validate_every=1, learning_rate=1e-12)
        run = trainer(settings)
        rows = next(run.feed.after(0))
        run.run()
        source, lengths, target_in, target_out = run.feed.tensors(rows)
        with torch.no_grad():
            losses = run.model(source, lengths, target_in, target_out)
        assert metrics(settings.output, "loss")[0][1] == pytest.approx(float(losses.sum() / (target_out >= 0).sum()))

    def test_same_seed_same_weights_another_seed_others(self, recipe, trainer):
        weights = []
        for output, seed in (("a", 1), ("b", 1), ("c", 2)):
            run = trainer(recipe(output=output, seed=seed, max_steps=3))
            run.run()
            weights.append(run.model.network.embedding.weight)
        assert torch.equal(weights[0], weights[1])
        assert not torch.equal(weights[0], weights[2])

    def test_every_epoch_holds_every_pair_once(self, recipe, trainer):
        run = trainer(recipe(batch_sentences=7))
        stream = run.feed.after(0)
        for _ in range(2):
            assert sorted(np.concatenate([next(stream) for _ in range(9)])) == list(range(60))

    def test_batches_by_tokens(self, recipe, trainer):
        run = trainer(recipe(batch_sentences=None, batch_tokens=21, max_steps=2))
        stream = run.feed.after(0)
        assert all(
            len(rows) * (run.corpus.split("train").target_lengths[rows].max() + 1) <= 21
            for rows in map(next, [stream] * 9)
        )
        run.run()
        assert run.step == 2

    def test_learning_rate_is_that_of_the_schedule_and_in_the_metrics(self, recipe, trainer):
        settings = recipe(learning_rate=0.5, warmup_steps=8, decay_steps=10)
        run = trainer(settings)
        run.run()
        assert metrics(settings.output, "learning_rate") == [(4, 0.25), (8, 0.5), (12, 0.25)]
        assert [group["lr"] for group in run.optimizer.param_groups] == [0.25]

    def test_gradients_are_clipped(self, recipe, trainer):
        run = trainer(recipe(clip_norm=1e-3, max_steps=1))
        run.run()
        norm = torch.stack([parameter.grad.norm() for parameter in run.model.parameters()]).norm()
        assert float(norm) == pytest.approx(1e-3, rel=1e-3)

    def test_without_test_text(self, recipe, trainer, data, tmp_path):
        settings = Corpus.open(data).manifest.settings.model_copy(update={"test_source": None, "test_target": None})
        prepare(settings, tmp_path / "data")
        evaluations = trainer(recipe().model_copy(update={"data": tmp_path / "data"})).run()
        assert [evaluation.test for evaluation in evaluations] == [None] * 3


class TestEnd:
    def test_patience_counts_evaluations_without_a_better_score(self, recipe, trainer, dev_scores):
        dev_scores(1, 3, 2, 3, 9)  # the second 3 is no better than the first
        run = trainer(recipe(max_steps=100, validate_every=2, patience=2))
        assert [evaluation.dev for evaluation in run.run()] == [1, 3, 2, 3]
        assert run.step == 8

    def test_a_better_score_renews_patience(self, recipe, trainer, dev_scores):
        dev_scores(1, 0, 2, 1, 0, 9)
        run = trainer(recipe(max_steps=100, validate_every=2, patience=2))
        assert [evaluation.dev for evaluation in run.run()] == [1, 0, 2, 1, 0]

    @pytest.mark.parametrize("patience", [None, 1])
    def test_a_finished_run_stays_as_it_is(self, recipe, trainer, dev_scores, patience):
        dev_scores(3, 2, 1)
        settings = recipe(patience=patience)
        evaluations = trainer(settings).run()
        before = {path: path.read_bytes() for path in settings.output.rglob("*") if path.is_file()}
        again = trainer(settings)
        assert again.run() == evaluations
        assert again.step == (12 if patience is None else 8)
        assert {path: path.read_bytes() for path in settings.output.rglob("*") if path.is_file()} == before

    def test_more_steps_go_on(self, recipe, trainer):
        trainer(recipe(max_steps=7)).run()
        trainer(recipe(max_steps=12)).run()
        whole = recipe(output="whole")
        trainer(whole).run()
        assert_same_weights(recipe().output, whole.output, 12)


class TestKeeping:
    def test_the_newest_and_the_best(self, recipe, trainer, dev_scores):
        dev_scores(1, 5, 5, 2)
        settings = recipe(max_steps=16, save_every=2, keep_checkpoints=2)
        trainer(settings).run()
        assert steps(settings.output) == [8, 14, 16]
        assert json.loads((settings.output / "best.json").read_text()) == {"step": 8}
        assert checkpoint.model_folder(settings.output).name == "step-000000008"

    def test_a_better_score_is_saved_between_checkpoints(self, recipe, trainer, dev_scores):
        dev_scores(1, 2, 1)
        settings = recipe(max_steps=13, save_every=100, keep_checkpoints=1)
        trainer(settings).run()
        assert steps(settings.output) == [8, 13]

    def test_several_of_the_best(self, recipe, trainer, dev_scores):
        dev_scores(4, 1, 5, 4, 3, 6)
        settings = recipe(max_steps=24, save_every=2, keep_checkpoints=1, keep_best=3)
        trainer(settings).run()
        assert steps(settings.output) == [4, 12, 24]  # of the two 4 the earlier
        assert checkpoint.model_folder(settings.output).name == "step-000000024"

    def test_one_of_the_best_is_saved_between_checkpoints(self, recipe, trainer, dev_scores):
        dev_scores(3, 2, 1, 2)
        settings = recipe(max_steps=17, save_every=100, keep_checkpoints=1, keep_best=2)
        trainer(settings).run()
        assert steps(settings.output) == [4, 8, 17]

    def test_fewer_may_be_kept_on_the_way(self, recipe, trainer, dev_scores):
        dev_scores(1, 3, 2, 0)
        trainer(recipe(keep_checkpoints=1, keep_best=3)).run()
        assert steps(recipe().output) == [4, 8, 12]
        trainer(recipe(keep_checkpoints=1, max_steps=16)).run()
        assert steps(recipe().output) == [8, 16]

    def test_a_checkpoint_is_complete(self, recipe, trainer, data):
        settings = recipe(max_steps=4)
        run = trainer(settings)
        run.run()
        folder = checkpoint.model_folder(settings.output)
        info = checkpoint.load_info(folder)
        assert (info.step, info.recipe, info.corpus) == (4, settings, Corpus.open(data).manifest.settings)
        assert info.curve() == run.evaluations
        assert info.files == {path.name: sha256(path) for path in folder.iterdir() if path.name != "checkpoint.json"}
        for side in ("source", "target"):
            assert (folder / f"vocab.{side}.txt").read_bytes() == (data / f"vocab.{side}.txt").read_bytes()


class CrashError(Exception):
    """What an interruption raises."""


def crash(monkeypatch, run, step):
    """Runs a training into an error after a step."""
    train_on = Trainer._train_on

    def crash(self, shared, batch):
        result = train_on(self, shared, batch)
        if self.step == step:
            raise CrashError
        return result

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_train_on", crash)
        with pytest.raises(CrashError):
            run.run()


def threads_ahead():
    return [thread for thread in threading.enumerate() if thread.name.startswith("ahead")]


class TestAhead:
    def test_it_learns_what_it_would_from_batches_prepared_in_time(self, recipe, trainer, monkeypatch):
        ahead, in_time = recipe(output="ahead"), recipe(output="in-time")
        trainer(ahead).run()
        monkeypatch.setattr(training_loop, "ahead", lambda items, count: (item for item in items))
        trainer(in_time).run()
        assert_same_weights(ahead.output, in_time.output, 12)

    def test_batches_are_prepared_in_another_thread(self, recipe, trainer, monkeypatch):
        prepared, threads = Feed.prepared, set()

        def observed(self, rows):
            threads.add(threading.current_thread())
            return prepared(self, rows)

        monkeypatch.setattr(Feed, "prepared", observed)
        trainer(recipe()).run()
        assert len(threads) == 1
        assert threading.current_thread() not in threads

    def test_preparing_draws_nothing_at_random(self, recipe, trainer):
        run = trainer(recipe())
        before = torch.get_rng_state()
        run.feed.prepared(next(run.feed.after(0)))
        assert torch.equal(before, torch.get_rng_state())

    def test_no_thread_is_left(self, recipe, trainer, monkeypatch):
        crash(monkeypatch, trainer(recipe()), 5)
        assert threads_ahead() == []
        trainer(recipe()).run()
        assert threads_ahead() == []

    def test_what_goes_wrong_in_the_thread_ends_the_run(self, recipe, trainer, monkeypatch):
        run = trainer(recipe())

        def damaged(rows):
            raise OSError("train.source.ids: cannot be read")

        monkeypatch.setattr(run.corpus.split("train"), "sources", damaged)
        with pytest.raises(OSError, match="train.source.ids") as caught:
            run.run()
        assert "damaged" in [frame.name for frame in traceback.extract_tb(caught.tb)]
        assert threads_ahead() == []


class TestResume:
    @pytest.mark.parametrize("crash_at", [1, 2, 3, 4, 8, 11])
    def test_a_crash_changes_nothing(self, recipe, trainer, monkeypatch, crash_at):
        whole, broken = recipe(output="whole", dropout=0.3), recipe(output="broken", dropout=0.3)
        trainer(whole).run()
        crash(monkeypatch, trainer(broken), crash_at)
        trainer(broken).run()
        assert_same_weights(whole.output, broken.output, 12)
        for key in ("dev_bleu", "test_bleu", "averaged_test_bleu"):
            assert metrics(whole.output, key) == metrics(broken.output, key)
        assert [step for step, _ in metrics(broken.output, "loss")] == [4, 8, 12]
        assert steps(whole.output) == steps(broken.output)

    @pytest.mark.parametrize("crash_at", [5, 8, 9, 13])
    def test_a_crash_does_not_change_what_is_kept(self, recipe, trainer, scores_by_step, monkeypatch, crash_at):
        scores_by_step(range(4, 17, 4), (5, 3, 4, 1))
        keeping = {"keep_best": 2, "keep_checkpoints": 1, "max_steps": 16, "save_every": 3}
        whole, broken = recipe(output="whole", **keeping), recipe(output="broken", **keeping)
        trainer(whole).run()
        crash(monkeypatch, trainer(broken), crash_at)
        trainer(broken).run()
        assert steps(whole.output) == steps(broken.output) == [4, 12, 16]

    @pytest.mark.parametrize("crash_at", [3, 4, 5, 8, 9, 11])
    def test_a_crash_does_not_change_where_a_plateau_ends(self, recipe, trainer, scores_by_step, monkeypatch, crash_at):
        plateau = {"schedule": "plateau", "decay_patience": 1, "validate_every": 2, "save_every": 3}
        whole, broken = recipe(output="whole", **plateau), recipe(output="broken", **plateau)
        scores_by_step(range(2, 13, 2), (5, 5, 6, 4, 7, 7))
        trainer(whole).run()
        rates = [rate / whole.training.learning_rate for _, rate in metrics(whole.output, "learning_rate")]
        assert rates == [1, 1, 0.5, 0.5, 0.25, 0.25]
        crash(monkeypatch, trainer(broken), crash_at)
        trainer(broken).run()
        assert_same_weights(whole.output, broken.output, 12)
        assert metrics(whole.output, "learning_rate") == metrics(broken.output, "learning_rate")

    def test_a_kill_between_checkpoint_and_mark_loses_no_best(self, recipe, trainer, dev_scores, monkeypatch):
        dev_scores(1, 9, 2, 3)
        settings = recipe(max_steps=16, save_every=2, keep_checkpoints=1)
        mark_best = checkpoint.mark_best

        def crash(run, step, average):
            if step == 8:
                raise CrashError
            mark_best(run, step, average)

        with monkeypatch.context() as patch:
            patch.setattr(checkpoint, "mark_best", crash)
            with pytest.raises(CrashError):
                trainer(settings).run()
        trainer(settings).run()
        assert steps(settings.output) == [8, 16]
        assert checkpoint.model_folder(settings.output).name == "step-000000008"

    def test_metrics_after_the_checkpoint_and_a_line_cut_short_are_dropped(self, recipe, trainer):
        settings = recipe(max_steps=8)
        trainer(settings).run()
        with (settings.output / "metrics.jsonl").open("a") as file:
            file.write('{"step": 9, "loss": 1.0}\n{"step": 3, "lo')
        trainer(recipe(max_steps=9)).run()
        assert [step for step, _ in metrics(settings.output, "loss")] == [4, 8]

    def test_what_killed_processes_left_is_swept(self, recipe, trainer):
        output = recipe().output
        trainer(recipe(max_steps=3)).run()
        left = [f".{name}.0123abcd.new" for name in ("step-000000004", "average", "best.json", "metrics.jsonl")]
        for name in left[:2]:
            (output / name).mkdir()
            (output / name / "model.safetensors").write_text("half")
        for name in left[2:]:
            (output / name).write_text("half")
        (output / ".notes.new").write_text("a user's")
        trainer(recipe(max_steps=4)).run()
        assert [path.name for path in output.glob(".*")] == [".notes.new"]

    def test_one_that_was_stopped_before_its_first_step_goes_on(self, recipe, trainer):
        whole, stopped = recipe(output="whole"), recipe(output="stopped")
        trainer(whole).run()
        run = trainer(stopped)
        run._interruption.came = True
        run.run()
        assert steps(stopped.output) == [0]
        trainer(stopped).run()
        assert_same_weights(whole.output, stopped.output, 12)

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"head": "softmax"}, "was trained with another head than the recipe says; choose another output folder"),
            ({"dropout": 0.5}, "was trained with another model than the recipe says"),
            ({"seed": 77}, "was trained with another seed than the recipe says"),
        ],
    )
    def test_another_recipe_is_refused(self, recipe, trainer, changed, message):
        trainer(recipe(max_steps=3)).run()
        with pytest.raises(ValueError, match=message):
            trainer(recipe(**changed)).run()
        assert steps(recipe().output) == [3]

    def test_another_vocabulary_is_refused(self, recipe, trainer):
        trainer(recipe(max_steps=3)).run()
        path = checkpoint.step_folder(recipe().output, 3) / "vocab.target.txt"
        lines = path.read_text().splitlines(keepends=True)
        path.write_text("".join([*lines[:-2], lines[-1], lines[-2]]))
        with pytest.raises(ValueError, match=r"vocab.target.txt: differs from .*; choose another output folder"):
            trainer(recipe()).run()

    @pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors", "checkpoint.json"])
    def test_a_newest_checkpoint_cut_short_is_named_and_can_be_removed(self, recipe, trainer, name):
        settings = recipe(max_steps=6)
        trainer(settings).run()
        path = checkpoint.step_folder(settings.output, 6) / name
        path.write_bytes(path.read_bytes()[:-5])
        with pytest.raises(ValueError, match=rf"step-000000006/{name}: (damaged|not the desc).* remove this one"):
            trainer(settings).run()
        for file in path.parent.iterdir():
            file.unlink()
        path.parent.rmdir()
        again = trainer(settings)
        again.run()
        assert again.step == 6
        assert steps(settings.output) == [4, 6]


CODED = tuple(
    head | {"code": code}
    for code in ("clusters", "brown")
    for head in ({"type": "binary-ec"}, {"type": "hybrid-9", "loss": "trellis"})
)


@pytest.mark.parametrize("head", CODED, ids=lambda head: f"{head['type']} {head['code']}")
class TestCodesFromText:
    def test_words_are_numbered_by_their_neighbours_in_the_training_text(self, recipe, trainer, head):
        chosen = recipe(head=head, max_steps=2)
        trained = trainer(chosen)
        train, first = trained.corpus.split("train"), 8 if head["type"].startswith("hybrid") else 0
        text = train.target_ids, train.target_lengths, len(trained.corpus.target_vocabulary)
        order = brown_order(*text)
        by_order = ordered_code(order[order >= first] - first)
        expected = by_order if head["code"] == "brown" else cluster_code(word_vectors(*text)[first:])
        trained.run()
        assert trained.model.head.code == expected
        assert load_code(checkpoint.step_folder(chosen.output, 2) / "code.json") == expected

    def test_a_model_is_loaded_without_its_text(self, recipe, trainer, monkeypatch, tmp_path, head):
        chosen = recipe(head=head, max_steps=2)
        chosen.data = shutil.copytree(chosen.data, tmp_path / "data")
        trained = trainer(chosen)
        trained.run()
        shutil.rmtree(chosen.data)
        monkeypatch.setattr("trellex.training.text_codes.learned", None)
        loaded = load_checkpoint(chosen.output)
        assert loaded.model.head.code == trained.model.head.code
        assert loaded.head.model_dump() == dict(head)

    def test_a_resumed_run_takes_the_code_of_its_checkpoint(self, recipe, trainer, monkeypatch, head):
        whole = recipe(head=head, output="whole", max_steps=6)
        trainer(whole).run()
        trainer(recipe(head=head, max_steps=3)).run()
        monkeypatch.setattr("trellex.training.text_codes.learned", None)
        resumed = recipe(head=head, max_steps=6)
        trainer(resumed).run()
        assert_same_weights(whole.output, resumed.output, 6)

    def test_it_is_told_and_made_once(self, recipe, monkeypatch, capsys, head):
        made = []
        for name, make in (("cluster_code", cluster_code), ("ordered_code", ordered_code)):
            monkeypatch.setattr(coded_spec, name, lambda words, make=make: made.append(len(words)) or make(words))
        Trainer(recipe(head=head), Display("tiny"))
        assert made == [15 if head["type"].startswith("hybrid") else 23]
        kind = {"clusters": "clusters", "brown": "Brown clusters"}[head["code"]]
        assert f"tiny: numbering {made[0]} words by {kind}\n" in capsys.readouterr().err

    def test_a_code_of_another_vocabulary_is_refused(self, recipe, trainer, head):
        chosen = recipe(head=head, max_steps=2)
        trainer(chosen).run()
        file = checkpoint.step_folder(chosen.output, 2) / "code.json"
        RandomCode(40).save(file)
        words = 15 if head["type"].startswith("hybrid") else 23
        message = rf"code.json: .*expected one of {words} words, got PermutedCode\(vocab_size=40"
        with pytest.raises(ValueError, match=message):
            load_checkpoint(chosen.output, verify=False)


def test_other_heads_have_no_use_for_a_text(recipe, trainer, monkeypatch):
    monkeypatch.setattr("trellex.training.text_codes.learned", None)
    for head in ("softmax", "binary", {"type": "hybrid-9", "code": "random"}):
        trainer(recipe(head=head))


class TestAlone:
    def test_a_second_run_in_the_same_folder_is_refused_and_changes_nothing(self, recipe, trainer):
        settings = recipe(max_steps=3)
        trainer(settings).run()
        before = {path: path.read_bytes() for path in settings.output.rglob("*") if path.is_file()}
        message = f"^{settings.output}: another process works in this folder; wait for it to end, or choose another"
        early = trainer(recipe())
        with exclusive(settings.output):
            for start in (early.run, lambda: trainer(recipe())):
                with pytest.raises(BlockingIOError, match=message):
                    start()
        assert {path: path.read_bytes() for path in settings.output.rglob("*") if path.is_file()} == before

    def test_the_folder_is_held_until_the_end(self, recipe, trainer, monkeypatch):
        settings, refused = recipe(average=2, max_steps=8), []

        def observed(function):
            def observe(*arguments, **options):
                with pytest.raises(BlockingIOError), exclusive(settings.output):
                    pass
                refused.append(function.__name__)
                return function(*arguments, **options)

            return observe

        for name in ("load_tensors", "save_checkpoint", "mark_best"):
            monkeypatch.setattr(checkpoint, name, observed(getattr(checkpoint, name)))
        trainer(settings).run()
        assert refused[-3:] == ["load_tensors", "save_checkpoint", "mark_best"]  # of the average
        with exclusive(settings.output):
            pass


class TestTrouble:
    def test_full_disk(self, recipe, trainer, monkeypatch):
        settings = recipe(save_every=2)
        trainer(recipe(save_every=2, max_steps=2)).run()
        folder = checkpoint.step_folder(settings.output, 2)
        before = {path.name: path.read_bytes() for path in folder.iterdir()}

        def full(*arguments):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patch:
            patch.setattr(checkpoint, "save_file", full)
            with pytest.raises(OSError, match=r"step-000000004: could not be written .*no space left"):
                trainer(settings).run()
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
        assert steps(settings.output) == [2]
        assert not list(settings.output.glob("*.tmp"))
        trainer(settings).run()
        assert steps(settings.output)[-1] == 12

    def test_a_loss_that_is_no_number_ends_the_run(self, recipe, trainer, monkeypatch):
        settings = recipe(save_every=100)
        monkeypatch.setattr(Trainer, "_train_on", _losing(Trainer._train_on, 3))
        with pytest.raises(FloatingPointError, match=r"the loss became nan at step 4; lower training.learning_rate"):
            trainer(settings).run()
        assert not (settings.output / "metrics.jsonl").exists()
        assert steps(settings.output) == []

    def test_lost_weights_never_displace_good_ones(self, recipe, trainer, monkeypatch):
        settings = recipe(save_every=1, keep_checkpoints=1, validate_every=50)
        monkeypatch.setattr(Trainer, "_train_on", _losing(Trainer._train_on, 3))
        with pytest.raises(FloatingPointError, match=r"a weight is no longer a finite number at step 3"):
            trainer(settings).run()
        assert steps(settings.output) == [2]

    def test_a_signal_saves_and_a_second_run_goes_on(self, recipe, trainer, monkeypatch):
        whole, broken = recipe(output="whole"), recipe(output="broken")
        trainer(whole).run()
        handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        train_on = Trainer._train_on

        def interrupt(self, shared, batch):
            if self.step == 4:
                os.kill(os.getpid(), signal.SIGTERM)
            return train_on(self, shared, batch)

        run = trainer(broken)
        with monkeypatch.context() as patch:
            patch.setattr(Trainer, "_train_on", interrupt)
            run.run()
        assert (run.was_interrupted, run.step, steps(broken.output)[-1]) == (True, 5, 5)
        assert handlers == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        trainer(broken).run()
        assert_same_weights(whole.output, broken.output, 12)

    def test_precision_and_device_that_are_not_there(self, recipe, trainer):
        with pytest.raises(ValueError, match=r"training.precision: bfloat16 is for GPUs; use float32"):
            trainer(recipe(precision="bfloat16"))
        if not torch.cuda.is_available():
            with pytest.raises(ValueError, match=r"device: cuda was asked for.*; use cpu or auto"):
                trainer(recipe(device="cuda"))

    def test_a_softmax_larger_than_the_vocabulary(self, recipe, trainer):
        with pytest.raises(ValueError, match=r"N = 5000 does not fit a vocabulary of 23 words.*choose a smaller N"):
            trainer(recipe("hybrid-5000"))


def _losing(train_on, step):
    """Training whose weights turn into NaN at a step."""

    def losing(self, shared, batch):
        if self.step + 1 == step:
            with torch.no_grad():
                next(self.model.parameters())[:] = torch.nan
        return train_on(self, shared, batch)

    return losing

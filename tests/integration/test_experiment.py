"""A grid of two cells through the real command line: whole, in pieces, and with a cell that fails."""

import json
import os
import shutil
import signal
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from trellex.evaluation import token_bleu
from trellex.evaluation.bands import word_bands
from trellex.evaluation.result import Result
from trellex.experiment.display import STYLES
from trellex.experiment.job import Job
from trellex.experiment.phases import score
from trellex.search import SearchSettings
from trellex.shortlist.model import ListedModel
from trellex.shortlist.recall import Recall
from trellex.shortlist.shortlist import Shortlist
from trellex.text.corpus import Corpus
from trellex.text.vocabulary import MARKERS, UNK
from trellex.training import checkpoint
from trellex.training.loading import load_checkpoint
from trellex.training.validation import translate_split

HEADS = ["softmax", {"type": "binary-ec", "decoding": "paper"}]  # the first with a shortlist, too
NAMES = ["phrases-en-ja-softmax-seed-1", "phrases-en-ja-binary-ec-seed-1"]


@pytest.fixture(scope="module")
def write_grid(data, write_recipe):
    """Writes a grid of both heads into a folder, with its recipe; returns where everything is."""

    def write_grid(folder, at_once=2, timed=("gpu", "cpu", "int8"), **training):
        training = {"max_steps": 33, "validate_every": 10, "save_every": 2, "patience": None} | training
        recipe = write_recipe(folder / "recipe", **training)
        block = {"corpus": "Phrases", "stands_for": "BTEC", "recipe": str(recipe), "data": [str(data)], "heads": HEADS}
        block |= {"shortlist": True}
        runs, results, path = folder / "runs", folder / "results", folder / "grid.yaml"
        grid = {"runs": str(runs), "results": str(results), "at_once": at_once, "timed": list(timed)}
        grid |= {"grid": [block]}
        path.write_text(yaml.safe_dump(grid, sort_keys=False))
        return SimpleNamespace(path=path, runs=runs, results=results)

    return write_grid


@pytest.fixture(scope="module")
def whole(write_grid, process, tmp_path_factory):
    """The grid, run without interruption and timed."""
    grid = write_grid(tmp_path_factory.mktemp("whole"))
    finished = process("experiment", grid.path, "--json")
    assert finished.exit_code == 0, finished.stderr
    grid.rows, grid.stderr = json.loads(finished.stdout), finished.stderr
    return grid


def results(grid):
    return [Result.load(grid.results / f"{name}.json") for name in NAMES]


def untimed(whole, grid):
    """A grid's folders, with what is known of the whole one but its times."""
    for folder in ("runs", "results"):
        shutil.copytree(getattr(whole, folder), getattr(grid, folder), dirs_exist_ok=True)
    for result in results(grid):
        result.timing = None
        result.recipe["output"] = str(grid.runs / result.cell.name)
        result.save(grid.results / f"{result.cell.name}.json")
    return grid


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def has_begun(grid):
    return lambda: any((grid.runs / name / "metrics.jsonl").exists() for name in NAMES)


def children(process):
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def assert_same_results(grid, other):
    """All but the folders and what clocks say."""
    for mine, theirs in zip(results(grid), results(other), strict=True):
        for name in (
            "cell",
            "size",
            "losses",
            "curve",
            "best",
            "perplexity",
            "averaged_test_bleu",
            "scores",
            "selection",
            "bands",
            "bit_errors",
        ):
            assert getattr(mine, name) == getattr(theirs, name), name
        for name in ("steps", "epochs", "tokens"):
            assert getattr(mine.training, name) == getattr(theirs.training, name), name


class TestWhole:
    def test_rows_and_lines(self, whole):
        assert [row["cell"] for row in whole.rows] == NAMES
        for row, result in zip(whole.rows, results(whole), strict=True):
            assert (row["state"], row["step"], row["timed"]) == ("done", 33, True)
            assert (row["dev BLEU"], row["test BLEU"]) == (result.best.dev, result.best.test)
            assert row["test BLEU is"] == "best checkpoint"
            assert f"{row['cell']}: done: " in whole.stderr
            assert f"test BLEU {result.best.test:.2f} (best checkpoint)" in whole.stderr
        for name in NAMES:
            told = [line.split(": ")[1] for line in whole.stderr.splitlines() if line.startswith(name)]
            states = [each for each in told if each in STYLES]  # on a slow machine there are lines of progress, too
            assert states == ["training", "done", "timing", "done"]

    def test_scores_are_those_of_the_best_checkpoint_whatever_stands_for_the_run(self, whole, tmp_path):
        run, expected = tmp_path / "run", results(whole)[0]
        shutil.copytree(whole.runs / NAMES[0], run)
        (run / "average").mkdir()
        checkpoint.mark_best(run, expected.best.step, average=True)
        job = Job.load(run / "job.json")
        places = {"recipe": job.recipe.model_copy(update={"output": run}), "result_file": tmp_path / "result.json"}
        score(job.model_copy(update=places))
        assert Result.load(tmp_path / "result.json").scores == expected.scores

    def test_every_field_is_filled(self, whole, data):
        softmax, binary = results(whole)
        assert [result.cell.head.model_dump() for result in (softmax, binary)] == HEADS
        assert binary.cell.stands_for == "BTEC"
        assert softmax.bit_errors is None
        assert binary.bit_errors.predictions > 0
        assert (softmax.size.bits, softmax.size.outputs) == (None, softmax.size.vocabulary)
        assert binary.size.bits == binary.size.outputs
        for result in (softmax, binary):
            assert [evaluation.step for evaluation in result.curve] == [10, 20, 30]
            assert [loss.step for loss in result.losses] == [10, 20, 30]
            assert 1 < result.perplexity < 2 * result.size.vocabulary
            assert result.size.multiply_adds == 32 * result.size.outputs
            assert result.best.dev == max(evaluation.dev for evaluation in result.curve)
            assert result.averaged_test_bleu is None  # of 3 evaluations
            assert set(result.scores) == {"greedy", "beam 5"}
            assert result.scores["greedy"].token_bleu == pytest.approx(result.best.test)
            assert all(len(score.sentences) == 40 for score in result.scores.values())
            assert "tok:char" in result.scores["greedy"].signatures[1]
            assert len(result.rarest) == 40
            assert sum(band.expected for band in result.bands) > 40
            assert result.size.softmax_parameters == 33 * result.size.vocabulary

    def test_a_softmax_with_a_shortlist(self, whole, data):
        """Its scores are those that `trellex shortlist` tells of the same model."""
        softmax, binary = results(whole)
        assert binary.selection is binary.timing.listed is None
        [path] = (whole.runs / "shortlists").glob("*.shortlist")
        shortlist, corpus = Shortlist.load(path), Corpus.open(data)
        recall = Recall.of(shortlist, corpus.split("test"))
        assert (softmax.selection.recall, softmax.selection.list_words) == (recall.share, recall.mean_size)
        assert 0 < softmax.selection.recall <= 1
        assert len(MARKERS) < softmax.selection.list_words < softmax.size.vocabulary
        model = ListedModel(load_checkpoint(whole.runs / NAMES[0], "cpu"), shortlist)
        for beam, name in ((1, "greedy"), (5, "beam 5")):
            translations = translate_split(model, corpus, "test", SearchSettings(beam=beam))
            lines = [
                [" ".join(tokens) for tokens in side] for side in (translations, corpus.split("test").target_tokens)
            ]
            assert softmax.selection.scores[name].token_bleu == pytest.approx(token_bleu(*lines).score)

    def test_training_is_recorded_to_the_last_step(self, whole, data):
        manifest = json.loads((data / "manifest.json").read_text())
        train = manifest["splits"]["train"]
        for result in results(whole):
            training = result.training
            assert (training.steps, training.side_by_side, training.peak_memory) == (33, 2, None)
            assert training.epochs == pytest.approx(33 / 38, rel=0.2)  # 600 pairs, 16 a batch
            assert training.tokens == round(training.epochs * (train["target"]["tokens"] + train["pairs"]))
            assert training.seconds > 0
            assert training.tokens_per_second > 0

    def test_timing(self, whole):
        for result in results(whole):
            timing = result.timing
            assert (timing.batch_sentences, timing.sentences) == (16, 20)
            assert (timing.gpu, timing.gpu_sentence) == (None, None)
            assert min(timing.train_batch, timing.cpu_sentence, timing.batch_tokens) > 0
            assert timing.cpu
            assert timing.other_cores >= 0
            for pace in filter(None, (timing.int8, timing.listed)):
                assert pace.sentence > 0
                assert pace.steps >= 1
        assert results(whole)[0].timing.listed is not None
        assert len({result.timing.begun for result in results(whole)}) == 1
        assert sorted(path.name for path in whole.runs.iterdir()) == sorted(["lock", "shortlists", *NAMES])

    @pytest.mark.parametrize(("engine", "other"), [("cpu", "int8"), ("int8", "cpu_sentence"), ("compact", "int8")])
    def test_only_what_the_grid_asks_for_is_timed(self, whole, write_grid, trellex, tmp_path, engine, other):
        grid = untimed(whole, write_grid(tmp_path, timed=[engine]))
        assert trellex("experiment", grid.path).exit_code == 0
        for result in results(grid):
            assert getattr(result.timing, other) is None
            assert result.timing.train_batch > 0
        assert (results(grid)[0].timing.listed is None) == (engine != "int8")

    def test_exports_are_measured(self, whole, write_grid, trellex, tmp_path):
        grid = untimed(whole, write_grid(tmp_path, timed=["int8", "compact"]))
        assert trellex("experiment", grid.path).exit_code == 0
        for name, result in zip(NAMES, results(grid), strict=True):
            for precision in ("int8", "compact"):
                export = tmp_path / f"{name}.{precision}"
                assert trellex("export", grid.runs / name, export, "--precision", precision).exit_code == 0
                assert getattr(result.timing, precision).bytes == sum(file.stat().st_size for file in export.iterdir())
            if result.timing.listed:
                [shortlist] = (grid.runs / "shortlists").glob("*.shortlist")
                assert result.timing.listed.bytes == result.timing.int8.bytes + shortlist.stat().st_size
        assert any(result.timing.listed for result in results(grid))

    def test_a_cell_that_cannot_be_timed_is_named(self, whole, write_grid, trellex, tmp_path):
        grid = untimed(whole, write_grid(tmp_path))
        weights = checkpoint.best_checkpoint(grid.runs / NAMES[1]) / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:100])
        failed = trellex("experiment", grid.path, "--json")
        assert failed.exit_code == 1
        assert f"RuntimeError: {NAMES[1]}: " in failed.stderr
        assert f"({grid.runs / NAMES[0] / 'log.txt'})" in failed.stderr
        assert all(result.timing is None for result in results(grid))

    def test_a_second_time_there_is_nothing_to_do(self, whole, trellex):
        before = {path: path.stat().st_mtime_ns for path in whole.results.iterdir()}
        again = trellex("experiment", whole.path, "--json")
        assert (again.exit_code, json.loads(again.stdout), again.stderr) == (0, whole.rows, "")
        assert {path: path.stat().st_mtime_ns for path in whole.results.iterdir()} == before

    def test_another_recipe_is_refused(self, whole, trellex, write_grid, tmp_path):
        other = yaml.safe_load(write_grid(tmp_path, learning_rate=0.5).path.read_text())
        (tmp_path / "other.yaml").write_text(yaml.safe_dump(other | {"results": str(whole.results)}))
        refused = trellex("experiment", tmp_path / "other.yaml")
        assert refused.exit_code == 1
        assert f"{NAMES[0]}.json: made with learning_rate 0.01, but the grid says 0.5" in refused.stderr

    @pytest.mark.slow
    def test_more_batches(self, whole, write_grid, trellex, tmp_path):
        longer = write_grid(tmp_path, max_steps=40)
        for folder in ("runs", "results"):
            shutil.copytree(getattr(whole, folder), getattr(longer, folder), dirs_exist_ok=True)
        refused = trellex("experiment", longer.path, "--no-timing")
        assert refused.exit_code == 1
        assert "made with max_steps 33, but the grid says 40; go back to that, or remove this file to" in refused.stderr
        for path in longer.results.iterdir():
            path.unlink()
        assert trellex("experiment", longer.path, "--no-timing").exit_code == 0
        for before, after in zip(results(whole), results(longer), strict=True):
            assert [each.step for each in after.curve] == [10, 20, 30, 40]
            assert after.curve[:3] == before.curve[:3]


def test_unknown_source_words_by_their_spelling(write_grid, prepare_options, trellex, tmp_path):
    """As `trellex translate` reads them, if vectors are composed; how many there are is told of all models."""
    assert trellex("prepare", tmp_path / "data", *prepare_options(), "--source-vocab-size", 60).exit_code == 0
    grid = write_grid(tmp_path, at_once=1, max_steps=12, validate_every=12)
    settings = yaml.safe_load(grid.path.read_text())
    block = settings["grid"][0] | {"data": [str(tmp_path / "data")], "heads": ["binary-ec"], "shortlist": False}
    composed = {"embeddings": {"type": "composed", "residual": 4}}
    settings["grid"] = [block, block | {"variant": "composed", "model": composed}]
    grid.path.write_text(yaml.safe_dump(settings))
    finished = trellex("experiment", grid.path, "--no-timing")
    assert finished.exit_code == 0, finished.stderr
    plain, composed = (Result.load(path) for path in sorted(grid.results.iterdir(), key=lambda path: len(path.name)))
    test = Corpus.open(tmp_path / "data").split("test")
    assert plain.unknown == composed.unknown == [int((test.source(row) == UNK).sum()) for row in range(len(test))]
    assert any(plain.unknown)
    assert (plain.spelled, plain.spelled_bands) == (None, None)
    (tmp_path / "test.en").write_text("\n".join(test.source_lines) + "\n")
    for search, width in (("greedy", 1), ("beam 5", 5)):
        options = ("--tokens", "--spell-unknown", "--beam", width)
        lines = trellex("translate", grid.runs / composed.cell.name, tmp_path / "test.en", *options).stdout.splitlines()
        expected = token_bleu(lines, [" ".join(words) for words in test.target_tokens]).score
        assert composed.spelled[search].token_bleu == pytest.approx(expected)
        assert composed.spelled[search].sentences != composed.scores[search].sentences
        if search == "greedy":
            found = [line.split() for line in lines]
            vocabulary = Corpus.open(tmp_path / "data").target_vocabulary
            assert composed.spelled_bands == word_bands(found, test.target_tokens, vocabulary) != composed.bands
    for cell, is_told in ((composed.cell, False), (plain.cell, True)):
        (tmp_path / "test.ja").write_text("\n".join(" ".join(words) for words in test.target_tokens) + "\n")
        for verb, files in (("translate", ["test.en"]), ("score", ["test.en", "test.ja"])):
            paths = [tmp_path / name for name in files]
            said = trellex(verb, grid.runs / cell.name, *paths, "--spell-unknown").stderr
            assert ("warning: --spell-unknown changes nothing here" in said) == is_told


@pytest.mark.slow
def test_interrupted_again_and_again(whole, write_grid, process, trellex, tmp_path):
    grid = write_grid(tmp_path, save_every=1_000_000)
    running = process.start("experiment", grid.path, "--no-timing", "--json")
    wait_until(has_begun(grid))
    running.send_signal(signal.SIGINT)
    stopped = process.finish(running)
    assert stopped.exit_code == 130
    assert "stopped; the same command goes on from there" in stopped.stderr
    assert {row["state"] for row in json.loads(stopped.stdout)} == {"stopped"}
    assert any(checkpoint.checkpoints(grid.runs / name) for name in NAMES)

    running = process.start("experiment", grid.path, "--no-timing")
    wait_until(lambda: len(children(running)) == 2)
    for pid in [running.pid, *children(running)]:
        os.kill(pid, signal.SIGKILL)
    process.finish(running)
    assert list(grid.results.iterdir()) == []

    running = process.start("experiment", grid.path, "--no-timing")
    wait_until(lambda: len(children(running)) == 2)
    running.kill()  # the other processes end by themselves, and the next command waits until they have
    process.finish(running)
    assert list(grid.results.iterdir()) == []

    again = trellex("experiment", grid.path, "--no-timing")
    assert again.exit_code == 0, again.stderr
    assert_same_results(grid, whole)
    assert all(result.timing is None for result in results(grid))
    assert sorted(path.name for path in grid.results.iterdir()) == sorted(f"{name}.json" for name in NAMES)


def test_a_cell_that_fails_stops_no_other(write_grid, trellex, tmp_path):
    grid = write_grid(tmp_path, at_once=1, max_steps=2, validate_every=2)
    (grid.runs / NAMES[0] / "step-000000001").mkdir(parents=True)
    listed = trellex("experiment", grid.path, "--list", "--json")
    assert [row["state"] for row in json.loads(listed.stdout)] == ["waiting", "waiting"]
    assert trellex("experiment", grid.path, "--list").stdout.count("waiting") == 2
    failed = trellex("experiment", grid.path, "--no-timing", "--json")
    assert failed.exit_code == 1
    assert [row["state"] for row in json.loads(failed.stdout)] == ["failed", "done"]
    assert f"error: {NAMES[0]}: ended with status 1: FileNotFoundError: " in failed.stderr
    assert "no checkpoint.json here" in failed.stderr
    assert f"({grid.runs / NAMES[0] / 'log.txt'})" in failed.stderr
    listed = trellex("experiment", grid.path, "--list", "--only", "binary")
    assert (listed.stdout.count("done"), listed.stdout.count("softmax")) == (1, 0)

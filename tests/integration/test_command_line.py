"""Every verb from the outside: what it prints, what it leaves, and what it says of bad input."""

import errno
import gzip
import json
import os
import re
import shlex
import sys
from importlib.metadata import version

import pytest
import typer
import yaml

from trellex.cli import app
from trellex.training import checkpoint, validation

VERBS = typer.main.get_command(app).commands
UNKNOWN = "qwx zzyzx vlork"


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def assert_error(result, *parts):
    """A line on stderr that holds all parts, exit status 1 and nothing on stdout."""
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: "), result.stderr
    assert "Traceback" not in result.stderr
    for part in parts:
        assert str(part) in result.stderr


class TestHelp:
    @pytest.mark.parametrize("verb", VERBS)
    def test_has_an_example_that_parses(self, trellex, verb):
        result = trellex(verb, "--help")
        assert result.exit_code == 0
        for example in VERBS[verb].epilog.split("\n\n"):
            assert example.startswith("Example: ")
            assert f"trellex {verb}" in example
            assert example.split("|")[0].strip() in " ".join(result.stdout.split())
            program, name, *arguments = shlex.split(example.removeprefix("Example: ").split(" | ")[-1])
            assert (program, name) == ("trellex", verb)
            VERBS[verb].make_context(verb, arguments)

    def test_lists_the_verbs(self, process):
        result = process("--help")
        assert result.exit_code == 0
        assert all(verb in result.stdout for verb in VERBS)

    def test_there_are_seven_verbs(self):
        assert set(VERBS) >= {"prepare", "train", "translate", "score", "evaluate", "export", "info"}


class TestPrepare:
    def test_tells_what_came_of_it(self, trellex, data, prepare_options):
        result = trellex("prepare", data, *prepare_options(), "--json")
        told = json.loads(result.stdout)
        assert (told["train pairs"], told["dev pairs"], told["test pairs"]) == (600, 40, 40)
        assert told["target words"] > 500
        assert result.stdout.count("\n") == 1
        assert told["source"] == {"language": "en", "tokenizer": "whitespace", "lowercase": False, "min_count": 1}
        assert told["splits"]["dev"]["target"]["max_length"] >= told["splits"]["dev"]["target"]["length_95"] > 0

    def test_has_a_table_for_people(self, trellex, data, prepare_options):
        told = json.loads(trellex("prepare", data, *prepare_options(), "--json").stdout)
        result = trellex("prepare", data, *prepare_options())
        rows = [re.split(" {2,}", line.strip()) for line in result.stdout.splitlines()]
        assert ["train", "dev", "test"] in rows
        assert ["pairs", "600", "40", "40"] in rows
        assert ["source: en, whitespace"] in rows
        assert ["vocabulary", f"{told['target words']:,}"] in rows
        rates = [f"{split['source']['unknown_rate']:.2%}" for split in told["splits"].values()]
        assert ["unknown tokens", *rates] in rows
        assert "\x1b" not in result.stdout

    def test_warns_on_stderr_each_time(self, trellex, tmp_path, phrasebook, prepare_options):
        options = prepare_options(dev_source=phrasebook / "dev.ja", dev_target=phrasebook / "dev.en")
        for _ in range(2):
            result = trellex("prepare", tmp_path / "data", *options, "--json")
            assert result.exit_code == 0
            few, swapped = result.stderr.splitlines()
            assert few.startswith(f"warning: {phrasebook / 'train.en'} and {phrasebook / 'train.ja'}: 600 pairs")
            assert swapped.startswith("warning: dev_source looks like target-language text")
            assert [f"warning: {told}" for told in json.loads(result.stdout)["warnings"]] == [few, swapped]

    def test_tokenizers(self, trellex, tmp_path, prepare_options):
        def tokenizers(*more, **replaced):
            options = prepare_options(**replaced)
            place = options.index("--tokenizer")
            if not replaced.get("tokenizer"):
                del options[place : place + 2]
            told = json.loads(trellex("prepare", tmp_path / "data", *options, *more, "--json").stdout)
            return told["source"]["tokenizer"], told["target"]["tokenizer"]

        assert tokenizers() == ("moses", "mecab")
        assert tokenizers("--target-tokenizer", "characters") == ("moses", "characters")
        assert tokenizers("--source-tokenizer", "moses", tokenizer="whitespace") == ("moses", "whitespace")

    def test_a_second_run_changes_nothing(self, process, data, prepare_options):
        before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in data.iterdir()}
        assert process("prepare", data, *prepare_options()).exit_code == 0
        assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in data.iterdir()} == before

    def test_other_settings_replace_the_corpus(self, trellex, tmp_path, prepare_options):
        for size in (100, 50):
            options = prepare_options(target_vocab_size=size)
            assert json.loads(trellex("prepare", tmp_path / "data", *options, "--json").stdout)["target words"] == size


class TestBadText:
    """An older corpus stays as it was, and no half of a new one is left."""

    @pytest.fixture
    def refused(self, trellex, tmp_path, data, prepare_options):
        """Prepares into a folder that holds a corpus, and into a new one; checks that neither changes."""

        def refused(*parts, **replaced):
            before = contents(data)
            for folder in (data, tmp_path / "new" / "data"):
                folder.parent.mkdir(exist_ok=True)
                assert_error(trellex("prepare", folder, *prepare_options(**replaced)), *parts)
            assert contents(data) == before
            assert [path.name for path in data.parent.iterdir()] == [data.name]
            assert list((tmp_path / "new").iterdir()) == []

        return refused

    @pytest.mark.parametrize("split", ["train", "dev"])
    def test_sides_of_different_length(self, refused, tmp_path, phrasebook, split):
        lines = (phrasebook / f"{split}.ja").read_text().splitlines(keepends=True)
        (tmp_path / "short.ja").write_text("".join(lines[:-3]))
        counts = [f"{len(lines)} lines", f"short.ja has {len(lines) - 3}"]
        refused(*counts, **{f"{split}_target": tmp_path / "short.ja"})

    def test_invalid_utf8(self, refused, tmp_path, phrasebook):
        lines = (phrasebook / "train.en").read_bytes().splitlines(keepends=True)
        lines[416] = b"caf\xe9 .\n"
        (tmp_path / "latin.en").write_bytes(b"".join(lines))
        refused(f"{tmp_path / 'latin.en'} line 417: not valid UTF-8", train_source=tmp_path / "latin.en")

    def test_empty_corpus(self, refused, tmp_path):
        (tmp_path / "empty").write_text("")
        refused("empty", train_source=tmp_path / "empty", train_target=tmp_path / "empty")

    def test_no_pair_of_a_wanted_length(self, refused):
        refused("length", min_length=50, max_length=60)

    def test_missing_file(self, refused, tmp_path):
        refused(tmp_path / "none.en", train_source=tmp_path / "none.en")

    def test_options(self, refused):
        refused("source_tokenizer", "mosess", "moses", source_tokenizer="mosess")
        refused("source_language: 'jp' is no language code; did you mean 'ja' (Japanese)?", source_language="jp")
        refused("min_length: 9 is more than max_length, 3", min_length=9, max_length=3)
        refused("target_vocab_size", "greater than or equal to 4", target_vocab_size=2)

    def test_a_folder_that_is_something_else_is_spared(self, trellex, tmp_path, prepare_options):
        (tmp_path / "thesis.tex").write_text("years of work")
        assert_error(trellex("prepare", tmp_path, *prepare_options()), tmp_path, "no prepared corpus")
        assert (tmp_path / "thesis.tex").read_text() == "years of work"


class TestTrain:
    def test_json_alone_on_stdout(self, trained):
        told = json.loads(trained.stdout)
        assert told.keys() == {"output", "step", "best step", "dev BLEU", "test BLEU", "test BLEU is"}
        assert (told["output"], told["step"]) == (str(trained.run), 40)
        assert trained.stdout.count("\n") == 1
        assert "step 10: dev BLEU" in trained.stderr

    @pytest.mark.parametrize(("steps", "mean"), [(9, {}), (10, {"test BLEU, mean of 5": 7.0})])
    def test_the_mean_of_5_of_long_trainings_alone(self, trellex, write_recipe, tmp_path, monkeypatch, steps, mean):
        scores = iter(score for step in range(steps) for score in (step, step))
        monkeypatch.setattr(validation, "split_bleu", lambda *arguments: float(next(scores)))
        recipe = write_recipe(tmp_path / "run", max_steps=steps, validate_every=1, save_every=steps)
        told = json.loads(trellex("train", recipe, "--quiet", "--json").stdout)
        best = {
            "best step": steps,
            "dev BLEU": steps - 1.0,
            "test BLEU": steps - 1.0,
            "test BLEU is": "best checkpoint",
        }
        assert told == {"output": str(tmp_path / "run"), "step": steps} | best | mean

    def test_leaves_checkpoints_and_metrics(self, trained):
        best = json.loads((trained.run / "best.json").read_text())["step"]
        kept = {int(folder.name.removeprefix("step-")) for folder in checkpoint.checkpoints(trained.run)}
        assert kept == {best, 39, 40}
        assert best == json.loads(trained.stdout)["best step"]
        metrics = [json.loads(line) for line in (trained.run / "metrics.jsonl").read_text().splitlines()]
        assert [line["step"] for line in metrics if "loss" in line] == [10, 20, 30, 40]
        scores = {line["step"]: line["dev_bleu"] for line in metrics if "dev_bleu" in line}
        assert max(scores, key=scores.get) == best

    def test_a_finished_run_stays_as_it_is(self, trellex, trained):
        before = contents(trained.run)
        result = trellex("train", trained.recipe, "--json")
        assert result.exit_code == 0
        assert result.stdout == trained.stdout
        assert contents(trained.run) == before

    def test_options_replace_what_the_recipe_says(self, trellex, trained, tmp_path):
        options = ("--head", "softmax", "--output", tmp_path / "other", "--seed", 7, "--max-steps", 2, "--quiet")
        result = trellex("train", trained.recipe, *options)
        assert result.exit_code == 0
        assert result.stderr == ""
        assert str(tmp_path / "other") in result.stdout
        recipe = checkpoint.load_info(checkpoint.model_folder(tmp_path / "other")).recipe
        assert (recipe.head.type, recipe.training.seed) == ("softmax", 7)

    def test_a_head_with_options(self, trellex, trained, tmp_path):
        head = {"type": "binary-ec", "loss": "trellis"}
        options = ("--head", "{type: binary-ec, loss: trellis}", "--output", tmp_path / "run", "--max-steps", 2)
        result = trellex("train", trained.recipe, *options)
        assert result.exit_code == 0
        assert checkpoint.load_info(checkpoint.model_folder(tmp_path / "run")).recipe.head.model_dump() == head
        told = json.loads(trellex("info", tmp_path / "run", "--json").stdout)
        assert json.loads(told["head"]) == head
        assert told["#out"] == told["B"] > 0
        assert '"loss": "trellis"' in trellex("info", tmp_path / "run").stdout

    def test_any_key_can_be_set(self, trellex, trained, tmp_path):
        changes = (
            "training.max_steps=2",
            "training.learning_rate=0.5",
            "head.loss=trellis",
            f"output={tmp_path / 'x'}",
        )
        assert (
            trellex("train", trained.recipe, *(part for change in changes for part in ("--set", change))).exit_code == 0
        )
        recipe = checkpoint.load_info(checkpoint.model_folder(tmp_path / "x")).recipe
        assert recipe.head.model_dump() == {"type": "hybrid-64-ec", "loss": "trellis"}
        assert (recipe.training.max_steps, recipe.training.learning_rate) == (2, 0.5)

    def test_averages_in_the_end(self, trellex, trained, tmp_path):
        options = ("--output", tmp_path / "run", "--set", "training.average=2", "--quiet", "--json")
        told = json.loads(trellex("train", trained.recipe, *options).stdout)
        steps = [int(step) for step in told["average of steps"].split(", ")]
        assert len(steps) == 2
        assert told["best step"] in steps
        better = {"yes": True, "no": False}[told["better than the best"]]
        assert better == (told["stands for the run"] == str(tmp_path / "run" / "average"))
        assert better == (told["dev BLEU of the average"] > told["dev BLEU"])


class TestAverage:
    def test_is_a_checkpoint_like_others(self, trellex, copied, phrasebook, tmp_path):
        result = trellex("average", copied, "--last", 2, "--output", tmp_path / "mean", "--json")
        assert result.exit_code == 0, result.stderr
        told = json.loads(result.stdout)
        assert (told["output"], told["average of steps"]) == (str(tmp_path / "mean"), "39, 40")
        assert told.keys() >= {"dev BLEU of the average", "test BLEU of the average"}
        assert "stands for the run" not in told
        assert json.loads(trellex("info", tmp_path / "mean", "--json").stdout)["average of steps"] == "39, 40"
        assert trellex("export", tmp_path / "mean", tmp_path / "fp32", "--precision", "fp32").exit_code == 0
        source, target = phrasebook / "test.en", phrasebook / "test.ja"
        ours, exported = (trellex("translate", tmp_path / x, source, "--tokens") for x in ("mean", "fp32"))
        assert ours.stdout == exported.stdout != trellex("translate", copied, source, "--tokens").stdout
        assert trellex("score", tmp_path / "mean", source, target).exit_code == 0
        (tmp_path / "mean.ja").write_text(ours.stdout)
        bleu = trellex("evaluate", tmp_path / "mean.ja", target, "--language", "ja", "--json", "--resamples", 0)
        assert json.loads(bleu.stdout)["token BLEU"] == told["test BLEU of the average"]

    def test_the_run_stands_for_the_better(self, trellex, copied):
        for kind in (("--best", 2), ("--last", 3)):
            told = json.loads(trellex("average", copied, *kind, "--json").stdout)
            expected = (
                copied / "average" if told["better than the best"] == "yes" else checkpoint.best_checkpoint(copied)
            )
            assert told["stands for the run"] == str(expected) == str(checkpoint.model_folder(copied))

    def test_unless_told_it_takes_the_best_that_were_kept(self, trellex, copied):
        told = [json.loads(trellex("average", copied, *best, "--json").stdout) for best in ((), ("--best", 2))]
        assert told[0] == told[1]

    def test_without_the_corpus_it_is_not_evaluated(self, trellex, copied):
        for folder in checkpoint.checkpoints(copied):
            info = json.loads((folder / "checkpoint.json").read_text())
            info["recipe"]["data"] = str(copied / "nowhere")
            del info["checksum"]
            (folder / "checkpoint.json").write_text(json.dumps(info))
        before = checkpoint.model_folder(copied)
        result = trellex("average", copied, "--last", 2, "--json")
        assert result.exit_code == 0
        assert f"not evaluated: {copied / 'nowhere'}" in result.stderr
        assert json.loads(result.stdout).keys() == {"output", "average of steps", "stands for the run"}
        assert checkpoint.model_folder(copied) == before

    def test_too_few(self, trellex, copied):
        before = contents(copied)
        assert_error(trellex("average", copied, "--best", 5), "not 5", "training.keep_best of 5")
        assert_error(trellex("average", copied, "--last", 9), "not 9", "training.keep_checkpoints of 9")
        assert_error(trellex("average", copied, "--last", 2, "--best", 2), "give one of --best and --last")
        assert_error(trellex("average", copied / "none"), copied / "none", "give the folder of a run")
        assert contents(copied) == before


class TestBadRecipe:
    @pytest.fixture
    def refused(self, trellex, trained, tmp_path):
        """Trains with a changed recipe; checks that no output appears."""

        def refused(*parts, change=lambda recipe: None, options=()):
            recipe = yaml.safe_load(trained.recipe.read_text()) | {"output": str(tmp_path / "run")}
            change(recipe)
            (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(recipe))
            assert_error(trellex("train", tmp_path / "recipe.yaml", *options), *parts)
            assert not (tmp_path / "run").exists()

        return refused

    def test_missing_recipe(self, trellex, tmp_path):
        assert_error(trellex("train", tmp_path / "none.yaml"), f"{tmp_path / 'none.yaml'}: there is no such recipe")

    def test_missing_data(self, refused, tmp_path):
        remedy = "make one with `trellex prepare`"
        refused(tmp_path / "nowhere", remedy, change=lambda recipe: recipe.update(data=str(tmp_path / "nowhere")))

    def test_unknown_keys(self, refused):
        refused("haed: unknown key", "'head'", change=lambda recipe: recipe.update(haed="softmax"))
        key = "training.batch_sentence"
        refused(key, "'batch_sentences'", change=lambda recipe: recipe["training"].update(batch_sentence=8))

    def test_keys_that_are_set(self, refused):
        refused(
            "learning_rate: unknown key; did you mean 'training.learning_rate'?", options=("--set", "learning_rate=1")
        )
        refused("expected key=value", "'training.seed'", options=("--set", "training.seed"))
        refused("training.seed: was set twice", options=("--set", "training.seed=1", "--seed", 2))
        refused(
            "decay_steps",
            "make it null",
            options=("--set", "training.schedule=plateau", "--set", "training.decay_steps=3"),
        )

    def test_wrong_types(self, refused):
        refused("training.max_steps", "integer", change=lambda recipe: recipe["training"].update(max_steps="many"))
        refused("model.dropout", "number", change=lambda recipe: recipe["model"].update(dropout=[1]))
        refused("training.device", "'cpu'", change=lambda recipe: recipe["training"].update(device="gpu"))

    def test_vocabulary_smaller_than_the_softmax(self, refused):
        refused("N = 5000", "a smaller N", options=("--head", "hybrid-5000"))

    def test_unknown_head(self, refused):
        refused("hybrid-N-ec", "'sofmax'", options=("--head", "sofmax"))
        head = {"type": "binary", "los": "squared"}
        refused("los", "'loss'", change=lambda recipe: recipe.update(head=head))
        refused("los: ", "'loss'", options=("--head", "{type: binary-ec, los: trellis}"))
        refused("loss: ", "trellis", "'treliss'", options=("--head", "{type: binary-ec, loss: treliss}"))
        refused("mixtures: not an option of softmax", options=("--head", "{type: softmax, mixtures: 2}"))
        refused("type: ", "hybrid-N-ec", "None", options=("--head", "{loss: trellis}"))

    def test_options_of_a_head_that_are_no_numbers(self, refused):
        for option in ("bits_weight: x", "softmax_weight: -1", "seed: x", "seed: -1"):
            key, value = option.split(": ")
            refused(f"{key}: Input should be", value, options=("--head", f"{{type: hybrid-9, code: random, {option}}}"))

    @pytest.mark.parametrize(
        "head", ["{type: binary-ec", "[binary-ec", "type: binary: ec", "{type: [}", "", "null", "5", "[binary-ec]"]
    )
    def test_a_head_that_is_neither_a_name_nor_a_mapping(self, refused, head):
        example = "such as {type: binary-ec, loss: trellis}"
        refused(f"head: expected a name or a mapping, {example}, got {head!r}", options=("--head", head))


class TestBadRun:
    @pytest.mark.parametrize(
        ("name", "problem"),
        [
            ("model.safetensors", "damaged, its checksum differs"),
            ("checkpoint.json", "not the description of a checkpoint"),
        ],
    )
    def test_cut_short(self, trellex, trained, copied, name, problem):
        newest = checkpoint.checkpoints(copied)[-1]
        (newest / name).write_bytes((newest / name).read_bytes()[:100])
        before = contents(copied)
        for arguments in (
            ("info", newest),
            ("translate", newest, trained.recipe),
            ("train", trained.recipe, "--output", copied, "--max-steps", 50),
        ):
            assert_error(trellex(*arguments), newest / name, problem, "use another checkpoint")
        assert contents(copied) == before

    def test_another_version(self, trellex, trained, copied):
        path = checkpoint.checkpoints(copied)[-1] / "checkpoint.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"version": 77}))
        before = contents(copied)
        for arguments in (("info", path.parent), ("train", trained.recipe, "--output", copied, "--max-steps", 50)):
            assert_error(trellex(*arguments), path, "another version", "77")
        assert contents(copied) == before

    def test_another_head(self, trellex, trained, copied):
        before = contents(copied)
        options = ("--output", copied, "--head", "binary", "--max-steps", 50)
        assert_error(trellex("train", trained.recipe, *options), "another head", "choose another output folder")
        assert contents(copied) == before

    def test_full_disk(self, trellex, trained, copied, monkeypatch):
        def full(*arguments):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        before = contents(copied)
        options = ("--output", copied, "--max-steps", 44, "--quiet")
        with monkeypatch.context() as patch:
            patch.setattr(checkpoint, "save_file", full)
            assert_error(trellex("train", trained.recipe, *options), "step-000000042", "no space left", "make room")
        assert contents(copied) == before
        assert trellex("train", trained.recipe, *options).exit_code == 0

    def test_a_loss_that_is_no_number(self, trellex, trained, write_recipe, tmp_path):
        recipe = write_recipe(tmp_path / "run", learning_rate=1e37, max_steps=20)
        assert_error(trellex("train", recipe, "--quiet"), "lower training.learning_rate", tmp_path / "run")

    def test_brackets_in_a_path_are_not_taken_for_markup(self, trellex, tmp_path):
        assert_error(trellex("info", tmp_path / "[bold]" / "[/x]"), tmp_path / "[bold]" / "[/x]")


class TestTranslate:
    def test_stdin_line_by_line(self, process, trained, phrasebook):
        first, second = (phrasebook / "test.en").read_text().splitlines()[:2]
        result = process("translate", trained.run, text=f"{first}\n\n{UNKNOWN}\n \t \n{second}\n{first}")
        assert result.exit_code == 0
        assert result.stderr == ""
        lines = result.stdout.split("\n")
        assert len(lines) == 7
        assert lines[-1] == ""  # after the last end of line
        assert [bool(line) for line in lines[:6]] == [True, False, bool(lines[2]), False, True, True]
        assert lines[0] == lines[5]

    def test_files_to_a_file(self, trellex, trained, phrasebook, tmp_path):
        sources = [phrasebook / "test.en", phrasebook / "dev.en"]
        result = trellex("translate", trained.run, *sources, "--output", tmp_path / "out.ja")
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
        lines = (tmp_path / "out.ja").read_text().splitlines()
        assert len(lines) == 80
        backwards = trellex("translate", trained.run, *sources[::-1], "--batch-tokens", 50)
        assert backwards.stdout.splitlines() == lines[40:] + lines[:40]

    def test_json_lines(self, trellex, trained, phrasebook):
        plain = trellex("translate", trained.run, phrasebook / "test.en").stdout.splitlines()
        as_json = trellex("translate", trained.run, phrasebook / "test.en", "--json").stdout.splitlines()
        assert [json.loads(line)["translation"] for line in as_json] == plain

    def test_nothing_comes_of_nothing(self, trellex, trained, tmp_path):
        (tmp_path / "empty").write_text("")
        assert trellex("translate", trained.run, tmp_path / "empty").stdout == ""

    def test_exact_decoding(self, trellex, trained, phrasebook):
        result = trellex("translate", trained.run, phrasebook / "test.en", "--decoding", "exact")
        assert len(result.stdout.splitlines()) == 40

    def test_a_run_stands_for_its_best_checkpoint(self, trellex, copied, phrasebook):
        newest, oldest = checkpoint.checkpoints(copied)[-1], checkpoint.checkpoints(copied)[0]
        for folder in (oldest, newest):
            checkpoint.mark_best(copied, int(folder.name.removeprefix("step-")))
            of_run, of_folder = (trellex("translate", x, phrasebook / "test.en").stdout for x in (copied, folder))
            assert of_run == of_folder
            assert json.loads(trellex("info", copied, "--json").stdout)["step"] == int(folder.name[5:])

    def test_strictly_bad_input_spares_the_output(self, trellex, trained, tmp_path):
        (tmp_path / "out.ja").write_text("old")
        (tmp_path / "latin.en").write_bytes(b"good\ncaf\xe9\n")
        result = trellex("translate", trained.run, tmp_path / "latin.en", "--strict", "--output", tmp_path / "out.ja")
        assert_error(result, f"{tmp_path / 'latin.en'} line 2: not valid UTF-8")
        assert (tmp_path / "out.ja").read_text() == "old"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["latin.en", "out.ja"]

    def test_bad_options(self, trellex, trained, phrasebook, tmp_path):
        source = phrasebook / "test.en"
        assert_error(trellex("translate", tmp_path, source), tmp_path, "train first")
        assert_error(trellex("translate", trained.run, tmp_path / "none.en"), tmp_path / "none.en")
        assert_error(trellex("translate", trained.run, source, "--decoding", "exakt"), "decoding", "exact")
        assert_error(trellex("translate", trained.run, source, "--device", "gpu"), "device", "cpu or cuda")

    def test_tokens(self, trellex, trained, phrasebook, tmp_path):
        """Joined, the tokens are the text."""
        for name, options in (("text", ()), ("tokens", ("--tokens",))):
            trellex("translate", trained.run, phrasebook / "test.en", "--output", tmp_path / name, *options)
        text, tokens = ((tmp_path / name).read_text(encoding="utf-8") for name in ("text", "tokens"))
        assert tokens.replace(" ", "") == text.replace(" ", "")
        assert tokens.count(" ") > text.count(" ")

    def test_a_reader_that_leaves_is_no_error(self, process, trained, phrasebook):
        running = process.start("translate", trained.run, phrasebook / "train.en")
        running.stdout.close()
        stderr = running.stderr.read().decode()
        running.wait(timeout=60)
        assert stderr == ""


class TestEvaluate:
    def test_a_perfect_translation(self, trellex, phrasebook):
        reference = phrasebook / "test.ja"
        told = json.loads(trellex("evaluate", reference, reference, "--language", "ja", "--json").stdout)  # by MeCab
        assert (told["BLEU"], told["token BLEU"]) == (100, 100)
        assert "tok:char" in told["BLEU signature"]
        assert "case:lc" in told["token BLEU signature"]
        assert "100.0" in trellex("evaluate", reference, reference).stdout

    def test_the_tokeniser_follows_from_the_language(self, trellex, tmp_path):
        ours, theirs = tmp_path / "ours", tmp_path / "theirs"
        ours.write_text("a,b c,d\n")
        theirs.write_text("a, b c, d\n")

        def token_bleu(*options):
            return json.loads(trellex("evaluate", ours, theirs, "--resamples", 0, "--json", *options).stdout)[
                "token BLEU"
            ]

        assert token_bleu() == token_bleu("--tokenizer", "moses") != token_bleu("--tokenizer", "whitespace")
        assert token_bleu("--language", "zh") == token_bleu("--language", "zh", "--tokenizer", "characters")
        assert token_bleu("--language", "zh") not in (100, token_bleu())

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("\n" * 1_000_001, "more than 1,000,000 lines"),
            ((("a " * 250_000) + "\n") * 20, "more than 16,777,216 characters"),
            ("\n" * 70_000, "resamples: 1,000 of 70,000 lines take too much memory; give at most --resamples 958"),
        ],
        ids=["lines", "characters", "resamples"],
    )
    def test_too_much_for_memory(self, trellex, tmp_path, text, problem):
        file = tmp_path / "text.gz"
        file.write_bytes(gzip.compress(text.encode()))
        assert_error(trellex("evaluate", file, file), problem)

    def test_translations(self, process, trellex, trained, phrasebook, tmp_path):
        trellex("translate", trained.run, phrasebook / "test.en", "--output", tmp_path / "out.ja")
        result = process("evaluate", tmp_path / "out.ja", phrasebook / "test.ja", "--language", "ja", "--json")
        assert 0 <= json.loads(result.stdout)["BLEU"] < 100
        assert result.stderr == ""

    def test_against_a_baseline(self, trellex, phrasebook, tmp_path):
        reference, worse = phrasebook / "test.ja", tmp_path / "worse.ja"
        lines = reference.read_text(encoding="utf-8").splitlines()
        worse.write_text("\n".join(["？", *lines[1:]]) + "\n", encoding="utf-8")
        options = ("--language", "ja", "--json")
        alone = json.loads(trellex("evaluate", worse, reference, *options).stdout)
        told = json.loads(trellex("evaluate", reference, reference, "--baseline", worse, *options).stdout)
        assert told["token BLEU above baseline"] > 0
        assert told["token BLEU above baseline"] == pytest.approx(100 - alone["token BLEU"], abs=0.011)
        assert told["95 % of resamples"].startswith("+0.00 to +")  # a third of the resamples have all but that line
        assert 0 < told["p (one tail)"] <= 1
        told = json.loads(trellex("evaluate", worse, reference, "--baseline", worse, *options).stdout)
        assert (told["token BLEU above baseline"], told["p (one tail)"]) == (0, 1)

    def test_bad_input(self, trellex, phrasebook, tmp_path, monkeypatch):
        (tmp_path / "empty").write_text("")
        result = trellex("evaluate", phrasebook / "test.ja", phrasebook / "train.ja")
        assert_error(result, "test.ja has 40 lines", "train.ja has 600")
        assert_error(trellex("evaluate", tmp_path / "empty", tmp_path / "empty"), tmp_path / "empty", "no lines")
        reference = phrasebook / "test.ja"
        assert_error(trellex("evaluate", reference, reference, "--tokenizer", "mecabb"), "mecab")
        assert_error(trellex("evaluate", reference, reference, "--language", "jp"), "language: 'jp'", "'ja' (Japanese)")
        with monkeypatch.context() as patched:
            patched.setitem(sys.modules, "fugashi", None)
            result = trellex("evaluate", reference, reference, "--language", "ja")
            assert_error(result, "pip install 'trellex[ja]', or --tokenizer whitespace if the text is cut already")
        options = ("--baseline", reference, "--resamples", 0)
        assert_error(trellex("evaluate", reference, reference, *options), "resamples", "leave --resamples out")
        result = trellex("evaluate", reference, reference, "--baseline", phrasebook / "train.ja")
        assert_error(result, phrasebook / "train.ja", "lines")


class TestInfo:
    def test_the_papers_columns(self, trellex, trained, data):
        told = json.loads(trellex("info", trained.run, "--json").stdout)
        bits = 2 * ((len((data / "vocab.target.txt").read_text().splitlines()) - 1).bit_length() + 6)
        assert (told["head"], told["B"], told["#out"]) == ("hybrid-64-ec", bits, 64 + bits)
        assert told["output parameters"] == (32 + 1) * (64 + bits)
        assert told["all parameters"] > told["output parameters"]
        assert "hybrid-64-ec" in trellex("info", trained.run).stdout


def test_the_version_is_told_by_the_command_and_the_module(trellex, process):
    expected = f"trellex {version('trellex')}\n"
    assert trellex("--version").stdout == expected
    assert process("--version", module="trellex").stdout == expected


def test_shells_can_complete(process):
    asked = {"_TRELLEX_COMPLETE": "complete_bash", "COMP_WORDS": "trellex tr", "COMP_CWORD": "1"}
    result = process(module="trellex", env=os.environ | asked)
    assert result.stdout.split() == ["train", "translate"]

"""`trellex shortlist`, and what a softmax model says with one on the command line."""

import json
import shutil

import pytest
from test_command_line import assert_error


@pytest.fixture(scope="module")
def softmax(process, write_recipe, tmp_path_factory):
    """A run, and its export."""
    folder = tmp_path_factory.mktemp("softmax")
    recipe = write_recipe(folder / "run", head="softmax", learning_rate=0.03, max_steps=80)
    assert process("train", recipe).exit_code == 0
    result = process("export", folder / "run", folder / "fp32", "--precision", "fp32")
    assert (result.exit_code, result.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def lists(process, data, softmax):
    """The file, and what the command told."""
    file = softmax / "words.shortlist"
    model = ("--model", softmax / "run", "--beam", 2)
    result = process("shortlist", data, "--output", file, "--translations", 20, "--frequent", 30, *model, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    return file, json.loads(result.stdout)


def test_tells_recall_sizes_and_bleu(lists):
    file, told = lists
    assert (told["file"], told["bytes"]) == (str(file), file.stat().st_size)
    for split in ("dev", "test"):
        assert 0.8 < told[f"{split} words in lists"] <= 1
        assert 0 < told[f"{split} sentences with all"] <= told[f"{split} words in lists"]
        assert 30 <= told[f"{split} words a list"] < 200


@pytest.mark.parametrize("split", ["dev", "test"])
def test_bleu_is_that_of_translations(trellex, phrasebook, softmax, lists, tmp_path, split):
    file, told = lists
    for options, name in (((), "token BLEU"), (("--shortlist", file), "token BLEU, from lists")):
        output = tmp_path / name
        command = ("translate", softmax / "run", phrasebook / f"{split}.en", "--output", output, "--tokens")
        assert trellex(*command, "--beam", 2, *options).exit_code == 0
        command = ("evaluate", output, phrasebook / f"{split}.ja", "--language", "ja", "--tokenizer", "whitespace")
        found = json.loads(trellex(*command, "--resamples", 0, "--json").stdout)["token BLEU"]
        assert told[f"{split} {name}"] == pytest.approx(found, abs=0.006)
        assert found > 1


def test_the_same_text_gives_the_same_file(trellex, data, lists, tmp_path):
    result = trellex("shortlist", data, "--output", tmp_path / "again", "--translations", 20, "--frequent", 30)
    assert result.exit_code == 0
    assert "dev words in lists" in result.stdout
    assert "BLEU" not in result.stdout
    assert (tmp_path / "again").read_bytes() == lists[0].read_bytes()


@pytest.mark.parametrize("options", [(), ("--beam", 3), ("--beam", 2, "--nbest", 2, "--batch-tokens", 1)])
def test_a_run_and_its_export_translate_alike(trellex, phrasebook, softmax, lists, options):
    found = []
    for model in ("run", "fp32"):
        command = ("translate", softmax / model, phrasebook / "test.en", "--shortlist", lists[0], "--tokens", *options)
        result = trellex(*command)
        assert result.exit_code == 0, result.stderr
        found.append(result.stdout)
    if "--nbest" not in options:
        assert found[0] == found[1]
    assert len(found[0].splitlines()) == 40


def test_a_list_of_all_words_changes_nothing(trellex, data, phrasebook, softmax, tmp_path):
    file = tmp_path / "all"
    assert trellex("shortlist", data, "--output", file, "--frequent", 1_000_000, "--steps", 1).exit_code == 0
    command = ("translate", softmax / "fp32", phrasebook / "test.en", "--beam", 2)
    assert trellex(*command, "--shortlist", file).stdout == trellex(*command).stdout


def test_shards_know_their_list(trellex, phrasebook, softmax, lists, tmp_path):
    text, out = phrasebook / "test.en", tmp_path / "out"
    command = ("translate", softmax / "fp32", text, out, "--shard", "all/2")
    assert trellex(*command, "--shortlist", lists[0]).exit_code == 0
    whole = trellex("translate", softmax / "fp32", text, "--shortlist", lists[0]).stdout
    assert "".join(path.read_text(encoding="utf-8") for path in sorted(out.glob("shard-*"))) == whole
    assert_error(trellex(*command), out, "was begun with another --shortlist")
    copied = shutil.copy(lists[0], tmp_path / "copied")
    again = trellex(*command, "--shortlist", copied)
    assert (again.exit_code, "2 of 2 shards are finished already" in again.stderr) == (0, True)


def test_what_does_not_fit(trellex, trained, data, phrasebook, softmax, lists, tmp_path):
    text = phrasebook / "test.en"
    refused = trellex("translate", trained.run, text, "--shortlist", lists[0])
    assert_error(refused, "shortlist", "which a softmax has and hybrid-64-ec has not", "leave the shortlist out")
    refused = trellex("shortlist", data, "--output", tmp_path / "new", "--model", trained.run)
    assert_error(refused, "shortlist", "hybrid-64-ec has not")
    assert_error(trellex("translate", softmax / "run", text, "--shortlist", text), text, "not a shortlist")
    none = tmp_path / "none"
    assert_error(trellex("translate", softmax / "run", text, "--shortlist", none), none, "trellex shortlist")
    assert_error(trellex("shortlist", softmax / "run", "--output", tmp_path / "new"), "is a run", "a prepared corpus")
    assert_error(trellex("shortlist", data, "--output", tmp_path), tmp_path, "is a folder")
    assert list(tmp_path.iterdir()) == []


def test_one_of_another_corpus_is_refused(trellex, prepare_options, phrasebook, softmax, tmp_path):
    assert trellex("prepare", tmp_path / "other", *prepare_options(min_count=3)).exit_code == 0
    assert trellex("shortlist", tmp_path / "other", "--output", tmp_path / "lists").exit_code == 0
    refused = trellex("translate", softmax / "run", phrasebook / "test.en", "--shortlist", tmp_path / "lists")
    assert_error(refused, tmp_path / "lists", "was learned from a corpus with other source words", "run `trellex short")


def test_a_model_that_takes_no_such_list_is_refused_before_one_is_learned(
    trellex, data, prepare_options, softmax, tmp_path, monkeypatch
):
    assert trellex("prepare", tmp_path / "other", *prepare_options(min_count=3)).exit_code == 0
    assert trellex("export", softmax / "run", tmp_path / "compact", "--precision", "compact").exit_code == 0
    monkeypatch.setattr("trellex.shortlist.shortlist.Shortlist.learn", None)
    command = ("shortlist", data, "--output", tmp_path / "lists", "--model", tmp_path / "compact")
    assert_error(trellex(*command), tmp_path / "compact", "has no weights for shortlists", "export the model again")
    command = ("shortlist", tmp_path / "other", "--output", tmp_path / "lists", "--model", softmax / "run")
    assert_error(trellex(*command), "was learned from a corpus with other source words than the model's")
    assert not (tmp_path / "lists").exists()

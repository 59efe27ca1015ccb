"""`trellex codes`: codes of a corpus compared, saved, and trained with."""

import json

import numpy as np
import pytest
from test_command_line import assert_error

from trellex.codes import HuffmanCode, RandomCode, cluster_code, load_code, ordered_code
from trellex.heads.spec import CODES
from trellex.text.brown import brown_order
from trellex.text.corpus import Corpus
from trellex.text.word_vectors import word_vectors
from trellex.training import checkpoint
from trellex.training.loading import load_checkpoint

NAMES = list(CODES)


@pytest.fixture(scope="module")
def corpus(data):
    return Corpus.open(data)


@pytest.fixture(scope="module")
def text(corpus):
    train = corpus.split("train")
    return train.target_ids, train.target_lengths, len(corpus.target_vocabulary)


def test_all_are_made_compared_and_saved(trellex, data, corpus, text, tmp_path):
    folder, size = tmp_path / "some" / "codes", len(corpus.target_vocabulary)
    result = trellex("codes", data, "--output", folder, "--seed", 3, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    told = json.loads(result.stdout)
    assert list(told["codes"]) == NAMES
    assert told["files"] == [str(folder / f"{name}.json") for name in NAMES]
    saved = {name: load_code(folder / f"{name}.json") for name in NAMES}
    assert saved["random"] == RandomCode(size, 3)
    assert saved["huffman"] == HuffmanCode(corpus.target_vocabulary.counts)
    assert saved["clusters"] == cluster_code(word_vectors(*text))
    assert saved["brown"] == ordered_code(brown_order(*text))
    for name in NAMES:
        numbers = saved[name].numbers(np.arange(size))
        assert len(set(numbers.tolist())) == size
        assert name == "huffman" or numbers.max() == size - 1
        quality = told["codes"][name]
        assert quality["bits"] == saved[name].num_bits == len(quality["ones"]) == len(quality["text_ones"])
        assert 0 < quality["text_entropy"] <= quality["entropy"] + 1e-9 <= 1 + 1e-9
    for name in ("clusters", "brown"):
        assert told["codes"][name]["near_first_bits"] > 1.5 * told["codes"][name]["random_first_bits"]


def test_a_table_and_the_words_that_are_like_some(trellex, data, corpus):
    words = corpus.target_vocabulary.words
    command = ("codes", data, "--code", "brown", "--code", "random", "--code", "brown")
    result = trellex(*command, "--words", f"{words[5]} {words[9]}", "--words", words[40])
    assert result.exit_code == 0
    heading, *lines = result.stdout.splitlines()
    assert heading.split()[:2] == ["code", "bits"]
    assert [line.split()[0] for line in lines[:2]] == ["brown", "random"]
    assert [line for line in lines if line in words] == [words[5], words[9], words[40]]
    like = [line.split() for line in lines if line.startswith("  ")]
    assert [line[0] for line in like] == ["brown", "random"] * 3
    assert all(len(line) == 9 and set(line[1:]) <= set(words) for line in like)


def test_a_code_that_was_saved_trains_as_by_its_name(trellex, data, write_recipe, tmp_path):
    assert trellex("codes", data, "--code", "brown", "--hybrid", 64, "--output", tmp_path).exit_code == 0
    for name, code in (("file", {"file": str(tmp_path / "brown.json")}), ("name", "brown")):
        head = {"type": "hybrid-64-ec", "code": code}
        assert trellex("train", write_recipe(tmp_path / name, head, max_steps=1)).exit_code == 0
    saved = [(checkpoint.newest_checkpoint(tmp_path / name) / "code.json").read_bytes() for name in ("file", "name")]
    assert saved[0] == saved[1] == (tmp_path / "brown.json").read_bytes()
    whole = write_recipe(tmp_path / "whole", {"type": "binary", "code": {"file": str(tmp_path / "brown.json")}})
    refused = trellex("train", whole)
    assert_error(
        refused, tmp_path / "brown.json", "expected one of", "make one of this vocabulary with `trellex codes`"
    )


def test_one_of_the_words_of_a_model(trellex, data, trained, tmp_path):
    command = ("codes", data, "--code", "frequency", "--model", trained.run, "--output", tmp_path, "--json")
    result = trellex(*command)
    assert result.exit_code == 0
    assert list(json.loads(result.stdout)["codes"]) == ["frequency", "learned"]
    vectors = load_checkpoint(trained.run).model.network.embedding.weight
    assert load_code(tmp_path / "learned.json") == cluster_code(vectors)
    assert trellex(*command, "--hybrid", 64).exit_code == 0
    assert load_code(tmp_path / "learned.json") == cluster_code(vectors[63:])


def test_what_cannot_be_done(trellex, data, corpus, trained, prepare_options, tmp_path):
    out = tmp_path / "codes"
    command = ("codes", data, "--code", "random", "--output", out)
    frequent = corpus.target_vocabulary.words[5]
    assert_error(trellex(*command, "--words", "no-such-word"), "no-such-word", data / "vocab.target.txt")
    assert_error(trellex(*command, "--words", frequent, "--hybrid", 64), frequent, "hybrid-64", "leave it out")
    assert_error(trellex(*command, "--hybrid", 100_000), "N = 100000 does not fit", "smaller N")
    assert_error(trellex("codes", trained.run), trained.run, "is a run", "a prepared corpus")
    assert_error(trellex("codes", tmp_path / "none"), tmp_path / "none")
    assert trellex("codes", data, "--code", "gray").exit_code == 2
    assert trellex("prepare", tmp_path / "other", *prepare_options(min_count=3)).exit_code == 0
    refused = trellex("codes", tmp_path / "other", "--model", trained.run, "--output", out)
    sizes = [f"({len(Corpus.open(folder).target_vocabulary):,})" for folder in (data, tmp_path / "other")]
    assert_error(refused, trained.run, "has other target words", *sizes, "the corpus that it was trained on")
    assert not out.exists()
    (out / "random.json").mkdir(parents=True)
    assert_error(trellex(*command), out / "random.json", "is not a file")
    assert_error(trellex("codes", data, "--output", data / "manifest.json"), data / "manifest.json", "not a folder")

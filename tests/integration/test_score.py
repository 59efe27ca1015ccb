"""`trellex score`: what a model thinks of given translations, against what it said when it made them."""

import json
import math
import re

import numpy as np
import pytest
from test_command_line import UNKNOWN, assert_error

from trellex.nmt.model import TranslationModel


def summary(result):
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.count("\n") == 1
    return json.loads(result.stdout)


def lines_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def pairs(phrasebook):
    return phrasebook / "test.en", phrasebook / "test.ja"


@pytest.fixture(
    scope="module", params=["softmax", "{type: binary-ec, loss: trellis}", "{type: hybrid-64, mixtures: 2}"]
)
def other_run(request, trellex, trained, tmp_path_factory):
    """A short run with another output layer on the same data."""
    run = tmp_path_factory.mktemp("other") / "run"
    options = ("--head", request.param, "--output", run, "--max-steps", 3, "--quiet")
    assert trellex("train", trained.recipe, *options).exit_code == 0
    return run


class TestSummary:
    def test_fields(self, trellex, trained, pairs, data):
        told = summary(trellex("score", trained.run, *pairs, "--json"))
        assert list(told) == ["sentences", "tokens", "unknown tokens", "log-probability", "perplexity"]
        sentences = [line.split() for line in pairs[1].read_text().splitlines()]
        known = {line.split("\t")[0] for line in (data / "vocab.target.txt").read_text().splitlines()[3:]}
        assert told["sentences"] == 40
        assert told["tokens"] == sum(len(sentence) + 1 for sentence in sentences)
        assert told["unknown tokens"] == sum(word not in known for sentence in sentences for word in sentence) > 0
        assert told["perplexity"] == pytest.approx(math.exp(-told["log-probability"] / told["tokens"]), rel=1e-4)

    def test_for_people(self, trellex, trained, pairs):
        told = summary(trellex("score", trained.run, *pairs, "--json"))
        printed = trellex("score", trained.run, *pairs).stdout
        for key, value in told.items():
            assert re.search(rf"{key} +{re.escape(f'{value:,}' if isinstance(value, int) else str(value))}", printed)

    def test_the_batch_size_changes_nothing(self, trellex, trained, pairs, tmp_path):
        for batch in (64, 7):
            output = tmp_path / f"{batch}.jsonl"
            summary(trellex("score", trained.run, *pairs, "--json", "--batch-tokens", batch, "--output", output))
        for ours, theirs in zip(*(lines_of(tmp_path / f"{batch}.jsonl") for batch in (64, 7)), strict=True):
            assert ours["tokens"] == theirs["tokens"]
            assert ours["log_probs"] == pytest.approx(theirs["log_probs"], abs=1e-4)

    def test_unknown_words_count_as_one(self, trellex, trained, tmp_path):
        (tmp_path / "en").write_text("the station\n" * 2)
        (tmp_path / "ja").write_text(f"{UNKNOWN}\n<unk> </s> <s>\n")
        told = summary(
            trellex("score", trained.run, tmp_path / "en", tmp_path / "ja", "--json", "--output", tmp_path / "o")
        )
        assert (told["tokens"], told["unknown tokens"]) == (8, 6)
        first, second = lines_of(tmp_path / "o")
        assert first == second
        assert first["tokens"] == ["<unk>", "<unk>", "<unk>", "</s>"]

    def test_a_hopeless_model_has_a_perplexity_all_the_same(self, trellex, trained, pairs, monkeypatch):
        def hopeless(self, state, words):
            return np.full(len(words), -5000.0)

        monkeypatch.setattr(TranslationModel, "log_prob", hopeless)
        told = summary(trellex("score", trained.run, *pairs, "--json"))
        assert told["log-probability"] == -5000 * told["tokens"]
        assert told["perplexity"] == pytest.approx(math.exp(700))

    def test_an_empty_translation_is_the_end_of_the_sentence_alone(self, trellex, trained, tmp_path):
        (tmp_path / "en").write_text("the station\n")
        (tmp_path / "ja").write_text("\n")
        told = summary(
            trellex("score", trained.run, tmp_path / "en", tmp_path / "ja", "--json", "--output", tmp_path / "o")
        )
        assert (told["sentences"], told["tokens"]) == (1, 1)
        (line,) = lines_of(tmp_path / "o")
        assert line["tokens"] == ["</s>"]
        assert told["log-probability"] == pytest.approx(line["log_prob"], abs=1e-3)


class TestOutput:
    def test_adds_up_to_the_summary(self, trellex, trained, pairs, tmp_path):
        told = summary(trellex("score", trained.run, *pairs, "--json", "--output", tmp_path / "scores.jsonl"))
        scored = lines_of(tmp_path / "scores.jsonl")
        assert len(scored) == 40
        assert sum(len(line["tokens"]) for line in scored) == told["tokens"]
        assert sum(line["log_prob"] for line in scored) == pytest.approx(told["log-probability"], abs=1e-2)
        for line in scored:
            assert line.keys() == {"log_prob", "tokens", "log_probs"}
            assert len(line["tokens"]) == len(line["log_probs"])
            assert line["tokens"][-1] == "</s>"
            assert line["log_prob"] == pytest.approx(sum(line["log_probs"]), abs=1e-4)

    @pytest.mark.parametrize("options", [(), ("--beam", 3), ("--sample", "--seed", 3, "--temperature", 0.7)])
    def test_a_models_own_translations_score_as_when_it_made_them(self, trellex, trained, pairs, tmp_path, options):
        source = pairs[0]
        for name, more in (("tokens", ("--tokens",)), ("jsonl", ("--json",))):
            trellex("translate", trained.run, source, *options, *more, "--output", tmp_path / name)
        summary(trellex("score", trained.run, source, tmp_path / "tokens", "--json", "--output", tmp_path / "scores"))
        for made, scored in zip(lines_of(tmp_path / "jsonl"), lines_of(tmp_path / "scores"), strict=True):
            (made,) = made["nbest"]
            ended = made["tokens"][-1] == "</s>"
            assert scored["tokens"] == made["tokens"] + ([] if ended else ["</s>"])
            length = len(made["tokens"])
            assert scored["log_probs"][:length] == pytest.approx(made["log_probs"], abs=1e-4)

    def test_empty_sources_are_skipped_and_counted(self, trellex, trained, pairs, tmp_path):
        (first, second), (ours, theirs) = (path.read_text().splitlines()[:2] for path in pairs)
        (tmp_path / "en").write_text(f"{first}\n\n \t\n{second}\n")
        (tmp_path / "ja").write_text(f"{ours}\nは\n\n{theirs}\n")
        told = summary(
            trellex("score", trained.run, tmp_path / "en", tmp_path / "ja", "--json", "--output", tmp_path / "o")
        )
        assert (told["sentences"], told["skipped for an empty source"]) == (2, 2)
        assert told["tokens"] == len(ours.split()) + len(theirs.split()) + 2
        assert [line is None for line in lines_of(tmp_path / "o")] == [False, True, True, False]

    def test_bad_input_spares_the_output(self, trellex, trained, phrasebook, pairs, tmp_path):
        (tmp_path / "out").write_text("old")
        source, target = pairs
        (tmp_path / "latin.ja").write_bytes(b"caf\xe9\n" * 40)
        for arguments, parts in (
            ((source, phrasebook / "train.ja"), ["test.en has 40 lines", "train.ja has 600"]),
            ((phrasebook / "train.en", target), ["train.en has 600 lines", "test.ja has 40"]),
            ((source, tmp_path / "none.ja"), [tmp_path / "none.ja"]),
            ((tmp_path / "none.en", target), [tmp_path / "none.en"]),
            ((source, tmp_path / "latin.ja"), ["latin.ja line 1: not valid UTF-8"]),
        ):
            assert_error(trellex("score", trained.run, *arguments, "--output", tmp_path / "out"), *parts)
            assert (tmp_path / "out").read_text() == "old"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["latin.ja", "out"]

    @pytest.mark.parametrize("text", ["", "\n \n"])
    def test_nothing_to_score_spares_the_output(self, trellex, trained, tmp_path, text):
        (tmp_path / "empty").write_text(text)
        (tmp_path / "out").write_text("old")
        arguments = (tmp_path / "empty", tmp_path / "empty", "--output", tmp_path / "out")
        assert_error(trellex("score", trained.run, *arguments), tmp_path / "empty", "no sentences")
        assert (tmp_path / "out").read_text() == "old"

    def test_into_a_folder_that_is_not_there(self, trellex, trained, pairs, tmp_path):
        output = tmp_path / "none" / "out"
        assert_error(
            trellex("score", trained.run, *pairs, "--output", output), output, f"no folder {tmp_path / 'none'}"
        )

    def test_a_folder_that_is_no_run(self, trellex, pairs, tmp_path):
        assert_error(trellex("score", tmp_path, *pairs), tmp_path, "train first")


class TestCalibration:
    def test_adds_bands_that_hold_all_words(self, trellex, trained, pairs):
        plain = summary(trellex("score", trained.run, *pairs, "--json"))
        told = summary(trellex("score", trained.run, *pairs, "--json", "--calibration"))
        assert plain.items() <= told.items()
        assert 0 <= told["calibration error"] <= 1
        assert told.keys() - plain.keys() == {"calibration error", "bands"}
        gaps = 0.0
        for band in told["bands"]:
            assert band.keys() == {"low", "high", "words", "probability", "right"}
            assert 0 <= band["low"] <= band["probability"] <= band["high"] <= 1
            assert 0 <= band["right"] <= 1
            gaps += band["words"] * abs(band["probability"] - band["right"])
        assert sum(band["words"] for band in told["bands"]) == told["tokens"]
        assert gaps / told["tokens"] == pytest.approx(told["calibration error"], abs=1e-4)

    def test_for_people_a_line_a_band(self, trellex, trained, pairs):
        told = summary(trellex("score", trained.run, *pairs, "--json", "--calibration"))
        printed = trellex("score", trained.run, *pairs, "--calibration").stdout
        for band in told["bands"]:
            name = f"probability {band['low']:.1f}–{band['high']:.1f}"
            values = f"mean {band['probability']:.3f}, right {band['right']:.3f}, {band['words']:,} words"
            assert re.search(rf"{name} +{re.escape(values)}", printed)
        assert printed.count("probability 0.") == len(told["bands"])

    def test_skipped_sentences_count_in_no_band(self, trellex, trained, tmp_path):
        (tmp_path / "en").write_text("\nthe station\n")
        (tmp_path / "ja").write_text("は は は\nは\n")
        told = summary(trellex("score", trained.run, tmp_path / "en", tmp_path / "ja", "--json", "--calibration"))
        assert sum(band["words"] for band in told["bands"]) == told["tokens"] == 2

    def test_of_its_own_greedy_words_every_one_is_right(self, trellex, trained, pairs, tmp_path):
        """Where the model ends its translations itself, that is: a limit of length is no end of its own."""
        trellex("translate", trained.run, pairs[0], "--json", "--output", tmp_path / "jsonl")
        trellex("translate", trained.run, pairs[0], "--tokens", "--output", tmp_path / "tokens")
        ended = sum(line["nbest"][0]["tokens"][-1] == "</s>" for line in lines_of(tmp_path / "jsonl"))
        told = summary(trellex("score", trained.run, pairs[0], tmp_path / "tokens", "--json", "--calibration"))
        right = sum(band["right"] * band["words"] for band in told["bands"])
        assert right == pytest.approx(told["tokens"] - (40 - ended))


class TestOutputLayers:
    def test_perplexity_is_a_number_whatever_the_loss(self, trellex, trained, other_run, pairs):
        for run in (trained.run, other_run):
            told = summary(trellex("score", run, *pairs, "--json", "--calibration"))
            assert 1 < told["perplexity"] < 1e5

    def test_probabilities_of_all_words_sum_to_one(self, trellex, trained, other_run, data, tmp_path):
        """All but that of the beginning of a sentence, which no text spells."""
        words = [line.split("\t")[0] for line in (data / "vocab.target.txt").read_text().splitlines()]
        (tmp_path / "en").write_text("the station is here .\n" * len(words))
        (tmp_path / "ja").write_text("\n".join(["<unk>", "", *words[3:], words[3]]) + "\n")
        for run in (trained.run, other_run):
            arguments = (tmp_path / "en", tmp_path / "ja", "--output", tmp_path / "out")
            assert trellex("score", run, *arguments).exit_code == 0
            total = sum(math.exp(line["log_probs"][0]) for line in lines_of(tmp_path / "out")[:-1])
            assert 0.9 < total <= 1 + 1e-4

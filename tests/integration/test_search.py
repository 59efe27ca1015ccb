"""`trellex translate` with a beam, with several translations and with samples, from the outside."""

import json

import pytest
from test_command_line import UNKNOWN, assert_error


def parsed(text):
    """The objects of JSON lines."""
    return [json.loads(line) for line in text.split("\n")[:-1]]


def rank(hypothesis):
    """The key that hypotheses are sorted by: those cut off by the limit of length last, then by score."""
    return hypothesis["tokens"][-1] != "</s>", -hypothesis["score"]


def assert_consistent(line, alpha):
    """One line of JSON: the first translation is the best, and the numbers of all fit together."""
    assert line["translation"] == line["nbest"][0]["translation"]
    for each in line["nbest"]:
        assert each.keys() == {"translation", "score", "log_prob", "tokens", "log_probs"}
        assert len(each["tokens"]) == len(each["log_probs"]) > 0
        assert "</s>" not in each["tokens"][:-1]
        assert all(log_prob <= 0 for log_prob in each["log_probs"])
        assert each["log_prob"] == pytest.approx(sum(each["log_probs"]), abs=1e-4)
        assert each["score"] == pytest.approx(each["log_prob"] / len(each["tokens"]) ** alpha, abs=1e-5)
        words = [token for token in each["tokens"] if token != "</s>"]
        assert each["translation"].replace(" ", "") == "".join(words)


def assert_alike(ours, theirs):
    """The same words with the same scores, but for rounding."""
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs, strict=True):
        for key in ("tokens", "translation"):
            assert [x[key] for x in mine["nbest"]] == [x[key] for x in other["nbest"]]
        for one, two in zip(mine["nbest"], other["nbest"], strict=True):
            assert one["log_probs"] == pytest.approx(two["log_probs"], abs=1e-4)
            assert one["score"] == pytest.approx(two["score"], abs=1e-4)


@pytest.fixture(scope="module")
def source(phrasebook, tmp_path_factory):
    """Twelve sentences of different lengths among empty lines and one of unknown words."""
    sentences = (phrasebook / "test.en").read_text().splitlines()[:12]
    path = tmp_path_factory.mktemp("source") / "source.en"
    path.write_text("\n".join([*sentences[:3], "", UNKNOWN, " \t ", *sentences[3:], ""]) + "\n")
    return path


EMPTY = {3, 5, 15}
COUNT = 16


@pytest.fixture
def translate(trellex, trained, source):
    """What `trellex translate` prints with some options."""

    def translate(*options):
        result = trellex("translate", trained.run, source, *options)
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout.count("\n") == COUNT
        return result.stdout

    return translate


class TestBeam:
    def test_a_beam_of_one_is_greedy(self, translate):
        assert translate("--beam", 1) == translate()
        assert translate("--beam", 1, "--json") == translate("--json")
        assert translate("--nbest", 1, "--length-penalty", 0) == translate()

    @pytest.mark.parametrize("options", [("--beam", 4), ("--sample", "--seed", 1), ("--beam", 2, "--tokens")])
    def test_empty_lines_stay_empty_and_where_they_were(self, translate, options):
        lines = translate(*options).split("\n")[:-1]
        assert all(lines[place].strip() == "" for place in EMPTY)
        objects = parsed(translate(*options, "--json"))
        assert [line["translation"] for line in objects] == lines
        assert all((line == {"translation": "", "nbest": []}) == (i in EMPTY) for i, line in enumerate(objects))

    def test_json_of_a_greedy_translation_has_one(self, translate):
        for place, line in enumerate(parsed(translate("--json"))):
            if place not in EMPTY:
                assert len(line["nbest"]) == 1
                assert_consistent(line, alpha=1)

    @pytest.mark.parametrize("alpha", [1, 0, 0.6])
    def test_several_are_distinct_and_the_best_first(self, translate, alpha):
        lines = parsed(translate("--beam", 5, "--nbest", 3, "--length-penalty", alpha))
        for place, line in enumerate(lines):
            if place in EMPTY:
                assert line == {"translation": "", "nbest": []}
                continue
            assert len(line["nbest"]) == 3
            assert_consistent(line, alpha)
            assert line["nbest"] == sorted(line["nbest"], key=rank)
            assert len({tuple(each["tokens"]) for each in line["nbest"]}) == 3

    def test_the_best_of_several_is_the_one_printed_alone(self, translate):
        alone = translate("--beam", 5).split("\n")[:-1]
        assert [line["translation"] for line in parsed(translate("--beam", 5, "--nbest", 5))] == alone

    def test_a_beam_finds_more_probable_translations(self, translate):
        """Not of each sentence, but of most."""
        options = ("--json", "--decoding", "exact", "--length-penalty", 0)
        narrow, wide = (parsed(translate(*options, "--beam", beam)) for beam in (1, 8))
        totals = [sum(x["log_prob"] for line in lines for x in line["nbest"]) for lines in (narrow, wide)]
        assert totals[1] > totals[0]

    def test_the_length_penalty_changes_the_lengths(self, translate):
        """Without one, short translations win."""
        lengths = []
        for alpha in (0, 2):
            lines = parsed(translate("--beam", 5, "--json", "--length-penalty", alpha))
            lengths.append(sum(len(each["tokens"]) for line in lines for each in line["nbest"]))
        assert lengths[0] <= lengths[1]

    @pytest.mark.parametrize("options", [(), ("--beam", 5, "--nbest", 3)])
    def test_the_batch_size_changes_nothing(self, translate, options):
        together = parsed(translate(*options, "--json"))
        for batch in (1, 5):
            assert_alike(parsed(translate(*options, "--json", "--batch-tokens", batch)), together)

    def test_tokens_are_printed_with_spaces_between(self, translate):
        for place, line in enumerate(parsed(translate("--beam", 3, "--nbest", 2, "--tokens"))):
            for each in line["nbest"]:
                assert each["translation"].split(" ") == [token for token in each["tokens"] if token != "</s>"]
            assert (line["translation"] == "") == (place in EMPTY)

    def test_stdin_in_a_process_of_its_own(self, process, trained, source, translate):
        options = ("--beam", 3, "--nbest", 2)
        result = process("translate", trained.run, *options, text=source.read_text())
        assert (result.exit_code, result.stderr) == (0, "")
        assert_alike(parsed(result.stdout), parsed(translate(*options)))


class TestSample:
    def test_a_seed_gives_the_same_again(self, translate):
        first = translate("--sample", "--seed", 7)
        assert translate("--sample", "--seed", 7) == first
        assert translate("--sample", "--seed", 8) != first
        assert translate() != first

    def test_a_seed_gives_the_same_in_another_process(self, process, trained, source, translate):
        result = process("translate", trained.run, source, "--sample", "--seed", 7)
        assert result.stdout == translate("--sample", "--seed", 7)

    def test_without_a_seed_samples_differ(self, translate):
        assert translate("--sample") != translate("--sample")

    def test_as_many_as_asked_for(self, translate):
        lines = parsed(translate("--sample", "--seed", 7, "--nbest", 4))
        for place, line in enumerate(lines):
            assert len(line["nbest"]) == (0 if place in EMPTY else 4)
            if line["nbest"]:
                assert_consistent(line, alpha=0)
                assert line["nbest"] == sorted(line["nbest"], key=rank)
        ends = {each["tokens"][-1] == "</s>" for line in lines for each in line["nbest"]}
        assert True in ends  # otherwise nothing here has seen the end of a sentence

    def test_a_low_temperature_prefers_probable_words(self, translate):
        means = []
        for temperature in (0.2, 1, 3):
            lines = parsed(translate("--sample", "--seed", 7, "--temperature", temperature, "--nbest", 4))
            found = [log_prob for line in lines for each in line["nbest"] for log_prob in each["log_probs"]]
            means.append(sum(found) / len(found))
        assert means == sorted(means, reverse=True)
        assert len(set(means)) == 3


class TestBadOptions:
    @pytest.mark.parametrize(
        ("options", "parts"),
        [
            (("--beam", 5, "--nbest", 6), ["nbest: ", "beam of 5", "got 6", "widen the beam"]),
            (("--nbest", 2), ["nbest: ", "beam of 1", "widen the beam"]),
            (("--sample", "--beam", 5), ["beam: ", "got 5", "leave one of sample and beam out"]),
            (("--temperature", 0.5), ["temperature: ", "got 0.5", "add sample"]),
            (("--sample", "--temperature", 0), ["temperature: expected 0.001 to 1,000, got 0.0", "greedy"]),
            (("--temperature", 0), ["temperature: "]),
            (("--sample", "--temperature", -1), ["temperature: expected 0.001 to 1,000, got -1"]),
            (("--sample", "--temperature", "nan"), ["temperature: expected 0.001 to 1,000, got nan"]),
            (("--sample", "--temperature", "inf"), ["temperature: "]),
            (("--beam", 2, "--length-penalty", "inf"), ["length_penalty: expected 0 to 10, got inf"]),
            (("--length-penalty", 11), ["length_penalty: expected 0 to 10, got 11"]),
            (("--seed", 1), ["seed: ", "add --sample"]),
            (("--seed", 0, "--beam", 3), ["seed: ", "leave --seed out"]),
        ],
    )
    def test_that_contradict_each_other(self, trellex, trained, source, tmp_path, options, parts):
        (tmp_path / "out").write_text("old")
        assert_error(trellex("translate", trained.run, source, *options, "--output", tmp_path / "out"), *parts)
        assert (tmp_path / "out").read_text() == "old"

    @pytest.mark.parametrize(
        ("option", "value"),
        [("--beam", 0), ("--nbest", 0), ("--length-penalty", -1), ("--length-penalty", "nan"), ("--seed", -1)],
    )
    def test_out_of_range(self, trellex, trained, source, option, value):
        result = trellex("translate", trained.run, source, option, value)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert option in result.stderr


class TestOutput:
    def test_into_a_folder_that_is_not_there(self, trellex, trained, source, tmp_path):
        output = tmp_path / "none" / "out.ja"
        assert_error(
            trellex("translate", trained.run, source, "--output", output), output, f"no folder {tmp_path / 'none'}"
        )
        assert list(tmp_path.iterdir()) == []

    def test_is_what_would_have_been_printed(self, trellex, trained, source, translate, tmp_path):
        options = ("--beam", 5, "--nbest", 3)
        result = trellex("translate", trained.run, source, *options, "--output", tmp_path / "out.jsonl")
        assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
        assert (tmp_path / "out.jsonl").read_bytes() == translate(*options).encode()

    def test_appears_whole_or_not_at_all(self, trellex, trained, tmp_path):
        """Lines that can be translated come before one that cannot be read: so many that some were written."""
        (tmp_path / "bad.en").write_bytes(b"\n" * 5000 + b"caf\xe9\n")
        options = ("--strict", "--beam", 5, "--nbest", 3, "--output", tmp_path / "out.jsonl")
        for old in (None, "old"):
            if old is not None:
                (tmp_path / "out.jsonl").write_text(old)
            assert_error(trellex("translate", trained.run, tmp_path / "bad.en", *options), "line 5001")
            names = sorted(path.name for path in tmp_path.iterdir())
            assert names == (["bad.en"] if old is None else ["bad.en", "out.jsonl"])
        assert (tmp_path / "out.jsonl").read_text() == "old"

"""`trellex translate` tells where the model looked: alignments, pictures, and source words in place of <unk>."""

import json
from pathlib import Path

import pytest
from test_command_line import assert_error

KEPT = Path(__file__).parents[1] / "models" / "export"


@pytest.fixture(scope="module")
def source(phrasebook, tmp_path_factory):
    """Six sentences, an empty line after the second."""
    sentences = (phrasebook / "test.en").read_text().splitlines()[:6]
    path = tmp_path_factory.mktemp("source") / "source.en"
    path.write_text("\n".join([*sentences[:2], "", *sentences[2:]]) + "\n")
    return path


@pytest.fixture(scope="module", params=["run", "export"])
def model(request, trained, trellex, tmp_path_factory):
    if request.param == "run":
        return trained.run
    folder = tmp_path_factory.mktemp("exported") / "fp32"
    assert trellex("export", trained.run, folder, "--precision", "fp32").exit_code == 0
    return folder


@pytest.fixture
def translate(trellex, model, source):
    def translate(*options, path=source):
        result = trellex("translate", model, path, *options)
        assert result.exit_code == 0, result.stderr
        return result

    return translate


class TestAlignments:
    @pytest.mark.parametrize("options", [(), ("--beam", 3), ("--sample", "--seed", 1)])
    def test_one_pair_a_target_token(self, translate, source, tmp_path, options):
        plain = translate(*options, "--tokens").stdout
        with_file = translate(*options, "--tokens", "--alignments", tmp_path / "out").stdout
        assert with_file == plain
        lines = (tmp_path / "out").read_text().split("\n")[:-1]
        assert len(lines) == 7
        assert lines[2] == ""
        for line, target, text in zip(lines, plain.split("\n"), source.read_text().split("\n"), strict=False):
            pairs = [tuple(map(int, pair.split("-"))) for pair in line.split()]
            assert [pair[1] for pair in pairs] == list(range(len(target.split())))
            assert all(0 <= pair[0] < len(text.split()) for pair in pairs)
        assert len({pair.split("-")[0] for line in lines for pair in line.split()}) > 3

    def test_json_has_them_too(self, translate, source, tmp_path):
        in_both = translate("--json", "--alignments", tmp_path / "out").stdout
        assert translate("--json", "--alignments", "-").stdout == in_both
        assert not Path("-").exists()
        objects = [json.loads(line) for line in in_both.splitlines()]
        lines = (tmp_path / "out").read_text().splitlines()
        for line, text, found in zip(lines, source.read_text().splitlines(), objects, strict=True):
            for each in found["nbest"]:
                assert each["source"] == text.split()
                assert " ".join(f"{source}-{target}" for source, target in each["alignment"]) == line
                assert [len(row) for row in each["attention"]] == [len(each["source"])] * len(each["alignment"])
                assert [row.index(max(row)) for row in each["attention"]] == [place for place, _ in each["alignment"]]

    def test_every_one_of_several_has_its_own(self, translate):
        for line in translate("--beam", 3, "--nbest", 3, "--alignments", "-").stdout.splitlines():
            for each in json.loads(line)["nbest"]:
                assert len(each["alignment"]) == len([token for token in each["tokens"] if token != "</s>"])

    def test_json_is_as_before_without(self, translate):
        keys = {"translation", "score", "log_prob", "tokens", "log_probs"}
        assert all(json.loads(line)["nbest"][0].keys() == keys for line in translate("--json").stdout.splitlines()[:2])

    def test_stdout_has_one_thing_at_a_time(self, trellex, model, source):
        assert_error(trellex("translate", model, source, "--alignments", "-"), "name a file, or add --json")

    def test_what_fails_leaves_no_file(self, trellex, model, tmp_path):
        (tmp_path / "bad.en").write_bytes(b"\xff\n")
        options = ("--strict", "--alignments", tmp_path / "out")
        assert trellex("translate", model, tmp_path / "bad.en", *options).exit_code == 1
        assert [path.name for path in tmp_path.iterdir()] == ["bad.en"]


class TestReplaceUnknown:
    def test_no_unknown_word_is_left(self, translate, source):
        """So many samples, nearly uniform, that some have one."""
        options = ("--sample", "--seed", 1, "--temperature", 1000, "--nbest", 50)
        found = [translate(*options, *more).stdout.splitlines() for more in ((), ("--replace-unknown",))]
        count = 0
        for text, *lines in zip(source.read_text().splitlines(), *found, strict=True):
            for before, after in zip(*(json.loads(line)["nbest"] for line in lines), strict=True):
                places = [place for place, token in enumerate(before["tokens"]) if token == "<unk>"]
                assert after.get("replaced", []) == places
                assert all(after["tokens"][place] in text.split() for place in places)
                assert "attention" not in after
                count += len(places)
        assert count > 0


class TestPictures:
    def test_of_the_first_line(self, translate, source, tmp_path):
        result = translate("--attention-picture", tmp_path / "a.svg")
        assert "5 more lines have no picture" in result.stderr
        svg = (tmp_path / "a.svg").read_text()
        assert all(f">{word}</text>" in svg for word in source.read_text().splitlines()[0].split())

    def test_of_each_line(self, translate, tmp_path):
        result = translate("--attention-picture", tmp_path / "pictures")
        assert result.stderr == ""
        names = sorted(path.name for path in (tmp_path / "pictures").iterdir())
        assert names == [f"line-000{number}.svg" for number in (1, 2, 4, 5, 6, 7)]


@pytest.mark.parametrize("option", ["--replace-unknown", "--alignments", "--attention-picture"])
def test_an_export_of_before_attention_says_what_to_do(trellex, source, tmp_path, option):
    value = () if option == "--replace-unknown" else (tmp_path / "out",)
    assert_error(trellex("translate", KEPT, source, option, *value), KEPT, "no attention; export the model again")

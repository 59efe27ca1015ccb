"""Results come back as they were written, and files that are none are named."""

import json
from pathlib import Path

import pytest

from trellex.evaluation.curve import averaged_test_bleu
from trellex.evaluation.result import Cell, Result

CELLS = sorted((Path(__file__).parents[3] / "docs" / "results" / "cells").glob("*.json"))


@pytest.mark.parametrize("path", CELLS, ids=lambda path: path.stem)
def test_round_trip(path, tmp_path):
    result = Result.load(path)
    result.save(tmp_path / "again.json")
    assert Result.load(tmp_path / "again.json") == result
    again, before = (json.loads(each.read_bytes()) for each in (tmp_path / "again.json", path))
    again, before = without_nothing(again), without_nothing(before)  # a file may be older than a figure
    assert again.keys() == before.keys()
    assert [key for key in before if again[key] != before[key]] == []
    assert [path.name for path in tmp_path.iterdir()] == ["again.json"]


def without_nothing(values):
    """Data without the keys that have no value."""
    if isinstance(values, list):
        return [without_nothing(each) for each in values]
    if not isinstance(values, dict):
        return values
    return {key: without_nothing(value) for key, value in values.items() if value is not None}


class TestBleu:
    def test_of_many_evaluations(self):
        """The mean that the file has is the one of its curve."""
        for path in CELLS:
            result = Result.load(path)
            assert result.test_bleu == (result.averaged_test_bleu, "mean of 5")
            assert result.averaged_test_bleu == pytest.approx(averaged_test_bleu(result.curve))

    @pytest.mark.parametrize(("number", "kind"), [(9, "best checkpoint"), (10, "mean of 5")])
    def test_an_older_file_with_a_mean_of_few(self, tmp_path, number, kind):
        data = json.loads(CELLS[0].read_bytes())
        data |= {"curve": data["curve"][:number], "averaged_test_bleu": 12.5, "best": {"step": 1, "dev": 3, "test": 2}}
        (tmp_path / "older.json").write_text(json.dumps(data))
        result = Result.load(tmp_path / "older.json")
        assert result.test_bleu == ((12.5 if number == 10 else 2.0), kind)
        assert result.averaged_test_bleu == (12.5 if number == 10 else None)


@pytest.mark.parametrize("text", ["", "{", "{}", "[1]", '{"format": "trellex-result", "version": 2}', "\xff"])
def test_damaged_files_are_named(tmp_path, text):
    path = tmp_path / "cell.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ValueError, match=r"cell.json: not the result of an experiment \(.*\); run the experiment"):
        Result.load(path)


def test_cut_short(tmp_path):
    path = tmp_path / "cell.json"
    path.write_bytes(CELLS[0].read_bytes()[:-20])
    with pytest.raises(ValueError, match="not the result of an experiment"):
        Result.load(path)


@pytest.mark.parametrize(
    ("head", "method"),
    [
        ("softmax", "softmax"),
        ({"type": "softmax", "label_smoothing": 0.1}, "softmax (label smoothing 0.1)"),
        ({"type": "binary-ec", "decoding": "paper"}, "binary-ec"),
        ({"type": "binary-ec", "decoding": "paper", "loss": "squared"}, "binary-ec"),
        ("binary-ec", "binary-ec (exact decoding)"),
        ({"type": "hybrid-512-ec", "loss": "trellis"}, "hybrid-512-ec (trellis)"),
        ({"type": "hybrid-512-ec", "loss": "trellis", "decoding": "paper"}, "hybrid-512-ec (trellis, paper decoding)"),
        ({"type": "hybrid-512-ec", "mixtures": 4}, "hybrid-512-ec (mixtures 4)"),
    ],
)
def test_methods_say_what_is_not_as_in_the_paper(head, method):
    languages = {"source_language": "en", "target_language": "ja"}
    assert Cell(corpus="KFTT", stands_for=None, head=head, seed=1, **languages).method == method


@pytest.mark.parametrize(
    ("head", "cut", "method"),
    [
        ("softmax", None, "softmax + shortlist"),
        ({"type": "softmax", "tied": True}, None, "softmax (tied) + shortlist"),
        ("softmax", "bpe 8192", "softmax + shortlist, bpe 8192"),
    ],
)
def test_methods_with_a_shortlist(head, cut, method):
    languages = {"source_language": "en", "target_language": "ja"}
    assert Cell(corpus="KFTT", stands_for=None, head=head, seed=1, cut=cut, **languages).listed_method == method


def test_a_selection_and_its_pace_come_back(tmp_path):
    data = json.loads(CELLS[0].read_bytes())
    data["selection"] = {"scores": data["scores"], "recall": 0.75, "list_words": 512.5}
    data["timing"] |= {"int8": {"sentence": 9.5, "steps": 21.25}, "listed": {"sentence": 4.5, "steps": 20.75}}
    result = Result.model_validate(data)
    result.save(tmp_path / "cell.json")
    assert Result.load(tmp_path / "cell.json") == result
    assert (result.selection.recall, result.timing.listed.steps) == (0.75, 20.75)

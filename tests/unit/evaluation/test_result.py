"""Results come back as they were written, and files that are none are named."""

import json
from pathlib import Path

import pytest

from trellex.evaluation.result import Cell, Result

CELLS = sorted((Path(__file__).parents[3] / "docs" / "results" / "cells").glob("*.json"))


@pytest.mark.parametrize("path", CELLS, ids=lambda path: path.stem)
def test_round_trip(path, tmp_path):
    result = Result.load(path)
    result.save(tmp_path / "again.json")
    assert Result.load(tmp_path / "again.json") == result
    assert json.loads((tmp_path / "again.json").read_bytes()) == json.loads(path.read_bytes())
    assert [path.name for path in tmp_path.iterdir()] == ["again.json"]


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
        ({"type": "softmax", "label_smoothing": 0.1}, "softmax (label_smoothing 0.1)"),
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

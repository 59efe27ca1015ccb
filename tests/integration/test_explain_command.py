"""`trellex explain`: a row a word, its bits, corrected ones in circles."""

import json
from pathlib import Path

import pytest

import trellex as library
from trellex.commands.explain import CORRECTED
from trellex.explanation import explain

MODEL = Path(__file__).parents[1] / "models" / "page"
LINE = "she ate sushi this morning ."


def test_a_row_a_word(trellex):
    result = trellex("explain", MODEL, LINE)
    assert result.exit_code == 0
    found = explain(library.load(MODEL), LINE)
    text, _, header, *rows = result.stdout.splitlines()
    assert text.strip() == found.text
    assert header.split() == ["word", "P", "bits", "best", "looked", "at"]
    for row, word in zip(rows, found.words, strict=False):
        token, _, bits, *_ = row.split()
        reading = word.evidence.reading
        assert token == word.token
        plain = bits.translate(str.maketrans(CORRECTED, "01"))
        assert plain == "".join(map(str, reading.code_word))
        assert [place for place, bit in enumerate(bits) if bit in CORRECTED] == reading.corrected
    assert "output layer" in rows[-1]


def test_json_is_that_of_the_library(trellex):
    told = json.loads(trellex("explain", MODEL, LINE, "--beam", 3, "--best", 2, "--json").stdout)
    expected = explain(library.load(MODEL), LINE, library.search.SearchSettings(beam=3), k=2).facts()
    assert told | {"milliseconds": None} == json.loads(json.dumps(expected)) | {"milliseconds": None}


def test_words_of_a_softmax_have_no_bits(trellex):
    result = trellex("explain", MODEL.parent / "export", "may i sing here ?")
    assert result.exit_code == 0
    assert "softmax" in result.stdout


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ([" "], "line: is empty; give a sentence"),
        ([LINE, "--temperature", 2], "temperature: only sampling has one"),
        (["a " * 1001], "line: has 1,001 tokens, more than 1,000"),
    ],
)
def test_what_is_wrong_is_told(trellex, options, problem):
    result = trellex("explain", MODEL, *options)
    assert result.exit_code == 1
    assert problem in result.stderr

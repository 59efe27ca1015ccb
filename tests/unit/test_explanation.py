"""Explanations say what translations say, word by word, whatever the output layer and the search."""

import json
from pathlib import Path

import numpy as np
import pytest

import trellex
from trellex.explanation import MOST_CANDIDATES, explain, model_facts
from trellex.search import SearchSettings
from trellex.translator import Translator

HEADS = {
    "softmax": "softmax",
    "bits": {"type": "binary-ec", "loss": "trellis"},
    "paper": {"type": "binary-ec", "decoding": "paper"},
    "mixture": {"type": "binary-ec", "mixtures": 2},
    "hybrid": "hybrid-9-ec",
    "complete": {"type": "binary-ec", "generators": "complete", "memory": 3},
    "shelves": {"type": "shelves", "words": 4, "visit": 2, "memory": 3},
}
WAYS = {
    "greedy": SearchSettings(),
    "beam": SearchSettings(beam=3),
    "sample": SearchSettings(sample=True, temperature=1.5),
}
MODELS = Path(__file__).parents[1] / "models"
LINE = "s3 s4 unknown s12 s3"


@pytest.fixture(params=HEADS)
def head(request):
    return HEADS[request.param]


@pytest.fixture(params=["torch", "exported"])
def translator(request, head, both):
    ours, exported, _ = both(head)
    return Translator(ours if request.param == "torch" else exported)


@pytest.mark.parametrize("way", WAYS)
def test_it_is_the_translation(translator, way):
    found = explain(translator, LINE, WAYS[way], k=3, seed=4)
    ((expected,),) = translator.search([LINE], WAYS[way], seed=4, attention=True)
    ended = len(expected.log_probs) > len(expected.tokens)
    assert found.text == expected.text
    assert [word.token for word in found.words] == expected.tokens + ["</s>"] * ended
    assert [word.log_prob for word in found.words] == pytest.approx(expected.log_probs, abs=1e-4)
    assert found.source == expected.attention.source == LINE.split()
    assert found.unknown == [2]
    shares = [word.attention for word in found.words[: len(expected.tokens)]]
    assert np.array(shares) == pytest.approx(expected.attention.shares, abs=1e-4)
    if way == "greedy" and translator.head.options().get("decoding") != "paper":
        assert [word.evidence.best[0].log_prob for word in found.words] == pytest.approx(expected.log_probs, abs=1e-4)


def test_facts_are_json(translator):
    facts = json.loads(json.dumps(explain(translator, LINE, k=4).facts(), allow_nan=False))
    assert facts["source"] == LINE.split()
    assert len(facts["milliseconds"]) == 3
    assert all(spent > 0 for spent in facts["milliseconds"].values())
    for word in facts["words"]:
        assert len(word["best"]) == 4
        assert sum(each["probability"] for each in word["best"]) <= 1.00001
        assert word["layer"] in ("softmax", "bits", "shelf")
        reading = word.get("reading")
        assert (reading is None) == (word["layer"] == "softmax")
        if reading and reading["code_word"]:
            pairs = zip(reading["decided"], reading["code_word"], strict=True)
            assert reading["corrected"] == [place for place, (said, is_so) in enumerate(pairs) if said != is_so]


def test_facts_of_the_model(translator):
    facts = model_facts(translator)
    assert (facts["source"], facts["target"], facts["words"]) == ("en", "en", 40)
    assert facts["head"] == translator.head.label
    assert facts["outputs"] > 0


class TestLines:
    @pytest.fixture
    def translator(self, both):
        return Translator(both("binary-ec")[1])

    @pytest.mark.parametrize("line", ["", " \t"])
    def test_an_empty_one_has_nothing_to_explain(self, translator, line):
        found = explain(translator, line)
        assert (found.text, found.source, found.words) == ("", [], [])
        assert found.facts()["words"] == []

    def test_one_that_is_too_long(self, translator):
        with pytest.raises(ValueError, match=r"line: has 1,001 tokens, more than 1,000; split it into sentences"):
            explain(translator, "s3 " * 1001)

    @pytest.mark.parametrize("k", [0, -1, 1.5, MOST_CANDIDATES + 1])
    def test_a_number_of_words_that_does_not_fit(self, translator, k):
        with pytest.raises(ValueError, match="k: expected"):
            explain(translator, LINE, k=k)

    def test_one_whose_translation_does_not_end(self, translator, monkeypatch):
        """The limit of length cuts it off, and no end is told."""
        monkeypatch.setattr("trellex.search.beam_search.length_limit", lambda _: 2)
        found = explain(translator, "s3 s4 s5")
        assert len(found.words) <= 2
        ((expected,),) = translator.search(["s3 s4 s5"], SearchSettings())
        assert [word.log_prob for word in found.words] == pytest.approx(expected.log_probs, abs=1e-4)


def test_an_export_of_before_attention_tells_all_but_that():
    found = explain(trellex.load(MODELS / "export"), "may i sing here ?")
    assert found.text
    assert {len(word.attention) for word in found.words} == {0}

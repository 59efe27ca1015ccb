"""Alignments from attention."""

import json

import numpy as np

from trellex.attention import Attention

ATTENTION = Attention(["where", "is", "it"], np.array([[0.1, 0.2, 0.7], [0.5, 0.5, 0.0], [0.33333, 0.33333, 0.33334]]))


def test_each_token_goes_with_what_counted_most_and_ties_with_the_first():
    assert ATTENTION.alignment() == [(2, 0), (0, 1), (2, 2)]
    assert ATTENTION.pharaoh() == "2-0 0-1 2-2"


def test_no_tokens():
    nothing = Attention(["where"], np.zeros((0, 1)))
    assert (nothing.alignment(), nothing.pharaoh()) == ([], "")


def test_facts_are_json():
    facts = json.loads(json.dumps(ATTENTION.facts()))
    assert facts["source"] == ["where", "is", "it"]
    assert facts["alignment"] == [[2, 0], [0, 1], [2, 2]]
    assert facts["attention"][0] == [0.1, 0.2, 0.7]

"""What an output layer says of a word, against sums over all words and against what a hand can do."""

import numpy as np
import pytest
from enumeration import code_words
from scipy.special import softmax

from trellex.codes import FrequencyCode
from trellex.heads.evidence import evidence_of, outline
from trellex.heads.spec import HeadSpec
from trellex.runtime.code import CodeLayer

CORRECTED = ["binary-ec", {"type": "binary-ec", "mixtures": 3}, "hybrid-9-ec", "binary"]
COMPLETE = [{"type": "binary-ec", "generators": "complete", "memory": 3}]
SHELVES = {"type": "shelves", "words": 4, "visit": 2, "memory": 3}


@pytest.fixture(params=["torch", "exported"])
def layer_and_states(request, both):
    """Makes an output layer and hidden states that it can read."""

    def layer_and_states(head):
        import torch

        ours, exported, _ = both(head)
        h = np.random.default_rng(1).normal(size=(12, 16)).astype(np.float32)
        return (ours.model.head, torch.from_numpy(h)) if request.param == "torch" else (exported.model.layer, h)

    return layer_and_states


def log_probs(layer, h):
    """Of all words. h [1, H] -> [V]"""
    words = np.arange(layer.vocab_size)
    if isinstance(h, np.ndarray):
        return layer.log_prob(np.repeat(h, len(words), 0), words)
    import torch

    return layer.log_prob(h.repeat(len(words), 1), torch.from_numpy(words)).numpy()


def layer_that_says(logits, size, generators=("101", "111")):
    """One whose logits are these whatever it reads."""
    spec = HeadSpec.parse({"type": "binary-ec", "generators": generators})
    linear = np.zeros((len(logits), 1), np.float32), np.array(logits, np.float32)
    return CodeLayer(spec, FrequencyCode(size), size, 1, linear), np.zeros((1, 1), np.float32)


class TestReading:
    @pytest.mark.parametrize("head", ["binary-ec", "binary"])
    def test_posterior_is_a_sum_over_all_words(self, layer_and_states, head):
        layer, states = layer_and_states(head)
        of_words = code_words(layer.ecc.register, layer.vocab_size, layer.code.num_bits)
        for row in range(len(states)):
            h = states[row : row + 1]
            reading = evidence_of(layer, h, 7, 1).reading
            assert reading.posterior == pytest.approx(np.exp(log_probs(layer, h)) @ of_words, abs=1e-5)
            assert reading.code_word == of_words[7].tolist()

    def test_of_a_hybrid_it_is_over_the_rare_words(self, layer_and_states):
        layer, states = layer_and_states("hybrid-9-ec")
        h, first = states[:1], layer.first_rare
        of_words = code_words(layer.bits.ecc.register, layer.vocab_size, layer.bits.code.num_bits)
        rare = softmax(log_probs(layer, h)[first:])
        evidence = evidence_of(layer, h, 20, 3)
        assert evidence.layer == "bits"
        assert evidence.reading.posterior == pytest.approx(rare @ of_words[first:], abs=1e-5)
        assert evidence.others == pytest.approx(np.exp(log_probs(layer, h)[first:]).sum(), rel=1e-4)
        frequent = evidence_of(layer, h, first - 1, 3)
        assert (frequent.layer, frequent.reading, frequent.others) == ("softmax", None, evidence.others)

    @pytest.mark.parametrize("head", COMPLETE)
    def test_of_a_complete_trellis_it_is_of_the_words_own_bits(self, layer_and_states, head):
        layer, states = layer_and_states(head)
        of_words = np.arange(layer.vocab_size)[:, None] >> np.arange(layer.code.num_bits) & 1
        for row in range(len(states)):
            h = states[row : row + 1]
            reading = evidence_of(layer, h, 11, 1).reading
            assert reading.posterior == pytest.approx(np.exp(log_probs(layer, h)) @ of_words, abs=1e-5)
            assert (reading.bits, reading.code_word, reading.corrected) == (of_words[11].tolist(), [], [])

    def test_of_a_mixture_it_is_the_part_that_says_most_for_the_word(self, layer_and_states):
        layer, states = layer_and_states({"type": "binary-ec", "mixtures": 3})
        h, word = states[:1], 13
        logits, log_weights = (np.asarray(found, np.float64) for found in layer.outputs(h))
        of_words = code_words(layer.ecc.register, layer.vocab_size, layer.code.num_bits)
        parts = softmax(logits[0] @ of_words.T, -1)
        weighed = np.exp(log_weights[0]) * parts[:, word]
        reading = evidence_of(layer, h, word, 1).reading
        assert reading.part == weighed.argmax()
        assert reading.weight == pytest.approx(weighed.max() / weighed.sum(), rel=1e-4)
        assert reading.posterior == pytest.approx(parts[reading.part] @ of_words, abs=1e-5)
        assert reading.said == pytest.approx(1 / (1 + np.exp(-logits[0, reading.part])), abs=1e-6)

    def test_corrected_bits_by_hand(self):
        """Word 5 is 101; with the generators 101 and 111 its code word is 11 01 00 01 11."""
        code_word = [1, 1, 0, 1, 0, 0, 0, 1, 1, 1]
        logits = np.where(code_word, 3.0, -3.0)
        logits[[2, 9]] *= -0.2
        layer, h = layer_that_says(logits, 8)
        evidence = evidence_of(layer, h, 5, 1)
        reading = evidence.reading
        assert evidence.best[0].word == reading.number == 5
        assert (reading.bits, reading.code_word, reading.corrected) == ([1, 0, 1], code_word, [2, 9])
        assert reading.decided == [1, 1, 1, 1, 0, 0, 0, 1, 1, 0]
        assert (reading.num_states, reading.states) == (4, [0, 1, 2, 1, 2, 0])

    def test_of_another_word_all_that_speaks_against_it_differs(self):
        layer, h = layer_that_says(np.full(10, -3.0), 8)
        reading = evidence_of(layer, h, 5, 1).reading
        assert reading.corrected == [place for place, bit in enumerate(reading.code_word) if bit]

    def test_a_complete_trellis_ends_with_the_last_bit(self, layer_and_states):
        layer, states = layer_and_states(COMPLETE[0])
        reading = evidence_of(layer, states[:1], 0b100101, 1).reading
        assert (reading.num_states, reading.states) == (8, [0, 1, 2, 5, 2, 4, 1])


class TestShelves:
    def test_posterior_and_shelves_are_sums_over_all(self, layer_and_states):
        layer, states = layer_and_states(SHELVES)
        of_shelves = code_words(layer.ecc.register, layer.num_shelves, layer.shelf_bits)
        numbers, words = np.arange(layer.num_shelves), layer.code.numbers(np.arange(layer.vocab_size))
        bits = numbers[:, None] >> np.arange(layer.shelf_bits) & 1
        for row in range(len(states)):
            h = states[row : row + 1]
            shares = softmax(np.asarray(layer.shelf_logits(h), np.float64)[0] @ of_shelves.T)
            evidence = evidence_of(layer, h, 21, 3)
            assert evidence.layer == "shelf"
            assert evidence.reading.number == words[21] % layer.num_shelves
            assert evidence.reading.posterior == pytest.approx(shares @ bits, abs=1e-5)
            best = np.argsort(-shares, kind="stable")[:3]
            assert [shelf.number for shelf in evidence.shelves] == best.tolist()
            assert [np.exp(shelf.log_prob) for shelf in evidence.shelves] == pytest.approx(shares[best], rel=1e-4)
            of_words = log_probs(layer, h)
            for shelf in evidence.shelves:
                own = np.flatnonzero(words % layer.num_shelves == shelf.number)
                told, log_prob = zip(*shelf.words, strict=True)
                assert set(told) <= set(own.tolist())
                assert log_prob == pytest.approx(np.sort(of_words[own])[::-1][: len(told)], abs=1e-4)

    def test_more_than_there_are(self, layer_and_states):
        layer, states = layer_and_states(SHELVES)
        evidence = evidence_of(layer, states[:1], 3, 99)
        assert len(evidence.shelves) == layer.num_shelves
        assert len(evidence.best) == layer.vocab_size


@pytest.mark.parametrize("head", ["softmax", *CORRECTED, *COMPLETE, SHELVES])
def test_the_best_are_those_of_topk(layer_and_states, head):
    layer, states = layer_and_states(head)
    words, expected = layer.topk(states[:1], 4)
    best = evidence_of(layer, states[:1], 3, 4).best
    assert [each.word for each in best] == words[0].tolist()
    assert [each.log_prob for each in best] == pytest.approx(expected[0].tolist())
    spelt = [each.states is not None for each in best]
    assert spelt == [head != "softmax" and each.word >= getattr(layer, "first_rare", 0) for each in best]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("softmax", {"words": 40, "outputs": 40}),
        ("binary-ec", {"words": 40, "outputs": 24, "bits": 6, "redundant bits": 24, "states": 64}),
        ({"type": "binary-ec", "mixtures": 3}, {"words": 40, "outputs": 75, "redundant bits": 24, "mixtures": 3}),
        ("hybrid-9-ec", {"words": 40, "outputs": 33, "bits": 6, "redundant bits": 24, "frequent words": 8}),
        ({"type": "hierarchical", "code": "random"}, {"words": 40, "outputs": 6}),
        ({"type": "adaptive", "cutoffs": [10, 25]}, {"words": 40, "outputs": 12 + 15}),
        ("differentiated", {"words": 40, "outputs": 40}),
        ("free", {"words": 40, "outputs": 40}),
        (COMPLETE[0], {"words": 40, "outputs": 31, "bits": 6, "states": 8}),
        (SHELVES, {"words": 40, "outputs": 15 + 6, "shelves": 16, "visited": 2, "words on a shelf": 3}),
    ],
)
def test_sizes(layer_and_states, head, expected):
    layer, _ = layer_and_states(head)
    assert outline(layer) == outline(layer) | expected
    if hasattr(layer, "cost"):
        assert outline(layer)["outputs"] == layer.cost().outputs

"""Word vectors: what they are computed from, by hand, and that words with like neighbours have like vectors."""

import sys

import numpy as np
import pytest

from trellex.text import BOS, EOS, chunks
from trellex.text import word_vectors as module
from trellex.text.word_vectors import word_vectors

SENTENCES = [[3, 4, 5], [], [4], [5, 4, 3, 0, 6], [3, 3, 7], [6, 0]]


def flat(sentences):
    return np.array([word for sentence in sentences for word in sentence], np.uint16), np.array(
        [len(sentence) for sentence in sentences], np.int64
    )


def counts_by_hand(sentences, vocab_size):
    """[V, V]"""
    counts = np.zeros((vocab_size, vocab_size))
    for sentence in sentences:
        words = [BOS, *sentence, EOS]
        for place, word in enumerate(words):
            for other, neighbour in enumerate(words):
                counts[word, neighbour] += {1: 1.0, 2: 0.5}.get(abs(place - other), 0)
    return counts


def ppmi_by_hand(counts):
    contexts = counts.sum(0) ** 0.75 / (counts.sum(0) ** 0.75).sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.log((counts / counts.sum()) / (counts.sum(1, keepdims=True) / counts.sum() * contexts))
    return np.where(counts > 0, np.maximum(information, 0), 0)


def cosines(vectors):
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    units = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return units @ units.T


@pytest.fixture(params=[chunks.CHUNK, 4, 1], ids=lambda tokens: f"{tokens} tokens at once")
def chunk(request, monkeypatch):
    monkeypatch.setattr(chunks, "CHUNK", request.param)


@pytest.mark.usefixtures("chunk")
class TestByHand:
    def test_counts(self):
        counts = module._neighbours(*flat(SENTENCES), 9).toarray()
        expected = counts_by_hand(SENTENCES, 9)
        assert np.array_equal(counts, expected[:, [BOS, EOS, 3, 4, 0, 5, 6, 7, 8]])  # the most frequent first

    def test_only_frequent_words_are_neighbours(self, monkeypatch):
        monkeypatch.setattr(module, "CONTEXTS", 3)
        counts = module._neighbours(*flat(SENTENCES), 9).toarray()
        assert np.array_equal(counts, counts_by_hand(SENTENCES, 9)[:, [BOS, EOS, 3]])

    def test_information(self):
        found = module._ppmi(module._neighbours(*flat(SENTENCES), 9)).toarray()
        counts = module._neighbours(*flat(SENTENCES), 9).toarray()
        assert found == pytest.approx(ppmi_by_hand(counts), abs=1e-6)
        assert (found > 0).sum() > 20

    def test_vectors_are_those_of_the_whole_decomposition(self):
        u, s, _ = np.linalg.svd(ppmi_by_hand(counts_by_hand(SENTENCES, 9)))
        for dimensions in (2, 5):
            vectors = word_vectors(*flat(SENTENCES), 9, dimensions)
            assert vectors.shape == (9, dimensions)
            assert vectors.dtype == np.float32
            expected = cosines((u * np.sqrt(s))[:, :dimensions])
            expected[8] = expected[:, 8] = 0  # occurs nowhere
            assert vectors @ vectors.T == pytest.approx(expected, abs=1e-4)


def test_words_with_like_neighbours_have_like_vectors():
    """Colours stand before things, names before deeds: each has the neighbours of its own kind alone."""
    rng = np.random.default_rng(0)
    colours, things, names, deeds = np.arange(3, 83).reshape(4, 20)
    sentences = [[rng.choice(colours), rng.choice(things)] for _ in range(2000)]
    sentences += [[rng.choice(names), rng.choice(deeds)] for _ in range(2000)]
    vectors = word_vectors(*flat(sentences), 83, 4)
    alike = vectors @ vectors.T
    for kind in (colours, things, names, deeds):
        others = np.setdiff1d(np.arange(3, 83), kind)
        assert alike[np.ix_(kind, kind)].min() > alike[np.ix_(kind, others)].max() + 0.2


def test_the_same_text_gives_the_same_vectors():
    rng = np.random.default_rng(3)
    sentences = [rng.integers(3, 200, rng.integers(0, 9)) for _ in range(500)]
    vectors = word_vectors(*flat(sentences), 200)
    assert vectors.shape == (200, 64)
    assert np.array_equal(vectors, word_vectors(*flat(sentences), 200))


def test_without_scipy(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.sparse", None)
    with pytest.raises(ImportError, match=r"scipy is missing .*; pip install 'trellex\[train\]'"):
        word_vectors(*flat(SENTENCES), 9)


@pytest.mark.parametrize("sentences", [[], [[]], [[], []], [[3]]], ids=str)
def test_hardly_any_text(sentences):
    vectors = word_vectors(*flat(sentences), 5, 3)
    assert vectors.shape == (5, 3)
    assert np.isfinite(vectors).all()
    assert not vectors[4].any()

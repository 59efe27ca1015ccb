"""Words read from hidden states, against the scores of all words."""

import numpy as np
import pytest

from trellex.codes import FrequencyCode, HuffmanCode, RandomCode
from trellex.runtime.reader import FEW, Reader
from trellex.spelling import Spelling
from trellex.trellis import ConvolutionalCode, IdentityCode, between

CODES = {
    "paper": ConvolutionalCode(),
    "length 3": ConvolutionalCode(("101", "111")),
    "length 4, three generators": ConvolutionalCode(("1101", "1011", "1111")),
    "length 4, an end without a bit": ConvolutionalCode(("1011", "0111")),
    "length 3, six generators": ConvolutionalCode(("101", "111") * 3),
    "identity": IdentityCode(),
}
SIZES = [2, 3, 127, 128, 129]
KINDS = {
    "random": lambda random, shape: 3 * random.normal(size=shape),
    "all tied": lambda _, shape: np.zeros(shape),
    "many ties": lambda random, shape: random.integers(-1, 2, shape),
    "huge": lambda random, shape: random.integers(-3, 4, shape) * 2.0**100,
    "far apart": lambda random, shape: random.integers(-3, 4, shape) * np.where(random.random(shape) < 0.2, 2.0**40, 1),
}


def scores_of(spelling, words, logits):
    """[N, L] -> [N, words]"""
    return logits @ spelling.redundant_bits(words).astype(float).T


@pytest.fixture(params=KINDS)
def rows(request):
    """Makes logits of many rows."""
    return lambda length: KINDS[request.param](np.random.default_rng(0), (12, length)).astype(np.float64)


def in_groups(read, rows):
    """What is said of all rows at once, of few at a time, and of each alone."""
    yield read(rows)
    for count in (FEW, 1):
        parts = [read(rows[start : start + count]) for start in range(0, len(rows), count)]
        yield tuple(map(np.concatenate, zip(*parts, strict=True)))


def without_log_prob(reader):
    """`reader.best`, with NaN for what it does not tell."""
    return lambda rows: (reader.best(rows), np.full(len(rows), np.nan))


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("size", SIZES)
def test_the_best_of_all_words(code, size, rows):
    spelling = Spelling(FrequencyCode(size), CODES[code])
    check(spelling, np.arange(size), rows(spelling.length))


@pytest.mark.parametrize(
    ("spelling", "first"),
    [
        (Spelling(RandomCode(100, 3), CODES["length 3"]), 0),
        (Spelling(HuffmanCode([30, 12, 9, 4, 4, 3, 2, 2, 1]), CODES["paper"]), 0),
        (Spelling(FrequencyCode(100), CODES["paper"], between(37, 100, 7)), 37),
    ],
    ids=["random", "huffman", "between"],
)
def test_words_that_are_few_among_bit_arrays(spelling, first, rows):
    check(spelling, np.arange(first, spelling.code.vocab_size), rows(spelling.length), by_word=False)


def check(spelling, words, logits, by_word=True):
    scores = scores_of(spelling, words, logits)
    best = scores.max(-1)
    reader = Reader(spelling, np.eye(spelling.length), np.zeros(spelling.length))
    answers = [*in_groups(without_log_prob(reader), logits), *in_groups(reader.best_with_log_prob, logits)]
    for found, log_probs in answers:
        at = found - words[0]
        if by_word:  # of equals the lowest number, which is the lowest word
            assert np.array_equal(at, scores.argmax(-1)) or not is_exact(logits)
        np.testing.assert_allclose(np.take_along_axis(scores, at[:, None], -1)[:, 0], best, rtol=1e-12)
        if not np.isnan(log_probs).any():
            expected = best - np.logaddexp.reduce(scores, -1)
            np.testing.assert_allclose(log_probs, expected, rtol=1e-12, atol=1e-9 + 1e-15 * np.abs(best).max())


def is_exact(logits):
    """Whether sums of these are not rounded."""
    return np.array_equal(logits, np.rint(logits))


@pytest.mark.parametrize("code", ["paper", "length 4, three generators"])
@pytest.mark.parametrize("size", [100, 128, 200, 1000])
def test_layers_are_multiplied(code, size):
    spelling, random = Spelling(FrequencyCode(size), CODES[code]), np.random.default_rng(0)
    weight, bias = random.normal(size=(spelling.length, 48)), random.normal(size=spelling.length)
    h = random.normal(size=(9, 48))
    expected = scores_of(spelling, np.arange(size), h @ weight.T + bias).argmax(-1)
    for kind in (np.float32, np.float64):
        reader = Reader(spelling, weight.astype(kind), bias.astype(kind))
        for read in (without_log_prob(reader), reader.best_with_log_prob):
            for found, _ in in_groups(read, h.astype(kind)):
                assert np.array_equal(found, expected)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("count", [1, 6])
def test_a_nan_is_named(code, count):
    spelling = Spelling(FrequencyCode(100), CODES[code])
    reader = Reader(spelling, np.eye(spelling.length), np.zeros(spelling.length))
    logits = np.random.default_rng(0).normal(size=(count, spelling.length))
    logits[-1, 3] = np.nan
    for read in (reader.best, reader.best_with_log_prob):
        with pytest.raises(ValueError, match=f"row {count - 1} has a NaN"):
            read(logits)


@pytest.mark.parametrize("code", CODES)
def test_no_rows(code):
    spelling = Spelling(FrequencyCode(100), CODES[code])
    reader = Reader(spelling, np.eye(spelling.length), np.zeros(spelling.length))
    assert len(reader.best(np.empty((0, spelling.length)))) == 0
    assert [len(part) for part in reader.best_with_log_prob(np.empty((0, spelling.length)))] == [0, 0]

"""What bits spell, in numpy and in torch, against a sum over all words."""

import numpy as np
import pytest
import torch

from trellex.codes import FrequencyCode, HuffmanCode, RandomCode
from trellex.runtime.reader import FEW, Reader
from trellex.spelling import Spelling, check_decoding
from trellex.trellis import ConvolutionalCode, IdentityCode, between

ROWS, RARE = 7, 8
SPELLINGS = {
    "plain": (FrequencyCode(11), IdentityCode(), None),
    "paper": (FrequencyCode(37), ConvolutionalCode(), None),
    "random": (RandomCode(13, 2), ConvolutionalCode(("101", "111")), None),
    "huffman": (HuffmanCode([30, 12, 9, 4, 4, 3, 2, 2, 1]), ConvolutionalCode(("101", "111")), None),
    "rare words alone": (FrequencyCode(21), ConvolutionalCode(("101", "111", "011")), between(RARE, 21, 5)),
}


@pytest.fixture(params=SPELLINGS)
def spelling(request):
    return Spelling(*SPELLINGS[request.param])


@pytest.fixture(params=[1, 3], ids=["one part", "three parts"])
def mixtures(request):
    return request.param


@pytest.fixture
def outputs(spelling, mixtures):
    """Logits and log π."""
    random = np.random.default_rng(0)
    logits = 2 * random.normal(size=(ROWS, mixtures, spelling.length))
    weights = random.normal(size=(ROWS, mixtures))
    return logits, weights - np.logaddexp.reduce(weights, -1)[:, None]


def words_of(spelling):
    """The words that may be spelt."""
    return np.arange(RARE if spelling.code == FrequencyCode(21) else 0, spelling.code.vocab_size)


def by_hand(spelling, logits):
    """log P_k of every word. -> [T, K, words]"""
    scores = logits @ spelling.redundant_bits(words_of(spelling)).T
    return scores - np.logaddexp.reduce(scores, -1)[..., None]


def mixed_by_hand(spelling, logits, log_weights):
    """log P of every word. -> [T, words]"""
    return np.logaddexp.reduce(by_hand(spelling, logits) + log_weights[..., None], 1)


def in_torch(*arrays):
    return [torch.from_numpy(array) for array in arrays]


class TestLogProb:
    def test_by_hand(self, spelling, outputs):
        expected = mixed_by_hand(spelling, *outputs)
        for place, word in enumerate(words_of(spelling)):
            words = np.full(ROWS, word)
            found = spelling.log_prob(*outputs, words)
            np.testing.assert_allclose(found, expected[:, place], atol=1e-9)
            assert isinstance(found, np.ndarray)
            np.testing.assert_allclose(spelling.log_prob(*in_torch(*outputs, words)).numpy(), found, atol=1e-9)

    def test_impossible_parts_do_not_count(self, spelling, outputs, mixtures):
        logits, log_weights = outputs[0], np.full(outputs[1].shape, -np.inf)
        log_weights[:, -1] = 0
        words = np.full(ROWS, words_of(spelling)[3])
        expected = by_hand(spelling, logits)[:, -1, 3]
        np.testing.assert_allclose(spelling.log_prob(logits, log_weights, words), expected, atol=1e-9)
        found = spelling.log_prob(*in_torch(logits, log_weights, words))
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-9)


class TestTopk:
    @pytest.mark.parametrize("k", [1, 2, 5, 40])
    def test_numpy_and_torch_agree(self, spelling, outputs, k):
        words, log_probs = spelling.topk(*outputs, k)
        in_tensors = spelling.topk(*in_torch(*outputs), k)
        assert words.shape == log_probs.shape == (ROWS, k)
        assert np.array_equal(in_tensors[0].numpy(), words)
        np.testing.assert_allclose(in_tensors[1].numpy(), log_probs, atol=1e-9)

    def test_every_word_by_hand(self, spelling, outputs):
        """With as many as there are, a mixture's best are exact, too; behind them there is nothing."""
        every = words_of(spelling)
        expected = mixed_by_hand(spelling, *outputs)
        words, log_probs = spelling.topk(*outputs, len(every) + 2)
        assert np.array_equal(words[:, :-2], every[np.argsort(-expected, -1)])
        np.testing.assert_allclose(log_probs[:, :-2], -np.sort(-expected, -1), atol=1e-9)
        assert (words[:, -2:] == -1).all()
        assert (log_probs[:, -2:] == -np.inf).all()

    def test_the_best_word_of_one_part(self, spelling, outputs):
        logits = outputs[0][:, 0]
        expected = words_of(spelling)[by_hand(spelling, logits[:, None])[:, 0].argmax(-1)]
        same = Reader(spelling, np.eye(spelling.length), np.zeros(spelling.length)).best
        assert np.array_equal(same(np.tile(logits, (FEW, 1))), np.tile(expected, FEW))
        assert np.array_equal(np.concatenate([same(row[None]) for row in logits]), expected)


class TestOthers:
    @pytest.mark.parametrize("temperature", [0.4, 1.0, 3.0])
    def test_masses_by_hand(self, spelling, outputs, temperature):
        expected = np.logaddexp.reduce((by_hand(spelling, outputs[0]) + outputs[1][..., None]) / temperature, -1)
        np.testing.assert_allclose(spelling.log_masses(*outputs, temperature), expected, atol=1e-9)
        found = spelling.log_masses(*in_torch(*outputs), temperature)
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-9)

    def test_the_papers_decoding_by_hand(self, spelling, outputs):
        """The best of all bit arrays, be it a word's or not."""
        logits = outputs[0].reshape(-1, spelling.length)
        num_bits = spelling.code.num_bits
        arrays = (np.arange(1 << num_bits)[:, None] >> np.arange(num_bits)) & 1
        expected = spelling.code.ids(arrays[(logits @ spelling.ecc.encode(arrays).T).argmax(-1)])
        assert np.array_equal(spelling.decode(logits), expected)
        assert np.array_equal(spelling.decode(torch.from_numpy(logits)).numpy(), expected)

    def test_no_rows(self, spelling, mixtures):
        logits, log_weights = np.zeros((0, mixtures, spelling.length)), np.zeros((0, mixtures))
        assert spelling.log_prob(logits, log_weights, np.zeros(0, int)).shape == (0,)
        assert spelling.log_masses(logits, log_weights, 0.5).shape == (0, mixtures)
        assert spelling.decode(logits[:, 0]).shape == (0,)

    @pytest.mark.parametrize("parts", [1, 3])
    def test_the_best_of_no_rows(self, spelling, parts):
        logits, log_weights = np.zeros((0, parts, spelling.length)), np.zeros((0, parts))
        assert tuple(spelling.topk(*in_torch(logits, log_weights), 3)[0].shape) == (0, 3)
        assert spelling.topk(logits, log_weights, 3)[0].shape == (0, 3)


def test_an_unknown_decoding():
    assert check_decoding("paper") == "paper"
    with pytest.raises(ValueError, match="decoding: expected one of exact, paper, got 'papr'"):
        check_decoding("papr")

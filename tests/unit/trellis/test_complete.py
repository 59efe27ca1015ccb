"""What a complete trellis promises beside agreeing with enumeration."""

import numpy as np
import pytest
import torch
from enumeration import code_words

from trellex.trellis import CompleteCode, ConvolutionalCode, complete

KINDS = pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])


def words_of(size, bits):
    """[V, B]"""
    return np.arange(size)[:, None] >> np.arange(bits) & 1


class TestLength:
    @pytest.mark.parametrize(
        ("memory", "bits", "length"),
        [(1, 1, 1), (1, 2, 3), (3, 5, 1 + 2 + 4 + 8 + 8), (6, 16, 703), (8, 16, 2303), (10, 4, 15)],
    )
    def test_there_is_an_output_for_every_state(self, memory, bits, length):
        ecc = CompleteCode(memory)
        assert ecc.length(bits) == length
        assert ecc.num_bits(length) == bits
        assert repr(ecc) == f"CompleteCode(memory={memory})"

    def test_with_all_earlier_bits_it_is_a_softmax(self):
        """All words but 0 have an output that no word before them has: any scores can be had."""
        words = code_words(CompleteCode(4).register, 32, 5)
        assert np.linalg.matrix_rank(words) == 31 == words.shape[1]

    @pytest.mark.parametrize("memory", [2, 3])
    def test_it_holds_what_any_code_of_its_memory_does(self, memory):
        """Scores of parities of the newest m + 1 bits are some of its own, up to a constant."""
        generators = [f"{mask:0{memory + 1}b}" for mask in range(1, 2 << memory)]
        narrow = [generator for generator in generators if generator.endswith("1")]
        complete = code_words(CompleteCode(memory).register, 64, 6)
        parities = code_words(ConvolutionalCode(narrow).register, 64, 6)
        together = np.concatenate([np.ones((64, 1)), complete, parities], -1)
        assert np.linalg.matrix_rank(together) == 1 + np.linalg.matrix_rank(complete)


@KINDS
class TestScore:
    def test_of_one_row_and_many_words(self, kind):
        ecc, bits = CompleteCode(3), words_of(32, 5)
        logits = np.random.default_rng(0).normal(size=(2, 4, ecc.length(5)))
        expected = logits @ code_words(ecc.register, 32, 5).T
        found = ecc.score(kind(logits[:, :, None]), kind(bits[None, None]))
        assert type(found) is type(kind(0))
        np.testing.assert_allclose(found, expected, atol=1e-12)

    def test_of_a_word_for_every_row(self, kind):
        ecc = CompleteCode(3)
        logits, words = np.random.default_rng(0).normal(size=(7, ecc.length(5))), np.arange(7) * 3
        expected = (logits * code_words(ecc.register, 32, 5)[words]).sum(-1)
        np.testing.assert_allclose(ecc.score(kind(logits), kind(words_of(32, 5)[words])), expected, atol=1e-12)

    def test_of_many_rows_and_one_word(self, kind):
        ecc = CompleteCode(2)
        logits = np.random.default_rng(0).normal(size=(7, ecc.length(4)))
        found = ecc.score(kind(logits), kind(words_of(16, 4)[11:12]))
        np.testing.assert_allclose(found, logits @ code_words(ecc.register, 16, 4)[11], atol=1e-12)

    @pytest.mark.parametrize("few", [0, 12], ids=["by bits", "by a table"])
    def test_of_several_numbers_a_row(self, kind, few, monkeypatch):
        monkeypatch.setattr(complete, "FEW_BITS", few)
        ecc, rng = CompleteCode(3), np.random.default_rng(0)
        logits, numbers = rng.normal(size=(4, ecc.length(5))), rng.integers(32, size=(4, 7))
        expected = np.take_along_axis(logits @ code_words(ecc.register, 32, 5).T, numbers, -1)
        np.testing.assert_allclose(ecc.score_of_numbers(kind(logits), kind(numbers), 5), expected)
        assert ecc.score_of_numbers(kind(logits[:0]), kind(numbers[:0]), 5).shape == (0, 7)

    def test_no_rows(self, kind):
        ecc = CompleteCode(2)
        assert tuple(ecc.score(kind(np.zeros((0, ecc.length(4)))), kind(np.zeros((0, 4), int))).shape) == (0,)
        assert tuple(ecc.all_scores(kind(np.zeros((3, 0, ecc.length(4)))), 4).shape) == (3, 0, 16)


def test_the_score_has_a_gradient():
    ecc, bits = CompleteCode(2), torch.from_numpy(words_of(16, 4))
    logits = torch.randn(3, 1, ecc.length(4), dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda z: ecc.score(z, bits[None]) - ecc.log_partition(z, size=13), (logits,), fast_mode=True
    )


@KINDS
@pytest.mark.parametrize(("memory", "bits"), [(1, 1), (3, 2), (3, 9), (10, 62)])
def test_bits_count_at_the_states_they_follow(kind, memory, bits):
    ecc, words = CompleteCode(memory), np.random.default_rng(0).integers(0, 2, (20, bits))
    words[0] = 1
    expected = np.zeros((20, ecc.length(bits)), int)
    for step, states in enumerate(ecc.register.states(words)[:-1]):
        expected[np.arange(20), ecc.register.first_output(step) + states] = words[:, step]
    np.testing.assert_array_equal(ecc.encode(kind(words)), expected)


@pytest.mark.parametrize("size", [256, 200])
@pytest.mark.parametrize("spread", [1.0, 40.0, 300.0])
def test_sums_of_many_rows_where_all_logits_together_are_larger_than_any_score(size, spread):
    """Of 47 logits a word counts 8 at most: sums need no scaling at first, then for some rows, then for all."""
    ecc, random = CompleteCode(3), np.random.default_rng(1)
    logits = random.normal(size=(100, ecc.length(8))) * spread * random.uniform(0.5, 2, (100, 1))
    words = code_words(ecc.register, size, 8)
    scores = logits @ words.T
    highest = scores.max(-1, keepdims=True)
    sums = highest + np.log(np.exp(scores - highest).sum(-1, keepdims=True))
    np.testing.assert_allclose(ecc.log_partition(logits, size), sums[:, 0], rtol=1e-12, atol=1e-10)
    np.testing.assert_allclose(ecc.posterior(logits, size), np.exp(scores - sums) @ words, rtol=0, atol=1e-10)
    logits[70, 5] = np.nan
    with pytest.raises(ValueError, match="logits: row 70 has a NaN"):
        ecc.log_partition(logits, size)


class TestBadInput:
    @pytest.mark.parametrize("memory", [0, -1, 11, "8", True, 2.5, None])
    def test_memory(self, memory):
        with pytest.raises(ValueError, match="^memory: expected "):
            CompleteCode(memory)

    @KINDS
    @pytest.mark.parametrize("length", [0, 2, 14, 16, 22, 24])
    def test_lengths_that_no_words_have(self, kind, length):
        ecc, logits = CompleteCode(3), kind(np.zeros((2, length)))
        for function in (ecc.log_partition, ecc.posterior, ecc.sample, lambda z: ecc.topk(z, 2)):
            with pytest.raises(ValueError, match=rf"logits: the last dimension, {length}, .* 2\^3 \(B − 3\)"):
                function(logits)

    @KINDS
    def test_values(self, kind):
        ecc = CompleteCode(3)
        logits = np.zeros((3, 15))
        logits[1, 4] = np.nan
        for function in (ecc.log_partition, ecc.posterior, ecc.sample, lambda z: ecc.topk(z, 2)):
            with pytest.raises(ValueError, match="logits: row 1 has a NaN"):
                function(kind(logits))
        with pytest.raises(ValueError, match="bits: .*only 0 and 1"):
            ecc.encode(kind([0, 2, 1]))

    def test_it_corrects_nothing(self):
        with pytest.raises(ValueError, match=r"CompleteCode\(memory=3\) corrects no errors"):
            CompleteCode(3).minimum_distance(8)


@pytest.mark.parametrize("code", [CompleteCode(3), ConvolutionalCode(("1001", "1111"))], ids=repr)
def test_states_are_the_newest_bits(code):
    """By hand, bit by bit: all bits so far as a number, the newest in the lowest place, cut to m bits."""
    bits = np.array([[1, 0, 1, 1, 0], [0, 1, 1, 1, 1]])
    tail = [] if code.register.is_complete else [0] * code.memory
    for row, states in zip(bits.tolist(), np.stack(code.register.states(bits), -1).tolist(), strict=True):
        entered = row + tail
        expected = [int("0" + "".join(map(str, entered[:count])), 2) % 8 for count in range(len(entered) + 1)]
        assert states == expected

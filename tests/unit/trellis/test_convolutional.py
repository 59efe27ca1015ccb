"""What a convolutional code promises beside agreeing with enumeration."""

import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
import torch
from enumeration import Enumeration, code_words, num_bits
from hypothesis import given, settings
from hypothesis import strategies as st

from trellex.codes import FrequencyCode, HuffmanCode, RandomCode
from trellex.trellis import CompleteCode, ConvolutionalCode, IdentityCode, set_num_threads

ECC = ConvolutionalCode()


def flipped(redundant, places):
    """redundant [N, L] with the bits at places [N, F] flipped."""
    result = redundant.copy()
    rows = np.arange(len(places))[:, None]
    result[rows, places] ^= 1
    return result


class TestCorrection:
    def test_all_words_of_16_bits_come_back(self):
        code = FrequencyCode(1 << 16)
        ids = np.arange(1 << 16)
        assert np.array_equal(code.ids(ECC.decode(ECC.encode(code.bits(ids)))), ids)

    @pytest.mark.parametrize("flips", [1, 2, 3, 4])
    def test_every_pattern_of_up_to_4_flipped_bits_is_corrected(self, flips):
        places = np.array(list(combinations(range(44), flips)))
        bits = np.random.default_rng(flips).integers(0, 2, (len(places), 16))
        assert np.array_equal(ECC.decode(flipped(ECC.encode(bits), places)), bits)

    def test_minimum_distance_is_that_of_the_lightest_word(self):
        assert ECC.minimum_distance(16) == 10
        assert ECC.minimum_distance(15) == 10
        assert IdentityCode().minimum_distance(7) == 1
        for generators in (("101", "111"), ("1101", "1011", "1111"), ("010", "001")):
            ecc = ConvolutionalCode(generators)
            assert ecc.minimum_distance(6) == code_words(ecc.register, 1 << 6, 6)[1:].sum(-1).min()

    @pytest.mark.parametrize("kind", [np.float32, np.float64])
    def test_where_certain_bits_contradict_each_other_the_fewest_give_way_and_the_rest_decides(self, kind):
        rng = np.random.default_rng(0)
        words = code_words(ECC.register, 64, 6)
        probs = rng.uniform(0.1, 0.9, (300, words.shape[1])).astype(kind)
        certain = rng.random(probs.shape) < 0.6
        probs[certain] = np.round(probs[certain])
        contradictions = (certain[:, None] & (probs[:, None] != words)).sum(-1)
        assert contradictions.min(-1).max() > 0
        soft = np.where(certain, 0.5, probs).astype(float)
        evidence = (np.log(soft) - np.log(1 - soft)) @ words.T
        expected = (evidence - 1e9 * contradictions).argmax(-1)
        assert np.array_equal((ECC.decode(probs) << np.arange(6)).sum(-1), expected)


class TestArrays:
    def test_leading_dimensions_are_kept(self):
        logits = np.random.default_rng(0).normal(size=(2, 3, 5, 44))
        flat = logits.reshape(-1, 44)
        for numbers, scores in (
            ECC.topk(logits, 4, size=50_000),
            ECC.topk(torch.from_numpy(logits), 4, size=50_000),
        ):
            assert tuple(numbers.shape) == tuple(scores.shape) == (2, 3, 5, 4)
            assert np.array_equal(np.asarray(numbers).reshape(-1, 4), ECC.topk(flat, 4, size=50_000)[0])
        assert ECC.log_partition(logits).shape == (2, 3, 5)
        assert ECC.posterior(logits).shape == logits.shape
        assert ECC.decode(1 / (1 + np.exp(-logits))).shape == (2, 3, 5, 16)
        assert ECC.encode(np.zeros((2, 0, 16), int)).shape == (2, 0, 44)
        assert ECC.topk(logits[0, 0, 0], 4)[0].shape == (4,)
        assert ECC.log_partition(logits[0, 0, 0]).shape == ()
        assert ECC.sample(logits[:, :0], size=99).shape == (2, 0, 5)
        assert ECC.sample(logits[:, :0], size=99, count=4).shape == (2, 0, 5, 4)
        assert ECC.sample(logits, size=99, count=1).shape == (*logits.shape[:-1], 1)

    def test_memory_order_does_not_matter(self):
        logits = np.asfortranarray(np.random.default_rng(0).normal(size=(40, 88)))[:, ::2]
        plain = np.ascontiguousarray(logits)
        assert np.array_equal(ECC.topk(logits, 3)[0], ECC.topk(plain, 3)[0])
        assert np.array_equal(ECC.log_partition(torch.from_numpy(plain.T.copy()).T), ECC.log_partition(plain))

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_float_types_are_kept(self, dtype):
        logits = torch.randn(6, 44, generator=torch.Generator().manual_seed(0)).to(dtype).requires_grad_()
        assert ECC.log_partition(logits).dtype == dtype
        ECC.log_partition(logits, size=40_000).sum().backward()
        assert logits.grad.dtype == dtype
        numbers, scores = ECC.topk(logits, 3)
        assert (numbers.dtype, scores.dtype) == (torch.int64, dtype)
        assert ECC.log_partition(logits.detach().numpy()).dtype == logits.detach().numpy().dtype

    def test_half_precision_gets_a_gradient_too(self):
        logits = torch.randn(4, 44, generator=torch.Generator().manual_seed(0)).bfloat16().requires_grad_()
        values = ECC.log_partition(logits, size=40_000)
        assert values.dtype == torch.float32
        values.sum().backward()
        np.testing.assert_allclose(logits.grad.float(), ECC.posterior(logits, size=40_000).float(), atol=4e-3)

    def test_float32_is_close_to_float64(self):
        logits = np.random.default_rng(0).normal(size=(50, 44)) * 5
        single = logits.astype(np.float32)
        np.testing.assert_allclose(ECC.log_partition(single), ECC.log_partition(logits), rtol=1e-6)
        np.testing.assert_allclose(ECC.posterior(single), ECC.posterior(logits), atol=1e-5)

    def test_a_word_does_not_depend_on_the_batch_it_is_in(self):
        """Many words tie here up to rounding, so every way of summing must round alike."""
        probs = np.random.default_rng(0).choice([0.1, 0.9, 0.5, 0.0], (300, 44))
        alone = np.stack([ECC.decode(row) for row in probs])
        assert np.array_equal(ECC.decode(probs), alone)

    @pytest.mark.parametrize("kind", [np.float32, np.float64])
    @pytest.mark.parametrize("rows", [8, 9, 63, 64, 65, 130])
    def test_sums_do_not_depend_on_the_batch_they_are_in(self, rows, kind):
        logits = (np.random.default_rng(rows).normal(size=(rows, 44)) * 3).astype(kind)
        logits[::5] *= 100  # sums that need scaling
        tolerance = 4 * np.finfo(kind).eps
        for function in (ECC.log_partition, ECC.posterior):
            alone = np.stack([function(row, size=50_000) for row in logits])
            np.testing.assert_allclose(function(logits, size=50_000), alone, rtol=tolerance, atol=10 * tolerance)

    @pytest.mark.parametrize("span", [599.0, 601.0, 709.0])
    @pytest.mark.parametrize("sign", [-1, 1])
    def test_sums_near_the_ends_of_plain_numbers(self, sign, span):
        logits = np.random.default_rng(0).random((20, 22))
        logits *= sign * span / logits.sum(-1, keepdims=True)
        truth = Enumeration(logits, code_words(ECC.register, 32, 5))
        np.testing.assert_allclose(ECC.log_partition(logits), truth.log_partition, rtol=1e-12, atol=1e-9)
        np.testing.assert_allclose(ECC.posterior(logits), truth.posterior, atol=1e-12)

    def test_tensors_that_want_gradients(self):
        logits = torch.zeros(3, 44, requires_grad=True)
        for answer in (*ECC.topk(logits, 2), ECC.sample(logits), ECC.posterior(logits), ECC.decode(logits.sigmoid())):
            assert not answer.requires_grad

    def test_threads_change_nothing(self):
        rng = np.random.default_rng(0)
        logits, probs = rng.normal(size=(1000, 44)), rng.random((1000, 44))

        def everything():
            return (
                *ECC.topk(logits, 3, size=50_000), ECC.posterior(logits, size=50_000), ECC.decode(probs),
                ECC.log_partition(logits), ECC.sample(logits, size=50_000, generator=1),
            )  # fmt: skip

        alone = everything()
        try:
            set_num_threads(3)
            assert all(np.array_equal(a, b) for a, b in zip(alone, everything(), strict=True))
            probs[700, 3], logits[[700, 710, 950], 5] = 1.5, np.nan
            with pytest.raises(ValueError, match="row 700"):
                ECC.decode(probs)
            for function in (ECC.log_partition, ECC.posterior):
                with pytest.raises(ValueError, match="logits: row 700 "):
                    function(logits)
        finally:
            set_num_threads(1)

    def test_gradient_of_an_expression(self):
        """The loss of a word, score − log_partition, by finite differences."""
        logits = torch.randn(3, 2, 22, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
        target = torch.randint(0, 2, logits.shape, generator=torch.Generator().manual_seed(1))
        assert torch.autograd.gradcheck(
            lambda z: (z * target).sum(-1) - ECC.log_partition(z, size=21), (logits.requires_grad_(),)
        )


@pytest.mark.parametrize("size", [600, 1024])
@pytest.mark.parametrize("rows", [1, 9, 300])
def test_one_word_is_the_first_of_two(size, rows):
    """Though another search finds it, whether the best of all bit arrays is a word or not."""
    ecc = ConvolutionalCode()
    logits = np.random.default_rng(0).normal(size=(rows, ecc.length(10)))
    words, scores = ecc.topk(logits, 2, size=size)
    found, found_scores = ecc.topk(logits, 1, size=size)
    assert np.array_equal(found[:, 0], words[:, 0])
    assert np.array_equal(found_scores[:, 0], scores[:, 0])
    logits[rows // 2, 5] = np.nan
    with pytest.raises(ValueError, match=f"row {rows // 2} has a NaN"):
        ecc.topk(logits, 1, size=size)


@pytest.mark.parametrize("code", [FrequencyCode(21), RandomCode(21), HuffmanCode(range(1, 22))], ids=repr)
def test_size_and_automaton_together_are_right_for_every_code(code):
    logits = np.random.default_rng(0).normal(size=(30, ECC.length(code.num_bits)))
    scores = logits @ ECC.encode(code.bits(np.arange(21))).T
    both = {"size": code.vocab_size, "automaton": code.automaton}
    assert np.array_equal(code.words(ECC.topk(logits, 21, **both)[0]), np.argsort(-scores))
    assert np.array_equal(code.ids(ECC.decode(1 / (1 + np.exp(-logits)), **both)), scores.argmax(-1))
    np.testing.assert_allclose(ECC.log_partition(logits, **both), np.logaddexp.reduce(scores, -1))
    assert (code.words(ECC.sample(logits, generator=0, **both)) >= 0).all()


def test_importing_needs_neither_torch_nor_numba():
    script = "import sys, trellex.trellis, trellex.codes; sys.exit(bool({'torch', 'numba'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


def test_arrays_need_no_torch():
    script = (
        "import sys, numpy as np; from trellex.trellis import ConvolutionalCode as C; from trellex.codes import *\n"
        "c = C(); z = np.ones(44); c.topk(z, 2, size=9); c.log_partition(z); c.sample(z); c.decode(z)\n"
        "c.encode(RandomCode(9).bits([1])); HuffmanCode([1, 2]).ids([[0]]); sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


generators = st.integers(3, 6).flatmap(
    lambda length: st.lists(
        st.text("01", min_size=length, max_size=length).filter(lambda g: "1" in g), min_size=2, max_size=4
    )
)
codes = st.one_of(generators.map(ConvolutionalCode), st.integers(1, 6).map(CompleteCode))


class TestProperties:
    @settings(max_examples=100, deadline=None)
    @given(codes, st.integers(2, 70), st.integers(0, 2**32 - 1), st.integers(1, 20))
    def test_any_code_agrees_with_enumeration(self, ecc, size, seed, k):
        bits = num_bits(size)
        logits = np.random.default_rng(seed).integers(-2, 3, (3, ecc.length(bits))).astype(float)
        truth = Enumeration(logits, code_words(ecc.register, size, bits))
        numbers, scores = ecc.topk(logits, k, size=size)
        assert np.array_equal(numbers, truth.topk(k)[0])
        assert np.array_equal(scores, truth.topk(k)[1])
        np.testing.assert_allclose(ecc.log_partition(logits, size=size), truth.log_partition, atol=1e-9)
        np.testing.assert_allclose(ecc.posterior(logits, size=size), truth.posterior, atol=1e-7)
        drawn = ecc.sample(logits, size=size, generator=seed)
        assert ((drawn >= 0) & (drawn < size)).all()

    @settings(max_examples=50, deadline=None)
    @given(st.integers(1, 62), st.data())
    def test_the_code_is_linear_and_decoding_inverts_it(self, bits, data):
        word = st.lists(st.integers(0, 1), min_size=bits, max_size=bits)
        a, b = np.array(data.draw(word)), np.array(data.draw(word))
        assert np.array_equal(ECC.encode(a) ^ ECC.encode(b), ECC.encode(a ^ b))
        assert np.array_equal(ECC.decode(ECC.encode(a)), a)

    @settings(max_examples=50, deadline=None)
    @given(st.integers(1, 62).flatmap(lambda bits: st.integers(2, 1 << bits)), st.integers(0, 2**32 - 1))
    def test_answers_are_consistent_at_any_size(self, size, seed):
        length = ECC.length(num_bits(size))
        logits = np.random.default_rng(seed).normal(size=(2, length)) * 2
        numbers, scores = ECC.topk(logits, 7, size=size)
        assert ((numbers < size) & (numbers >= -1)).all()
        assert ((numbers == -1) == (scores == -np.inf)).all()
        assert (scores[:, 1:] <= scores[:, :-1]).all()
        redundant = ECC.encode(np.maximum(numbers, 0)[..., None] >> np.arange(num_bits(size)) & 1)
        np.testing.assert_allclose((redundant * logits[:, None]).sum(-1)[numbers >= 0], scores[numbers >= 0], atol=1e-9)
        partition = ECC.log_partition(logits, size=size)
        best = scores[:, 0]
        assert (partition >= best - 1e-9).all()
        assert (partition <= best + np.log(size) + 1e-9).all()
        assert (ECC.sample(logits, size=size, generator=seed) < size).all()


class TestBadInput:
    @pytest.mark.parametrize(
        ("generators", "message"),
        [
            (("101", "1111"), "one length"),
            (("101", "1a1"), "0 or 1"),
            (("101", 111), "0 or 1"),
            (("10", "11"), "3 to 9"),
            (("1" * 10, "1" * 10), "3 to 9"),
            (("101", "000"), "zeros"),
            (("101",), "two or more"),
            ("101", "two or more"),
            (None, "two or more"),
        ],
    )
    def test_generators(self, generators, message):
        with pytest.raises(ValueError, match=f"generators: .*{message}"):
            ConvolutionalCode(generators)

    @pytest.mark.parametrize("kind", [np.array, torch.tensor])
    def test_values(self, kind):
        good = np.zeros(44)
        bad = good.copy()
        bad[7] = np.nan
        for function in (ECC.log_partition, ECC.posterior, ECC.sample, lambda z: ECC.topk(z, 2)):
            with pytest.raises(ValueError, match="logits: row 0 has a NaN"):
                function(kind(bad))
            with pytest.raises(ValueError, match="logits: row 70 has a NaN"):
                function(kind(np.stack([good] * 70 + [bad] * 2)))
            with pytest.raises(ValueError, match=r"logits: the last dimension, 43.*2 · \(B \+ 6\)"):
                function(kind(good[:43]))
            with pytest.raises(ValueError, match="logits: the last dimension, 12"):
                function(kind(good[:12]))
            with pytest.raises(ValueError, match="logits: .*single number"):
                function(kind(1.0))
        for value in (np.nan, -0.1, 1.1, np.inf):
            bad[7] = value
            with pytest.raises(ValueError, match="probs: row 0 .*sigmoid"):
                ECC.decode(kind(bad))
            with pytest.raises(ValueError, match="probs: row 30 .*sigmoid"):
                ECC.decode(kind(np.stack([good] * 30 + [bad])))
        with pytest.raises(ValueError, match="bits: .*only 0 and 1"):
            ECC.encode(kind([0, 2, 1]))
        with pytest.raises(ValueError, match="bits: the last dimension"):
            ECC.encode(kind(1))

    def test_probabilities_of_exactly_0_and_1_are_legal(self):
        probs = np.random.default_rng(0).integers(0, 2, (100, 44)).astype(float)
        assert np.isin(ECC.decode(probs), (0, 1)).all()

    @pytest.mark.parametrize(
        ("size", "message"),
        [
            (1, "at least 2 words"),
            (0, "at least 2 words"),
            ((1 << 16) + 1, "need 17 bits"),
            (2.5, "whole number"),
            (np.zeros((16, 1, 2), int), "whole number, got ndarray; .*automaton="),
        ],
    )
    def test_sizes(self, size, message):
        with pytest.raises(ValueError, match=f"size: .*{message}"):
            ECC.log_partition(np.zeros(44), size=size)

    @pytest.mark.parametrize(
        ("automaton", "message"),
        [
            (np.zeros((15, 1, 2), int), "shape \\(16, states, 2\\), got \\(15, 1, 2\\)"),
            (np.zeros((16, 1, 2)), "whole numbers of shape .* of float64"),
            (50_000, "whole numbers of shape"),
            ([[1], [2, 3]], "array of shape"),
            (np.zeros((16, 0, 2), int), "no state"),
            (np.ones((16, 1, 2), int), "states go from 0 to 0"),
            (np.full((16, 1, 2), -1), "accepts no bit array"),
        ],
    )
    def test_automata(self, automaton, message):
        with pytest.raises(ValueError, match=f"automaton: .*{message}"):
            ECC.log_partition(np.zeros(44), automaton=automaton)

    def test_a_numpy_integer_is_a_size(self):
        assert ECC.log_partition(np.zeros(44), size=np.int64(1000)) == pytest.approx(np.log(1000))

    @pytest.mark.parametrize("k", [0, -1, 1.5, True, "2"])
    def test_k(self, k):
        with pytest.raises(ValueError, match="k: expected a whole number"):
            ECC.topk(np.zeros(44), k)

    def test_counts(self):
        for threads in (0, 2.5, None):
            with pytest.raises(ValueError, match="threads: expected a whole number of at least 1"):
                set_num_threads(threads)
        for bits in (0, -1, 1.5, 63):
            with pytest.raises(ValueError, match="num_bits: "):
                ECC.minimum_distance(bits)
        with pytest.raises(ValueError, match="count: expected a whole number of at least 1, got 0"):
            ECC.sample(np.zeros(44), count=0)

    def test_random_generators_of_the_other_kind(self):
        with pytest.raises(ValueError, match="generator: expected a torch"):
            ECC.sample(torch.zeros(44), generator=3)
        with pytest.raises(ValueError, match="generator: expected a numpy"):
            ECC.sample(np.zeros(44), generator=torch.Generator())

    @pytest.mark.parametrize("kind", [np.array, torch.tensor])
    def test_complex_numbers(self, kind):
        with pytest.raises(ValueError, match="logits: expected real numbers"):
            ECC.log_partition(kind(np.zeros(44, complex)))

    def test_an_automaton_too_large(self):
        """The trie of all words of 10 bits, whose leaves all lead to the end."""
        trie = np.full((10, 1024, 2), -1)
        for place in range(10):
            states = np.arange(1 << place)
            trie[place, states] = np.stack([states, states + (1 << place)], -1)
        with pytest.raises(ValueError, match="automaton: .*merge its equal states"):
            IdentityCode().log_partition(np.zeros(10), automaton=trie)

    def test_more_words_asked_for_than_there_are(self):
        numbers, scores = ECC.topk(np.zeros(ECC.length(2)), 5, size=3)
        assert numbers.tolist() == [0, 1, 2, -1, -1]
        assert scores.tolist() == [0, 0, 0, -np.inf, -np.inf]

"""Every function of the trellis against brute force over all words, in main memory and in plain torch."""

import numpy as np
import pytest
import torch
from enumeration import CODES, SIZES, Enumeration, code_words, logits_of_every_kind, num_bits
from scipy.stats import chisquare

from trellex.codes import HuffmanCode
from trellex.trellis import CompleteCode, between, device
from trellex.trellis.lattice import lattice_of

KINDS = tuple(logits_of_every_kind(1))


@pytest.fixture(params=CODES)
def ecc(request):
    return CODES[request.param]


@pytest.fixture(params=SIZES)
def size(request):
    return request.param


@pytest.fixture(params=KINDS)
def case(request, ecc, size):
    """logits [N, L] and their enumeration."""
    bits = num_bits(size)
    logits = logits_of_every_kind(ecc.length(bits))[request.param]
    return logits, Enumeration(logits, code_words(ecc.register, size, bits))


def test_encode(ecc, size):
    bits = np.arange(size)[:, None] >> np.arange(num_bits(size)) & 1
    expected = code_words(ecc.register, size, num_bits(size))
    assert np.array_equal(ecc.encode(bits), expected)
    encoded = ecc.encode(torch.from_numpy(bits))
    assert encoded.dtype == torch.int64
    assert np.array_equal(encoded, expected)


@pytest.mark.parametrize("k", [1, 2, 20])
def test_topk(ecc, size, case, k):
    logits, truth = case
    expected_numbers, expected_scores = truth.topk(k)
    lattice = lattice_of(ecc.register, num_bits(size), size)
    for numbers, scores in (
        ecc.topk(logits, k, size=size),
        ecc.topk(torch.from_numpy(logits), k, size=size),
        device.topk(torch.from_numpy(logits), k, lattice),
    ):
        assert np.array_equal(numbers, expected_numbers)
        np.testing.assert_allclose(scores, expected_scores, rtol=1e-12, atol=1e-9)


def test_log_partition(ecc, size, case):
    logits, truth = case
    tensor = torch.from_numpy(logits)
    plain, _ = device.log_partition(tensor, lattice_of(ecc.register, num_bits(size), size))
    for values in (ecc.log_partition(logits, size=size), ecc.log_partition(tensor, size=size), plain):
        np.testing.assert_allclose(values, truth.log_partition, rtol=1e-14, atol=1e-9)


def test_gradient(ecc, size, case):
    logits, truth = case
    tensor = torch.from_numpy(logits).requires_grad_()
    ecc.log_partition(tensor, size=size).backward(torch.full((len(logits),), 2.0, dtype=torch.float64))
    _, plain = device.log_partition(tensor.detach(), lattice_of(ecc.register, num_bits(size), size), True)
    for posterior in (tensor.grad / 2, ecc.posterior(logits, size=size), plain):
        np.testing.assert_allclose(posterior, truth.posterior, rtol=0, atol=1e-7)


def test_sums_of_rows_of_all_kinds_in_one_batch(ecc):
    """Side by side stand rows whose sums need scaling and rows whose sums need none."""
    size, bits = 1000, 10
    logits = np.concatenate(list(logits_of_every_kind(ecc.length(bits)).values()))
    logits = np.random.default_rng(3).permutation(logits)
    truth = Enumeration(logits, code_words(ecc.register, size, bits))
    np.testing.assert_allclose(ecc.log_partition(logits, size=size), truth.log_partition, rtol=1e-14, atol=1e-9)
    np.testing.assert_allclose(ecc.posterior(logits, size=size), truth.posterior, rtol=0, atol=1e-7)


def test_decode(ecc, size):
    """Any most probable word will do where rounding decides; exact ties are tested with topk and hard bits."""
    bits = num_bits(size)
    words = code_words(ecc.register, size, bits)
    rng = np.random.default_rng(1)
    probs = rng.random((30, words.shape[1]))
    probs[:10] = np.round(probs[:10])
    probs[10:20][rng.random(probs[10:20].shape) < 0.2] = 0.0
    lattice = lattice_of(ecc.register, bits, size)
    with np.errstate(divide="ignore"):
        truth = Enumeration(np.log(probs) - np.log1p(-probs), words)
    decoded = {
        "bulk": ecc.decode(probs, size=size),
        "one by one": np.stack([ecc.decode(row, size=size) for row in probs]),
        "tensors": ecc.decode(torch.from_numpy(probs), size=size).numpy(),
        "plain torch": device.viterbi(torch.from_numpy(probs), lattice).numpy(),
    }
    for way, answer in decoded.items():
        numbers = (answer << np.arange(bits)).sum(-1)
        scores = np.take_along_axis(truth.scores, numbers[:, None], -1)[:, 0]
        np.testing.assert_allclose(scores, truth.scores.max(-1), rtol=1e-14, atol=1e-9, err_msg=way)
        assert np.array_equal(numbers[:10], truth.topk(1)[0][:10, 0]), way


def test_decode_follows_the_letter_of_algorithm_3():
    """No restriction: the sum of g(q, b) over all 2^B arrays, for the paper's code, one by one and in bulk."""
    ecc = CODES["paper"]
    probs = np.random.default_rng(2).random((200, ecc.length(9)))
    words = code_words(ecc.register, 512, 9)
    g = np.log(probs) @ words.T + np.log(1 - probs) @ (1 - words).T
    expected = g.argmax(-1)[:, None] >> np.arange(9) & 1
    assert np.array_equal(ecc.decode(probs), expected)
    assert np.array_equal([ecc.decode(row) for row in probs], expected)
    assert np.array_equal(ecc.decode(probs.astype(np.float32)), expected)


def test_samples_follow_the_distribution(ecc, size):
    bits = num_bits(size)
    logits = np.random.default_rng(size).normal(size=ecc.length(bits)) * 0.7
    truth = Enumeration(logits[None], code_words(ecc.register, size, bits))
    one_each = ecc.sample(np.broadcast_to(logits, (30_000, len(logits))), size=size, generator=0)
    drawn = ecc.sample(logits, size=size, generator=0, count=30_000)
    assert np.array_equal(drawn, one_each)
    observed = np.bincount(drawn, minlength=size)
    assert len(observed) == size
    expected = truth.probs[0] * len(drawn)
    common = expected >= 5
    observed = np.append(observed[common], observed[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    seen = expected > 0
    assert chisquare(observed[seen], expected[seen] * (observed[seen].sum() / expected[seen].sum())).pvalue > 1e-4


def test_samples_are_the_same_in_plain_torch(ecc, size):
    logits = torch.from_numpy(np.concatenate(list(logits_of_every_kind(ecc.length(num_bits(size))).values())))
    seeded = [torch.Generator().manual_seed(5) for _ in range(2)]
    lattice = lattice_of(ecc.register, num_bits(size), size)
    uniforms = torch.rand(len(logits), 3, lattice.num_steps, generator=seeded[0], dtype=torch.float64)
    drawn = ecc.sample(logits, size=size, generator=seeded[1], count=3)
    assert drawn.shape == (len(logits), 3)
    assert torch.equal(drawn, device.sample(logits, uniforms, lattice))


def test_numbers_between_two(ecc):
    for start, stop in ((1, 2), (5, 6), (3, 100), (64, 128), (99, 101)):
        bits = 7
        logits = logits_of_every_kind(ecc.length(bits))["many ties"]
        truth = Enumeration(logits, code_words(ecc.register, stop, bits)[start:])
        automaton = between(start, stop, bits)
        np.testing.assert_allclose(ecc.log_partition(logits, automaton=automaton), truth.log_partition, atol=1e-9)
        expected = truth.topk(5)[0]
        assert np.array_equal(ecc.topk(logits, 5, automaton=automaton)[0], np.where(expected < 0, -1, expected + start))


@pytest.mark.parametrize("count_of", [lambda rank: 1e5 / rank, lambda rank: 1.0, lambda rank: 2.0**-rank])
@pytest.mark.parametrize("vocab_size", [2, 3, 7, 40])
def test_words_of_a_huffman_code(ecc, vocab_size, count_of):
    """Its arrays have gaps; the automaton restricts to its words exactly."""
    code = HuffmanCode([count_of(rank) for rank in range(1, vocab_size + 1)])
    bits = code.num_bits
    all_words = np.array([np.array(ecc.encode(b)) for b in code.bits(np.arange(vocab_size))], float)
    for logits in logits_of_every_kind(ecc.length(bits)).values():
        truth = Enumeration(logits, all_words)
        lattice = lattice_of(ecc.register, bits, None, code.automaton)
        plain = device.log_partition(torch.from_numpy(logits), lattice, True)
        for values in (ecc.log_partition(logits, automaton=code.automaton), plain[0]):
            np.testing.assert_allclose(values, truth.log_partition, rtol=1e-14, atol=1e-9)
        for posterior in (ecc.posterior(logits, automaton=code.automaton), plain[1]):
            np.testing.assert_allclose(posterior, truth.posterior, rtol=0, atol=1e-7)
        k = vocab_size + 1
        for numbers, scores in (
            ecc.topk(logits, k, automaton=code.automaton),
            device.topk(torch.from_numpy(logits), k, lattice),
        ):
            np.testing.assert_allclose(scores, truth.topk(k)[1], rtol=1e-12, atol=1e-9)
            found = code.words(np.asarray(numbers))
            assert np.array_equal(np.sort(found, -1), np.tile(np.arange(-1, vocab_size), (len(logits), 1)))
            own_scores = np.take_along_axis(truth.scores, found[:, :-1], -1)
            np.testing.assert_allclose(own_scores, np.asarray(scores)[:, :-1], rtol=1e-12, atol=1e-9)
        drawn = code.words(ecc.sample(logits, automaton=code.automaton, generator=1))
        assert (np.take_along_axis(truth.probs, drawn[:, None], -1) > 0).all()


@pytest.mark.parametrize("memory", [1, 3, 9])
@pytest.mark.parametrize("bits", [1, 2, 5, 8])
def test_all_scores_of_a_complete_trellis(memory, bits):
    ecc = CompleteCode(memory)
    logits = np.random.default_rng(bits).normal(size=(3, 2, ecc.length(bits)))
    expected = logits @ code_words(ecc.register, 1 << bits, bits).T
    np.testing.assert_allclose(ecc.all_scores(logits, bits), expected, atol=1e-12)
    np.testing.assert_allclose(ecc.all_scores(torch.from_numpy(logits), bits), expected, atol=1e-12)

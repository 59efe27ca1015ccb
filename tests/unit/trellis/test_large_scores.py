"""Logits near the limits of their type: scores, sums and probabilities are finite, and the best word is the best."""

from fractions import Fraction

import numpy as np
import pytest
import torch
from enumeration import CODES, code_words

from trellex import arrays
from trellex.trellis import device, kernels
from trellex.trellis.lattice import lattice_of

BITS, SIZE = 4, 13
LIMITS = {np.float32: 3.4e38, np.float64: 1.7e308}
BOUNDS = {np.float32: arrays.LARGEST_SINGLE, np.float64: arrays.LARGEST_DOUBLE}


def large_logits(length, kind):
    """Rows of the largest numbers, of all sizes up to them, and of such a number among ordinary ones. [N, L]"""
    random, largest = np.random.default_rng(1), LIMITS[kind]
    signs = random.choice([-1.0, 1.0], (20, length))
    of_all_sizes = signs * 10 ** random.uniform(-3, np.log10(largest), (20, length))
    one = np.where(np.arange(length) == 2, signs * largest, random.normal(size=(20, length)))
    ones = np.ones((1, length))
    return np.concatenate([signs * largest, of_all_sizes, one, ones * largest, -ones * largest]).astype(kind)


def exact_scores(logits, register, bound):
    """In fractions, of logits as they count. -> [N, V]"""
    words = code_words(register, SIZE, BITS).astype(int)
    rows = [[Fraction(float(logit)) for logit in np.clip(row, -bound, bound)] for row in logits]
    return [[sum(logit for logit, bit in zip(row, word, strict=True) if bit) for word in words] for row in rows]


def algorithms(ecc, logits):
    """topk, log_partition and posterior: compiled for arrays and for tensors, and in plain torch."""
    tensor, lattice = torch.from_numpy(logits), lattice_of(ecc.register, BITS, SIZE)
    for values in (logits, tensor):
        yield (*ecc.topk(values, 3, SIZE), ecc.log_partition(values, SIZE), ecc.posterior(values, SIZE))
    yield (*device.topk(tensor, 3, lattice), *device.log_partition(tensor, lattice, True))


def test_compiled_code_has_the_same_bounds():
    """It has its own copy, because numba looks for changes in one file alone."""
    assert tuple(BOUNDS.values()) == (kernels.LARGEST_SINGLE, kernels.LARGEST_DOUBLE)


@pytest.mark.parametrize("kind", LIMITS)
@pytest.mark.parametrize("name", CODES)
class TestLargeLogits:
    def test_all_is_finite_and_the_best_is_first(self, name, kind):
        ecc = CODES[name]
        logits = large_logits(ecc.length(BITS), kind)
        exact = exact_scores(logits, ecc.register, BOUNDS[kind])
        for numbers, scores, sums, posterior in algorithms(ecc, logits):
            for found in (scores, sums, posterior):
                assert np.isfinite(np.asarray(found)).all()
            assert ((np.asarray(posterior) >= 0) & (np.asarray(posterior) <= 1 + 1e-9)).all()
            margin = float(2 * len(logits[0]) * np.finfo(np.float64).eps * BOUNDS[kind])  # of sums in float64
            rounding = {"rtol": 4 * np.finfo(kind).eps, "atol": margin}
            for row, words, of_words, total in zip(exact, numbers, scores, sums, strict=True):
                chosen = [row[int(word)] for word in words]
                for score, best in zip(chosen, sorted(row, reverse=True), strict=False):
                    assert abs(score - best) <= margin
                np.testing.assert_allclose(np.asarray(of_words), list(map(float, chosen)), **rounding)
                np.testing.assert_allclose(float(total), float(max(row)), **rounding)

    def test_the_best_alone_and_a_sample(self, name, kind):
        ecc = CODES[name]
        logits = large_logits(ecc.length(BITS), kind)
        for values in (logits, torch.from_numpy(logits)):
            best = np.asarray(ecc.topk(values, 1, SIZE)[0])[:, 0]
            for row, word in zip(exact_scores(logits, ecc.register, BOUNDS[kind]), best, strict=True):
                assert max(row) - row[word] <= 2 * len(logits[0]) * np.finfo(np.float64).eps * BOUNDS[kind]
            drawn = np.asarray(ecc.sample(values, SIZE))
            assert ((drawn >= 0) & (drawn < SIZE)).all()

    def test_fused(self, name, kind, monkeypatch):
        fused = pytest.importorskip("trellex.trellis.fused", reason="Triton is not installed")
        place = "cuda" if torch.cuda.is_available() else "cpu"
        monkeypatch.setattr(fused, "WORDS", 128 if place == "cpu" else fused.WORDS)
        ecc = CODES[name]
        logits = large_logits(ecc.length(BITS), kind)
        values, posterior = fused.log_partition(torch.from_numpy(logits).to(place), ecc.register, BITS, SIZE, True)
        assert posterior.isfinite().all()
        rounding = 100 * np.finfo(kind).eps
        expected = ecc.log_partition(np.clip(logits, -arrays.LARGEST_SINGLE, arrays.LARGEST_SINGLE), SIZE)
        np.testing.assert_allclose(values.cpu(), expected, rtol=rounding, atol=rounding * arrays.LARGEST_SINGLE)

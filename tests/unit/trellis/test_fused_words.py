"""The Triton kernels that find and draw words, in Triton's interpreter, and on a GPU where there is one."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch
from enumeration import CODES, Enumeration, code_words, logits_of_every_kind, num_bits

from trellex.trellis import CompleteCode

fused_words = pytest.importorskip("trellex.trellis.fused_words", reason="Triton is not installed")
fused_ranking = pytest.importorskip("trellex.trellis.fused_ranking", reason="Triton is not installed")
fused_sample = pytest.importorskip("trellex.trellis.fused_sample", reason="Triton is not installed")

PLACE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture(autouse=True)
def one_program_for_all_rows(monkeypatch):
    if PLACE == "cpu":  # the interpreter runs a program after the other, its rows as one numpy array
        monkeypatch.setattr(fused_words, "ROWS", 128)
        monkeypatch.setattr(fused_sample, "ROWS", 1024)


FEW = ["paper", "identity", "complete, memory 4"]  # the interpreter is slow


@pytest.mark.parametrize(
    ("name", "size", "k"),
    [*((name, 21, 3) for name in CODES), *((name, *each) for name in FEW for each in ((2, 5), (31, 1), (32, 32)))],
)
def test_the_best_words(name, size, k):
    """Of every kind of logits, ties among them, as compiled code finds them in main memory."""
    ecc, bits = CODES[name], num_bits(size)
    logits = np.concatenate(list(logits_of_every_kind(ecc.length(bits)).values()))
    numbers, scores = fused_words.topk(torch.from_numpy(logits).to(PLACE), k, ecc.register, bits, size)
    expected, expected_scores = ecc.topk(logits, k, size=size)
    assert np.array_equal(numbers.cpu(), expected)
    np.testing.assert_allclose(scores.cpu(), expected_scores)


@pytest.mark.parametrize(
    ("name", "size"), [*((name, 21) for name in CODES), *((name, size) for name in FEW for size in (2, 31, 32))]
)
def test_the_best_word_and_the_sum_over_all(name, size):
    ecc, bits = CODES[name], num_bits(size)
    logits = np.concatenate(list(logits_of_every_kind(ecc.length(bits)).values()))
    found = fused_words.best(torch.from_numpy(logits).to(PLACE), ecc.register, bits, size)
    numbers, scores, log_sums = (each.cpu().numpy() for each in found)
    expected, expected_scores = ecc.topk(logits, 1, size=size)
    assert np.array_equal(numbers, expected[:, 0])
    np.testing.assert_allclose(scores, expected_scores[:, 0])
    np.testing.assert_allclose(log_sums, ecc.log_partition(logits, size=size), rtol=1e-12, atol=1e-12)
    for mine, theirs in zip(ecc.best(logits, size=size), (numbers, scores, log_sums), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("memory", "bits"), [(1, 1), (1, 2), (3, 5), (4, 4), (6, 5), (10, 7)])
def test_all_words_of_a_complete_trellis_ranked(memory, bits):
    ecc, count = CompleteCode(memory), min(1 << bits, 9)
    logits = np.concatenate(list(logits_of_every_kind(ecc.length(bits)).values()))
    numbers, log_probs = fused_ranking.ranked(torch.from_numpy(logits).to(PLACE), count, ecc.register, bits)
    expected, scores = ecc.topk(logits, count)
    assert np.array_equal(numbers.cpu(), expected)
    np.testing.assert_allclose(log_probs.cpu(), scores - ecc.log_partition(logits)[:, None], rtol=1e-12, atol=1e-9)


def test_of_what_is_no_number_numbers_are_ranked():
    logits = torch.full((1, CompleteCode(3).length(5)), torch.nan, device=PLACE)
    numbers, _ = fused_ranking.ranked(logits, 4, CompleteCode(3).register, 5)
    assert ((numbers >= 0) & (numbers < 32)).all()


def test_more_rows_than_programs_hold_at_once(monkeypatch):
    monkeypatch.setattr(fused_words, "PROGRAMS", 2)
    monkeypatch.setattr(fused_words, "ROWS", 8)
    ecc = CODES["paper"]
    logits = np.random.default_rng(0).normal(size=(45, ecc.length(5)))
    numbers, _ = fused_words.topk(torch.from_numpy(logits).to(PLACE, torch.float32), 3, ecc.register, 5, 21)
    assert np.array_equal(numbers.cpu(), ecc.topk(logits, 3, size=21)[0])


@pytest.mark.parametrize("kernel", ["best", "topk", "sample", "ranked"])
def test_no_rows(kernel):
    ecc, logits = CODES["paper"], torch.empty(0, 44, device=PLACE)
    if kernel == "ranked":
        assert fused_ranking.ranked(torch.empty(0, 31), 3, CompleteCode(5).register, 5)[0].shape == (0, 3)
    elif kernel == "best":
        assert [len(each) for each in fused_words.best(logits, ecc.register, 16, 9)] == [0, 0, 0]
    elif kernel == "topk":
        numbers, scores = fused_words.topk(logits, 3, ecc.register, 16, 9)
        assert numbers.shape == scores.shape == (0, 3)
    else:
        assert fused_sample.sample(logits, torch.empty(0, 4, 22), ecc.register, 16, 9).shape == (0, 4)


@pytest.mark.parametrize(
    ("name", "size"), [*((name, 11) for name in (*FEW, "length 3")), ("paper", 2), ("complete, memory 4", 16)]
)
def test_words_are_drawn_with_their_probabilities(name, size):
    ecc, bits = CODES[name], num_bits(size)
    draws, rows = 4096, 1024
    logits = np.random.default_rng(1).normal(size=(1, ecc.length(bits))) * 1.5
    steps = bits if ecc.register.is_complete else bits + ecc.memory
    uniforms = np.random.default_rng(2).random((rows, draws // rows, steps))
    rows = torch.from_numpy(np.repeat(logits, rows, 0)).to(PLACE)
    drawn = fused_sample.sample(rows, torch.from_numpy(uniforms).to(PLACE), ecc.register, bits, size)
    drawn = drawn.cpu().numpy().ravel()
    assert drawn.min() >= 0
    assert drawn.max() < size
    truth = Enumeration(logits, code_words(ecc.register, size, bits))
    shares = np.bincount(drawn, minlength=size) / draws
    assert np.abs(shares - truth.probs[0]).max() < 5 * np.sqrt(0.25 / draws)


def test_kernels_compile():
    """For a GPU that need not be there: the interpreter takes more than the compiler does."""
    environment = {key: value for key, value in os.environ.items() if key != "TRITON_INTERPRET"}
    found = subprocess.run(
        [sys.executable, __file__.replace("test_fused_words", "compile_kernels")],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr[-2000:]


def test_warps_are_a_power_of_two():
    """Or the compiler refuses a kernel, which the interpreter does not."""
    for memory in range(1, 11):
        warps = [fused_words.warps_for(1 << memory, k) for k in range(1, 33)]
        assert {each.bit_count() for each in warps} == {1}
        assert warps == sorted(warps)

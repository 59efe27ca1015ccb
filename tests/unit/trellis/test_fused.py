"""The Triton kernel against the compiled CPU kernels: in Triton's interpreter, and on a GPU where there is one."""

import numpy as np
import pytest
import torch
from enumeration import CODES, Enumeration, code_words, logits_of_every_kind, num_bits

from trellex.trellis import CompleteCode, ConvolutionalCode, device
from trellex.trellis.lattice import lattice_of

fused = pytest.importorskip("trellex.trellis.fused", reason="Triton is not installed")

PLACE = "cuda" if torch.cuda.is_available() else "cpu"


@pytest.fixture(autouse=True)
def one_program_for_all_rows(monkeypatch):
    if PLACE == "cpu":  # the interpreter runs a program after the other, its words as one numpy array
        monkeypatch.setattr(fused, "WORDS", 128)


@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize(
    ("size", "dtype"),
    [(2, torch.float64), (100, torch.float64), (100, torch.float32), (128, torch.float64), (None, torch.float32)],
)
def test_value_and_gradient(name, size, dtype):
    ecc, bits = CODES[name], num_bits(size or 1024)
    kinds = logits_of_every_kind(ecc.length(bits))
    logits = np.concatenate(list(kinds.values()))
    values, posterior = fused.log_partition(
        torch.from_numpy(logits).to(PLACE, dtype), ecc.register, bits, size, with_posterior=True
    )
    assert values.dtype == posterior.dtype == dtype
    assert values.isfinite().all()
    assert ((posterior >= 0) & (posterior <= 1 + 1e-5)).all()
    eps = torch.finfo(dtype).eps
    largest = np.abs(np.nan_to_num(logits, posinf=1e4, neginf=-1e4)).max(-1)
    rounding = 100 * eps * (1 + largest)  # sums pass through logits of that size
    near = np.abs(values.cpu().numpy() - ecc.log_partition(logits, size=size))
    assert (near <= rounding + 10 * eps * np.abs(ecc.log_partition(logits, size=size))).all()
    exact = rounding < 1e-2
    near = np.abs(posterior.cpu().numpy() - ecc.posterior(logits, size=size))
    assert (near[exact] <= rounding[exact, None]).all()


def test_without_the_gradient():
    logits = np.random.default_rng(0).normal(size=(9, 22))
    values, nothing = fused.log_partition(torch.from_numpy(logits).to(PLACE), CODES["paper"].register, 5, 21)
    np.testing.assert_allclose(values.cpu(), CODES["paper"].log_partition(logits, size=21), atol=1e-9)
    assert nothing is None


def test_no_rows():
    values, posterior = fused.log_partition(torch.empty(0, 44, device=PLACE), CODES["paper"].register, 16, 9, True)
    assert values.shape == (0,)
    assert posterior.shape == (0, 44)


def test_more_words_than_the_programs_hold_at_once(monkeypatch):
    monkeypatch.setattr(fused, "PROGRAMS", 2)
    monkeypatch.setattr(fused, "WORDS", 8)
    logits = np.random.default_rng(0).normal(size=(45, 22))
    _, posterior = fused.log_partition(torch.from_numpy(logits).to(PLACE), CODES["paper"].register, 5, 21, True)
    np.testing.assert_allclose(posterior.cpu(), CODES["paper"].posterior(logits, size=21), atol=1e-9)


@pytest.mark.parametrize("memory", [8, 10])
def test_many_states(memory, monkeypatch):
    """More than the warps of a program have room for at once."""
    ecc = CompleteCode(memory)
    monkeypatch.setattr(fused, "WORDS", 2)
    assert fused.WORDS << memory > fused.STATES_OF_A_WARP
    logits = np.random.default_rng(0).normal(size=(5, ecc.length(12))) * 3
    values, posterior = fused.log_partition(torch.from_numpy(logits).to(PLACE), ecc.register, 12, 3000, True)
    np.testing.assert_allclose(values.cpu(), ecc.log_partition(logits, size=3000), rtol=1e-12)
    np.testing.assert_allclose(posterior.cpu(), ecc.posterior(logits, size=3000), atol=1e-9)


@pytest.mark.parametrize("length", [5, 6, 7])
@pytest.mark.parametrize("count", [3, 16])
def test_many_generators(length, count):
    masks = np.random.default_rng(count).permutation(np.arange(1, 1 << length))[:count]
    ecc = ConvolutionalCode([f"{mask:0{length}b}" for mask in masks])
    logits = np.random.default_rng(0).normal(size=(9, ecc.length(6))) * 3
    truth = Enumeration(logits, code_words(ecc.register, 50, 6))
    values, posterior = fused.log_partition(torch.from_numpy(logits).to(PLACE), ecc.register, 6, 50, True)
    np.testing.assert_allclose(values.cpu(), truth.log_partition, rtol=1e-12)
    np.testing.assert_allclose(posterior.cpu(), truth.posterior, atol=1e-9)
    assert np.array_equal(ecc.topk(logits, 5, size=50)[0], truth.topk(5)[0])
    np.testing.assert_allclose(ecc.posterior(logits, size=50), truth.posterior, atol=1e-9)


@pytest.mark.gpu
@pytest.mark.skipif(PLACE == "cpu", reason="no CUDA device")
class TestOnTheGPU:
    """All functions on CUDA tensors against arrays in main memory."""

    ecc = ConvolutionalCode()

    def logits(self, rows=3000, dtype=torch.float64):
        return torch.randn(rows, 44, dtype=dtype, generator=torch.Generator().manual_seed(0)) * 3

    def test_log_partition_uses_the_fused_kernel_and_has_a_gradient(self):
        for dtype, near in ((torch.float32, 1e-4), (torch.float64, 1e-9)):
            logits = self.logits(dtype=dtype)
            on_gpu = logits.cuda().requires_grad_()
            values = self.ecc.log_partition(on_gpu, size=50_000)
            values.sum().backward()
            np.testing.assert_allclose(values.detach().cpu(), self.ecc.log_partition(logits, size=50_000), atol=near)
            np.testing.assert_allclose(on_gpu.grad.cpu(), self.ecc.posterior(logits, size=50_000), atol=near)
            plain = device.log_partition(logits.cuda(), lattice_of(self.ecc.register, 16, 50_000), True)
            np.testing.assert_allclose(plain[1].cpu(), on_gpu.grad.cpu(), atol=near)

    @pytest.mark.parametrize("rows", [3, 3000])
    def test_words(self, rows):
        logits = self.logits(rows)
        numbers, scores = self.ecc.topk(logits.cuda(), 5, size=50_000)
        assert numbers.is_cuda
        assert np.array_equal(numbers.cpu(), self.ecc.topk(logits, 5, size=50_000)[0])
        np.testing.assert_allclose(scores.cpu(), self.ecc.topk(logits, 5, size=50_000)[1], atol=1e-9)
        probs = logits.sigmoid()
        assert np.array_equal(self.ecc.decode(probs.cuda()).cpu(), self.ecc.decode(probs))
        bits = self.ecc.decode(probs)
        assert np.array_equal(self.ecc.encode(bits.cuda()).cpu(), self.ecc.encode(bits))
        drawn = self.ecc.sample(logits.cuda(), size=50_000, generator=torch.Generator("cuda").manual_seed(1))
        assert (drawn < 50_000).all()

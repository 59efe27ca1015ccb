"""A softmax layer in 12 bits against whole numbers in numpy."""

import os
import subprocess
import sys

import numpy as np
import pytest

from trellex.runtime import rounded
from trellex.runtime.rounded import BYTE, LANES, LEVELS, MOST, RoundedSoftmax, multiplies_quads, screen_of

SIZES = [1, 16, LANES - 1, LANES, LANES + 1, 512]


def layer(words, size, seed=0):
    """Weights over the whole range, scales and bias."""
    random = np.random.default_rng(seed)
    weight = random.integers(-MOST, MOST + 1, (words, size)).astype(np.int16)
    return weight, random.uniform(1e-5, 1e-3, words).astype(np.float32), random.normal(size=words).astype(np.float32)


def hidden(rows, size, seed=1):
    return np.tanh(np.random.default_rng(seed).normal(size=(rows, size))).astype(np.float32)


def exact(weight, scales, bias, h):
    """Logits with nothing rounded but the weights. [N, W]"""
    return h.astype(np.float64) @ (weight * scales.astype(np.float64)[:, None]).T + bias


class TestLogits:
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize("words", [2, 3, 65])
    def test_by_hand(self, words, size):
        parts, h = layer(words, size), hidden(5, size)
        found = RoundedSoftmax(*parts).logits(h)
        assert found.dtype == np.float32
        steps = min(32767, (2**31 - 1) // (MOST * size))
        most = 0.51 / steps * np.abs(parts[0].astype(int)).sum(1) * parts[1]  # every unit of h is off by half a step
        expected = exact(*parts, h)
        assert (np.abs(found - expected) <= most + 1e-6 * (1 + np.abs(expected))).all()

    @pytest.mark.parametrize("size", [512, 516, 1024, 1030, 4096])
    def test_the_largest_sums_do_not_overflow(self, size):
        weight = np.full((4, size), MOST, np.int16)
        weight[1::2] *= -1
        h = np.array([[1.0], [-1.0]], np.float32).repeat(size, 1)
        parts = weight, np.full(4, 1 / MOST, np.float32), np.zeros(4, np.float32)
        np.testing.assert_allclose(RoundedSoftmax(*parts).logits(h), exact(*parts, h), rtol=1e-6)

    def test_rows_do_not_depend_on_each_other(self):
        softmax, h = RoundedSoftmax(*layer(9, 40)), hidden(6, 40)
        alone = np.concatenate([softmax.logits(row[None]) for row in h])
        assert np.array_equal(softmax.logits(h), alone)

    def test_weights_in_another_order(self):
        weight, *others = layer(9, 40)
        found = RoundedSoftmax(np.asfortranarray(weight), *others).logits(hidden(3, 40))
        assert np.array_equal(found, RoundedSoftmax(weight, *others).logits(hidden(3, 40)))

    def test_no_rows(self):
        softmax = RoundedSoftmax(*layer(9, 40))
        assert softmax.logits(hidden(0, 40)).shape == (0, 9)
        words, leads, some_lead = softmax.best(hidden(0, 40))
        assert len(words) == len(leads) == 0
        assert not some_lead


@pytest.fixture(params=[False, True], ids=["in full", "screened"])
def screened(request, monkeypatch):
    """Whether 4 bits of all weights are read before 12 bits of some."""
    if request.param and not multiplies_quads():
        pytest.skip("this CPU has no AVX-512 VNNI")
    monkeypatch.setattr(rounded, "multiplies_quads", lambda: request.param)
    monkeypatch.delattr(rounded, "_best" if request.param else "_best_screened")


@pytest.mark.usefixtures("screened")
class TestBest:
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize("words", [2, 3, 65])
    @pytest.mark.parametrize("push", [-100.0, 0.0, 100.0])
    def test_is_what_the_logits_say(self, words, size, push):
        weight, scales, bias = layer(words, size)
        bias[-1] += push
        softmax, h = RoundedSoftmax(weight, scales, bias), hidden(20, size)
        logits = softmax.logits(h).astype(np.float64)
        found, leads, some_lead = softmax.best(h)
        assert np.array_equal(found, logits[:, :-1].argmax(-1))
        np.testing.assert_allclose(leads, logits[:, -1] - logits[:, :-1].max(-1), atol=1e-5)
        assert some_lead == (leads > 0).any()

    @pytest.mark.parametrize("spread", [0.02, 0.3, 3.0])  # nearly equal logits, and ones of trained models
    def test_of_many_words(self, spread):
        random = np.random.default_rng(3)
        weight, bias = random.integers(-MOST, MOST + 1, (2048, 512)).astype(np.int16), random.normal(size=2048)
        softmax, h = RoundedSoftmax(weight, np.full(2048, spread / 12800), bias * spread), hidden(100, 512)
        assert np.array_equal(softmax.best(h)[0], softmax.logits(h)[:, :-1].argmax(-1))

    @pytest.mark.parametrize("value", [1.0, -1.0, 0.05, 0.0])
    def test_of_weights_all_alike(self, value):
        """Whose rounding errors to the nearest level would add up."""
        weight = np.arange(-MOST, MOST + 1, 16, dtype=np.int16)[:, None].repeat(512, 1)
        softmax, h = RoundedSoftmax(weight, np.full(256, 1e-4), np.zeros(256)), np.full((1, 512), value, np.float32)
        assert np.array_equal(softmax.best(h)[0], softmax.logits(h)[:, :-1].argmax(-1))

    def test_of_words_that_differ_in_one_weight(self):
        weight = layer(1, 512)[0].repeat(300, 0)
        weight[np.arange(300), np.arange(300)] = 0
        softmax, h = RoundedSoftmax(weight, np.full(300, 1e-3), np.zeros(300)), hidden(50, 512)
        assert np.array_equal(softmax.best(h)[0], softmax.logits(h)[:, :-1].argmax(-1))

    @pytest.mark.parametrize("value", [1.0, 0.1, 0.01])
    def test_of_small_states(self, value):
        random = np.random.default_rng(4)
        weight, h = random.integers(-200, 201, (2048, 16)).astype(np.int16), random.uniform(-value, value, (50, 16))
        softmax, h = RoundedSoftmax(weight, np.full(2048, 0.006), np.zeros(2048)), h.astype(np.float32)
        assert np.array_equal(softmax.best(h)[0], softmax.logits(h)[:, :-1].argmax(-1))

    def test_of_states_just_above_half_a_step(self):
        """One word gains from the rounding of all 2,048 units."""
        weight = np.zeros((100, 2048), np.int16)
        weight[70], h = MOST, np.full((1, 2048), 0.003937, np.float32)
        bias = np.full(100, RoundedSoftmax(weight, np.full(100, 1e-3), np.zeros(100)).logits(h)[0, 70] - 1e-4)
        bias[70] = 0
        softmax = RoundedSoftmax(weight, np.full(100, 1e-3), bias)
        assert softmax.best(h)[0] == softmax.logits(h)[:, :-1].argmax() == 70

    @pytest.mark.parametrize("words", [8, 300])
    def test_of_equals_the_first_wins_and_other_does_not_lead(self, words):
        weight, scales, bias = layer(words, 40)
        weight[:], scales[:], bias[:] = weight[0], scales[0], 0
        words, leads, some_lead = RoundedSoftmax(weight, scales, bias).best(hidden(3, 40))
        assert (words == 0).all()
        assert (leads == 0).all()
        assert not some_lead


class TestScreen:
    @pytest.mark.parametrize("setting", ["NUMBA_ENABLE_AVX=0", "NUMBA_CPU_NAME=generic", "NUMBA_CPU_FEATURES=+sse2"])
    def test_is_left_out_where_numba_may_not_use_the_instruction(self, setting, tmp_path):
        name, value = setting.split("=")
        call = "import numpy as np; from trellex.runtime.rounded import RoundedSoftmax, multiplies_quads as has; "
        call += "layer = RoundedSoftmax(np.eye(9, 8, dtype=np.int16), np.ones(9), np.zeros(9)); "
        call += "print(has(), layer.best(np.eye(1, 8, 3, np.float32))[0][0])"
        environment = {**os.environ, name: value, "NUMBA_CACHE_DIR": str(tmp_path)}
        ran = subprocess.run([sys.executable, "-c", call], env=environment, capture_output=True, text=True, check=True)
        assert ran.stdout.split() == ["False", "3"]

    def test_no_logit_is_above_its_bound(self):
        """By hand, in whole numbers; the bound leaves room, but not much."""
        parts, h = layer(300, 72), hidden(200, 72)
        quads, scales, ceilings, slacks = screen_of(*parts)
        lower, upper = quads & 15, quads >> 4
        levels = np.concatenate([lower, upper], -1).transpose(0, 2, 1, 3).reshape(-1, 72)[:300].astype(int) - LEVELS
        sums = np.rint(h * BYTE).astype(int) @ levels.T
        norms = np.linalg.norm(h.astype(np.float64), axis=1)[:, None]
        room = sums * scales + ceilings + slacks * norms - exact(*parts, h)
        assert (room > 0).all()
        assert (room < 2 * (slacks * norms + ceilings - parts[2])).all()

    def test_the_mean_of_levels_is_that_of_weights(self):
        weight = np.arange(-MOST, MOST + 1, 16, dtype=np.int16)[:, None].repeat(4000, 1)
        quads, *_ = screen_of(weight, np.ones(256), np.zeros(256))
        levels = np.concatenate([quads & 15, quads >> 4], -1).transpose(0, 2, 1, 3).reshape(-1, 4000)[:256]
        assert np.abs((levels.astype(float) - LEVELS).mean(1) * MOST / LEVELS - weight[:, 0]).max() < 16


class TestFiles:
    def test_weights_are_rounded_by_a_scale_of_their_own(self, tmp_path):
        random = np.random.default_rng(0)
        weight = (random.normal(size=(5, 40)) * np.array([1e-5, 1, 0, 30, 1e3])[:, None]).astype(np.float32)
        bias, h = random.normal(size=5).astype(np.float32), hidden(4, 40)
        RoundedSoftmax.save(tmp_path, weight, bias)
        found = RoundedSoftmax.load(tmp_path, 5, 40).logits(h)
        assert {path.name for path in tmp_path.iterdir()} == {f"softmax.{x}.npy" for x in ("rounded", "scales", "bias")}
        step = np.abs(weight).max(1) / MOST
        assert (np.abs(found - (h @ weight.T + bias)) <= 0.51 * step * np.abs(h).sum(1, keepdims=True) + 1e-5).all()

    @pytest.mark.parametrize(("words", "size"), [(6, 40), (5, 41)])
    def test_of_other_sizes_are_refused(self, tmp_path, words, size):
        RoundedSoftmax.save(tmp_path, np.ones((5, 40), np.float32), np.ones(5, np.float32))
        with pytest.raises(ValueError, match=r"softmax.rounded.npy: not an array of .* int16; export the model again"):
            RoundedSoftmax.load(tmp_path, words, size)

    @pytest.mark.parametrize("name", ["scales", "bias"])
    def test_of_other_shapes_are_refused(self, tmp_path, name):
        RoundedSoftmax.save(tmp_path, np.ones((5, 40), np.float32), np.ones(5, np.float32))
        np.save(tmp_path / f"softmax.{name}.npy", np.ones((5, 1), np.float32))
        with pytest.raises(ValueError, match=rf"softmax.{name}.npy: not an array of 5 .*; export the model again"):
            RoundedSoftmax.load(tmp_path, 5, 40)

    @pytest.mark.parametrize("weight", [MOST + 1, -MOST - 1, -32768])
    def test_weights_beyond_the_range_are_refused(self, tmp_path, weight):
        RoundedSoftmax.save(tmp_path, np.ones((5, 40), np.float32), np.ones(5, np.float32))
        np.save(tmp_path / "softmax.rounded.npy", np.full((5, 40), weight, np.int16))
        with pytest.raises(ValueError, match=r"softmax.rounded.npy: has weights beyond ±2,047; export the model again"):
            RoundedSoftmax.load(tmp_path, 5, 40)

"""The bounds of a layer's logits, by hand."""

import os
import subprocess
import sys

import numpy as np
import pytest

from trellex.runtime.kernels import BYTE, LANES, LEVELS, bound
from trellex.runtime.screen import SURE, multiplies_quads, screen_of


def levels_of(quads, words, size):
    """[W / LANES, H / 8, LANES, 4] -> [W, H]"""
    both = np.concatenate([quads & 15, quads >> 4], -1).transpose(0, 2, 1, 3)
    return both.reshape(both.shape[0] * LANES, -1)[:words, :size].astype(int) - LEVELS


@pytest.mark.parametrize("setting", ["NUMBA_ENABLE_AVX=0", "NUMBA_CPU_NAME=generic", "NUMBA_CPU_FEATURES=+sse2"])
def test_is_left_out_where_numba_may_not_use_the_instruction(setting, tmp_path):
    name, value = setting.split("=")
    call = "import numpy as np; from trellex.runtime.frequent import FrequentLayer, multiplies_quads as has; "
    call += "layers = [FrequentLayer(np.eye(9, 8, dtype=kind), np.ones(9), np.zeros(9)) for kind in ('i2', 'f4')]; "
    call += "print(has(), *(layer.best(np.eye(1, 8, 3, np.float32))[0][0] for layer in layers))"
    environment = {**os.environ, name: value, "NUMBA_CACHE_DIR": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", call], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "3", "3"]


@pytest.mark.parametrize("spread", ["uniform", "normal", "few"])
def test_no_logit_is_above_its_bound(spread):
    """The bound leaves room, but not much."""
    random = np.random.default_rng(0)
    draw = {
        "uniform": lambda: random.uniform(-1, 1, (300, 72)),
        "normal": lambda: random.normal(size=(300, 72)),
        "few": lambda: random.normal(size=(300, 72)) * (random.random((300, 72)) < 0.1),
    }
    weight, bias = draw[spread]() * 10.0 ** random.uniform(-3, 1, (300, 1)), random.normal(size=300)
    h = np.tanh(random.normal(size=(200, 72)))
    quads, dither, scales, ceilings, slacks = screen_of(weight, bias)
    sums = np.rint(h * BYTE).astype(int) @ levels_of(quads, 300, 72).T - BYTE * (h @ dither)[:, None]
    norms = np.linalg.norm(h, axis=1)[:, None]
    room = sums * scales + ceilings + slacks * norms - (h @ weight.T + bias)
    assert (room > 0).all()
    assert (room < 2 * (slacks * norms + ceilings - bias)).all()


@pytest.mark.skipif(not multiplies_quads(), reason="this CPU has no AVX-512 VNNI")
class TestBound:
    """What is compiled, against numpy."""

    def bounds(self, h, screen, words, steps=1):
        found, highest = np.empty(words, np.float32), np.empty(len(screen[0]), np.float32)
        bound(h, np.zeros(8 * screen[0].shape[1], np.int8), np.float32(steps), *screen, found, highest)
        return found, highest

    @pytest.mark.parametrize("words", [1, LANES, 300])
    @pytest.mark.parametrize("size", [3, 72, 512])
    @pytest.mark.parametrize("steps", [1, 2049])
    def test_by_hand(self, words, size, steps):
        random = np.random.default_rng(2)
        weight, bias = random.normal(size=(words, size)), random.normal(size=words)
        h = np.tanh(random.normal(size=size)).astype(np.float32)
        h = np.rint(h * steps).astype(np.int16) if steps > 1 else h
        screen = screen_of(weight, bias)
        found, highest = self.bounds(h, screen, words, steps)
        units, (quads, dither, scales, ceilings, slacks) = h.astype(np.float64) / steps, screen
        sums = levels_of(quads, words, size) @ np.rint(units * BYTE) - BYTE * (units @ dither[:size])
        expected = sums * scales + ceilings + slacks * np.linalg.norm(units)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
        for block, value in enumerate(highest):
            assert value == found[block * LANES : (block + 1) * LANES].max()

    def test_few_words_are_left(self):
        """Of random weights, which are the worst: no word stands out. Others are not looked at in full."""
        random = np.random.default_rng(3)
        weight, bias = random.normal(size=(2048, 512)), np.zeros(2048)
        screen = screen_of(weight, bias)
        for h in np.tanh(random.normal(size=(20, 512))).astype(np.float32):
            found, _ = self.bounds(h, screen, 2048)
            assert (found >= (weight @ h).max()).mean() < 0.05

    def test_is_missed_no_more_often_than_said(self):
        assert np.exp(-(SURE**2) / 2) < 2e-8


def test_the_slack_is_sure_times_the_deviation():
    random = np.random.default_rng(1)
    weight, h = random.uniform(-1, 1, (4000, 64)), np.tanh(random.normal(size=64))
    quads, dither, scales, _, slacks = screen_of(weight, np.zeros(4000))
    errors = ((levels_of(quads, 4000, 64) - dither) * scales[:, None] * BYTE - weight) @ h
    deviations = errors / (slacks / SURE * np.linalg.norm(h))
    assert abs(deviations.mean()) < 0.1
    assert deviations.std() == pytest.approx(1, abs=0.05)


def test_errors_are_uniform_whatever_the_weight():
    weight = np.linspace(-1, 1, 256)[:, None].repeat(4000, 1)
    weight[:, 0] = 1  # so that all have the same scale
    quads, dither, *_ = screen_of(weight, np.zeros(256))
    errors = (levels_of(quads, 256, 4000) - dither - weight * (LEVELS - 0.5))[:, 1:]
    assert np.abs(errors).max() < 0.5 + 1e-6
    assert np.abs(errors.mean(1)).max() < 0.02
    np.testing.assert_allclose(errors.var(1), 1 / 12, atol=0.004)


def test_of_no_weights_the_bound_is_the_bias():
    quads, _, _, ceilings, slacks = screen_of(np.zeros((3, 16)), np.array([1.0, -2.0, 3.0]))
    assert not levels_of(quads, 3, 16).any()
    np.testing.assert_allclose(ceilings, [1, -2, 3])
    np.testing.assert_allclose(slacks, 0, atol=1e-30)

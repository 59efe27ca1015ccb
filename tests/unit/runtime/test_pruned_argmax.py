"""The best row of a linear layer is that of numpy, and no logit is above its bound."""

import os
import subprocess
import sys

import numpy as np
import pytest

from trellex.runtime.pruned_argmax import BYTE, LANES, LEVELS, SURE, PrunedArgmax, bound, is_supported

SIZES = [1, 16, LANES - 1, LANES, LANES + 1, 512]
needs_vnni = pytest.mark.skipif(not is_supported(), reason="this CPU has no AVX-512 VNNI")


def layer(rows, size, seed=0):
    """Weights of rows of different sizes, and biases."""
    random = np.random.default_rng(seed)
    weight = random.uniform(-1, 1, (rows, size)) * 10.0 ** random.uniform(-2, 0, (rows, 1))
    return weight.astype(np.float32), random.normal(size=rows).astype(np.float32)


def hidden(rows, size, seed=1):
    return np.tanh(np.random.default_rng(seed).normal(size=(rows, size))).astype(np.float32)


def logits_of(weight, bias, h):
    """In double precision. [N, W]"""
    return h.astype(np.float64) @ weight.astype(np.float64).T + bias


def check(weight, bias, h):
    """The rows found are the best, but for what single precision may round, and the leads are theirs."""
    rows, leads = PrunedArgmax(weight, bias)(h)
    logits = logits_of(weight, bias, h)
    frequent = logits[:, :-1]
    assert (rows.dtype, leads.dtype) == (np.int64, np.float64)
    assert ((rows >= 0) & (rows < frequent.shape[1])).all()
    rounding = 1e-6 * (np.abs(h).astype(np.float64) @ np.abs(weight).max(0) + np.abs(bias).max())
    found = np.take_along_axis(frequent, rows[:, None], -1)[:, 0]
    assert (frequent.max(-1) - found <= rounding).all()
    second = np.sort(frequent, -1)[:, -2] if frequent.shape[1] > 1 else np.full(len(h), -np.inf)
    clear = frequent.max(-1) - second > 2 * rounding
    assert np.array_equal(rows[clear], frequent.argmax(-1)[clear])
    assert (np.abs(leads - (logits[:, -1] - frequent.max(-1))) <= 2 * rounding + 1e-6 * np.abs(logits).max(-1)).all()
    return clear


@needs_vnni
class TestBest:
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize("rows", [2, 3, LANES, LANES + 1, 2 * LANES + 2])
    @pytest.mark.parametrize("push", [-100.0, 0.0, 100.0])
    def test_is_that_of_numpy(self, rows, size, push):
        weight, bias = layer(rows, size)
        bias[-1] += push
        clear = check(weight, bias, hidden(20, size))
        assert clear.mean() > 0.9

    @pytest.mark.parametrize("scale", [1e-20, 1e-3, 3.0, 1e4, 1e15])
    def test_of_states_of_any_size(self, scale):
        weight, bias = layer(300, 72)
        random = np.random.default_rng(2)
        h = (scale * random.normal(size=(40, 72))).astype(np.float32)
        clear = check(weight, bias * np.float32(scale), h)
        assert clear.mean() > 0.9

    @pytest.mark.parametrize("value", [0.0, 1e-45, 1e-38, 1e-31])
    def test_of_next_to_nothing_is_that_of_the_bias(self, value):
        weight, bias = layer(300, 72)
        rows, leads = PrunedArgmax(weight, bias)(np.full((2, 72), value, np.float32))
        assert rows.tolist() == [bias[:-1].argmax()] * 2
        np.testing.assert_allclose(leads, bias[-1] - bias[:-1].max(), rtol=1e-6)

    def test_of_states_whose_units_are_of_very_different_sizes(self):
        weight, bias = layer(300, 72)
        h = hidden(50, 72) * 10.0 ** np.random.default_rng(3).uniform(-6, 6, (50, 72))
        check(weight, bias, h.astype(np.float32))

    @pytest.mark.parametrize("spread", [0.02, 0.3, 3.0])  # nearly equal logits, and ones of trained models
    def test_of_many_rows(self, spread):
        random = np.random.default_rng(3)
        weight, bias = random.uniform(-1, 1, (2048, 512)), random.normal(size=2048)
        weight, bias = (weight * spread / 6).astype(np.float32), (bias * spread).astype(np.float32)
        assert check(weight, bias, hidden(100, 512)).mean() > 0.9

    @pytest.mark.parametrize("value", [1.0, -1.0, 0.05, 0.0, 40.0])
    def test_of_weights_all_alike(self, value):
        """Whose rounding errors to the nearest level would add up."""
        weight = np.linspace(-0.2, 0.2, 256, dtype=np.float32)[:, None].repeat(512, 1)
        check(weight, np.zeros(256, np.float32), np.full((1, 512), value, np.float32))

    def test_of_rows_that_differ_in_one_weight(self):
        weight = layer(1, 512)[0].repeat(300, 0)
        weight[np.arange(300), np.arange(300)] = 0
        assert check(weight, np.zeros(300, np.float32), hidden(50, 512)).any()

    @pytest.mark.parametrize("value", [1.0, 0.1, 0.01, 7.0])
    def test_of_few_units(self, value):
        random = np.random.default_rng(4)
        weight, h = random.uniform(-1.2, 1.2, (2048, 16)), random.uniform(-value, value, (50, 16))
        check(weight.astype(np.float32), np.zeros(2048, np.float32), h.astype(np.float32))

    @pytest.mark.parametrize("scale", [1.0, 25.0])
    def test_of_units_just_below_half_a_step(self, scale):
        """One row loses by the rounding of nearly all of 2,048 units."""
        weight, h = np.zeros((100, 2048), np.float32), np.full((1, 2048), scale * 0.003937, np.float32)
        weight[70], h[0, 0] = 2, scale
        weight[70, 0] = 0
        bias = np.full(100, logits_of(weight, np.zeros(100), h)[0, 70] - 0.01 * scale, np.float32)
        bias[70] = 0
        assert check(weight, bias, h).all()
        assert PrunedArgmax(weight, bias)(h)[0] == 70

    def test_of_rows_whose_weights_are_all_0(self):
        weight, bias = layer(150, 40)
        weight[::2] = 0
        check(weight, bias, hidden(20, 40))

    @pytest.mark.parametrize("rows", [3, 8, 300])
    def test_of_equals_the_first_wins_and_the_last_does_not_lead(self, rows):
        weight, bias = layer(rows, 40)
        weight[:], bias[:] = weight[0], 0
        found, leads = PrunedArgmax(weight, bias)(hidden(3, 40))
        assert (found == 0).all()
        assert (leads == 0).all()

    @pytest.mark.parametrize("places", [(5, 9), (5, 200), (130, 200), (63, 64)])
    def test_of_two_equals_in_any_blocks_the_lower_wins(self, places):
        weight, bias = layer(300, 40)
        bias[list(places)] += 50
        weight[places[1]], bias[places[1]] = weight[places[0]], bias[places[0]]
        assert (PrunedArgmax(weight, bias)(hidden(20, 40))[0] == places[0]).all()

    def test_states_do_not_depend_on_each_other(self):
        argmax, h = PrunedArgmax(*layer(90, 40)), hidden(6, 40)
        together, alone = argmax(h), [argmax(row[None]) for row in h]
        for part in (0, 1):
            assert np.array_equal(together[part], np.concatenate([found[part] for found in alone]))

    def test_weights_in_another_order(self):
        weight, bias = layer(90, 40)
        for one, other in zip(
            PrunedArgmax(np.asfortranarray(weight), bias)(hidden(3, 40)),
            PrunedArgmax(weight, bias)(hidden(3, 40)),
            strict=True,
        ):
            assert np.array_equal(one, other)

    def test_no_states(self):
        rows, leads = PrunedArgmax(*layer(9, 40))(hidden(0, 40))
        assert len(rows) == len(leads) == 0


@pytest.mark.parametrize("setting", ["NUMBA_ENABLE_AVX=0", "NUMBA_CPU_NAME=generic", "NUMBA_CPU_FEATURES=+sse2"])
def test_is_not_supported_where_numba_may_not_use_the_instruction(setting, tmp_path):
    name, value = setting.split("=")
    call = "from trellex.runtime.pruned_argmax import is_supported; print(is_supported())"
    environment = {**os.environ, name: value, "NUMBA_CACHE_DIR": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", call], env=environment, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False"]


def levels_of(quads, rows, size):
    """[W / LANES, H / 8, LANES, 4] -> [W, H]"""
    both = np.concatenate([quads & 15, quads >> 4], -1).transpose(0, 2, 1, 3)
    return both.reshape(both.shape[0] * LANES, -1)[:rows, :size].astype(int) - LEVELS


def parts_of(weight, bias):
    """Levels, dither, and by row the scales, what rounding of h may add and the slack."""
    quads, dither, *others = PrunedArgmax(weight.astype(np.float32), bias)._bounds
    return levels_of(quads, *weight.shape), dither, *others


def bounds_by_hand(weight, bias, h):
    """[W], [H] -> [W]"""
    levels, dither, scales, rounding, slacks = parts_of(weight, bias)
    largest = np.abs(h).max()
    steps = BYTE / largest if largest else 0
    sums = levels @ np.rint(h * steps) - steps * (h @ dither)
    return (sums * scales + rounding) * largest + bias + slacks * np.linalg.norm(h)


class TestBounds:
    """By hand, from what is prepared of the weights."""

    @pytest.mark.parametrize("scale", [1.0, 0.01, 30.0])
    @pytest.mark.parametrize("spread", ["uniform", "normal", "few"])
    def test_no_logit_is_above_its_own(self, spread, scale):
        """The bound leaves room, but not much."""
        random = np.random.default_rng(0)
        draw = {
            "uniform": lambda: random.uniform(-1, 1, (300, 72)),
            "normal": lambda: random.normal(size=(300, 72)),
            "few": lambda: random.normal(size=(300, 72)) * (random.random((300, 72)) < 0.1),
        }
        weight, bias = draw[spread]() * 10.0 ** random.uniform(-3, 1, (300, 1)), random.normal(size=300)
        _, _, _, rounding, slacks = parts_of(weight, bias)
        for h in scale * np.tanh(random.normal(size=(200, 72))):
            room = bounds_by_hand(weight, bias, h) - (weight @ h + bias)
            assert (room > 0).all()
            assert (room < 2 * (slacks * np.linalg.norm(h) + rounding * np.abs(h).max())).all()

    def test_the_slack_is_sure_times_the_deviation(self):
        random = np.random.default_rng(1)
        weight, h = random.uniform(-1, 1, (4000, 64)), np.tanh(random.normal(size=64))
        levels, dither, scales, _, slacks = parts_of(weight, np.zeros(4000))
        errors = ((levels - dither) * scales[:, None] * BYTE - weight) @ h
        deviations = errors / (slacks / SURE * np.linalg.norm(h))
        assert abs(deviations.mean()) < 0.1
        assert deviations.std() == pytest.approx(1, abs=0.05)

    def test_errors_are_uniform_whatever_the_weight(self):
        weight = np.linspace(-1, 1, 256)[:, None].repeat(4000, 1)
        weight[:, 0] = 1  # so that all have the same scale
        levels, dither, *_ = parts_of(weight, np.zeros(256))
        errors = (levels - dither - weight * (LEVELS - 0.5))[:, 1:]
        assert np.abs(errors).max() < 0.5 + 1e-6
        assert np.abs(errors.mean(1)).max() < 0.02
        np.testing.assert_allclose(errors.var(1), 1 / 12, atol=0.004)

    def test_of_no_weights_it_is_the_bias(self):
        bias = np.array([1.0, -2.0, 3.0])
        levels, _, _, rounding, slacks = parts_of(np.zeros((3, 16)), bias)
        assert not levels.any()
        np.testing.assert_allclose(rounding, 0, atol=1e-30)
        np.testing.assert_allclose(slacks, 0, atol=1e-30)
        np.testing.assert_allclose(bounds_by_hand(np.zeros((3, 16)), bias, np.ones(16)), bias)

    def test_is_exceeded_no_more_often_than_said(self):
        assert np.exp(-(SURE**2) / 2) < 2e-8


@needs_vnni
class TestCompiledBounds:
    """What is compiled, against numpy."""

    def bounds(self, h, weight, bias):
        prepared = PrunedArgmax(weight, bias)._bounds
        found, highest = np.empty(len(weight), np.float32), np.empty(len(prepared[0]), np.float32)
        small = np.zeros(8 * prepared[0].shape[1], np.int8)
        bound(h, small, *prepared, bias.astype(np.float32), found, highest)
        return found, highest

    @pytest.mark.parametrize("rows", [1, LANES, 300])
    @pytest.mark.parametrize("size", [3, 72, 512])
    @pytest.mark.parametrize("scale", [1, 0.01, 50, 0])
    def test_by_hand(self, rows, size, scale):
        random = np.random.default_rng(2)
        weight, bias = random.normal(size=(rows, size)).astype(np.float32), random.normal(size=rows)
        h = (scale * np.tanh(random.normal(size=size))).astype(np.float32)
        found, highest = self.bounds(h, weight, bias)
        expected = bounds_by_hand(weight, bias, h.astype(np.float64))
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * max(1, scale))
        for block, value in enumerate(highest):
            assert value == found[block * LANES : (block + 1) * LANES].max()

    def test_few_rows_are_left(self):
        """Of random weights, which are the worst: no row stands out. Others are not looked at in full."""
        random = np.random.default_rng(3)
        weight, bias = random.normal(size=(2048, 512)).astype(np.float32), np.zeros(2048)
        for h in np.tanh(random.normal(size=(20, 512))).astype(np.float32):
            found, _ = self.bounds(h, weight, bias)
            assert (found >= (weight @ h).max()).mean() < 0.05

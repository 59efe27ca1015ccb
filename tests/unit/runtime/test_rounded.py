"""A softmax layer in 8 bits against whole numbers in numpy."""

import numpy as np
import pytest

from trellex.runtime.rounded import LANES, RoundedSoftmax

SIZES = [1, 16, LANES - 1, LANES, LANES + 1, 512]


def layer(words, size, seed=0):
    """Weights over the whole range, scales and bias."""
    random = np.random.default_rng(seed)
    weight = random.integers(-127, 128, (words, size)).astype(np.int8)
    return weight, random.uniform(1e-4, 1e-2, words).astype(np.float32), random.normal(size=words).astype(np.float32)


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
        most = 0.51 / 32767 * np.abs(parts[0].astype(int)).sum(1) * parts[1]  # every unit of h is off by half a step
        expected = exact(*parts, h)
        assert (np.abs(found - expected) <= most + 1e-6 * (1 + np.abs(expected))).all()

    @pytest.mark.parametrize("size", [512, 516, 1024, 1030, 4096])
    def test_the_largest_sums_do_not_overflow(self, size):
        weight = np.full((4, size), 127, np.int8)
        weight[1::2] *= -1
        h = np.array([[1.0], [-1.0]], np.float32).repeat(size, 1)
        parts = weight, np.full(4, 1 / 127, np.float32), np.zeros(4, np.float32)
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

    def test_of_equals_the_first_wins_and_other_does_not_lead(self):
        weight, scales, bias = layer(8, 40)
        weight[:], scales[:], bias[:] = weight[0], scales[0], 0
        words, leads, some_lead = RoundedSoftmax(weight, scales, bias).best(hidden(3, 40))
        assert (words == 0).all()
        assert (leads == 0).all()
        assert not some_lead


class TestFiles:
    def test_weights_are_rounded_by_a_scale_of_their_own(self, tmp_path):
        random = np.random.default_rng(0)
        weight = (random.normal(size=(5, 40)) * np.array([1e-5, 1, 0, 30, 1e3])[:, None]).astype(np.float32)
        bias, h = random.normal(size=5).astype(np.float32), hidden(4, 40)
        RoundedSoftmax.save(tmp_path, weight, bias)
        found = RoundedSoftmax.load(tmp_path, 5, 40).logits(h)
        assert {path.name for path in tmp_path.iterdir()} == {f"softmax.{x}.npy" for x in ("rounded", "scales", "bias")}
        step = np.abs(weight).max(1) / 127
        assert (np.abs(found - (h @ weight.T + bias)) <= 0.51 * step * np.abs(h).sum(1, keepdims=True) + 1e-5).all()

    @pytest.mark.parametrize(("words", "size"), [(6, 40), (5, 41)])
    def test_of_other_sizes_are_refused(self, tmp_path, words, size):
        RoundedSoftmax.save(tmp_path, np.ones((5, 40), np.float32), np.ones(5, np.float32))
        with pytest.raises(ValueError, match=r"softmax.rounded.npy: not an array of .* int8; export the model again"):
            RoundedSoftmax.load(tmp_path, words, size)

    @pytest.mark.parametrize("name", ["scales", "bias"])
    def test_of_other_shapes_are_refused(self, tmp_path, name):
        RoundedSoftmax.save(tmp_path, np.ones((5, 40), np.float32), np.ones(5, np.float32))
        np.save(tmp_path / f"softmax.{name}.npy", np.ones((5, 1), np.float32))
        with pytest.raises(ValueError, match=rf"softmax.{name}.npy: not an array of 5 .*; export the model again"):
            RoundedSoftmax.load(tmp_path, 5, 40)

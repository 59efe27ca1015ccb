"""A hybrid's softmax layer, in single precision and in whole numbers, against numpy."""

import numpy as np
import pytest

from trellex.runtime import frequent, kernels
from trellex.runtime.frequent import MOST, FrequentLayer
from trellex.runtime.kernels import LANES
from trellex.runtime.screen import multiplies_quads

SIZES = [1, 16, LANES - 1, LANES, LANES + 1, 512]


@pytest.fixture(params=[np.int16, np.float32], ids=["rounded", "plain"])
def kind(request):
    """What weights are."""
    return request.param


def layer(words, size, kind, seed=0):
    """Weights over the whole range, scales and bias."""
    random = np.random.default_rng(seed)
    weight = random.integers(-MOST, MOST + 1, (words, size)).astype(kind)
    return weight, random.uniform(1e-5, 1e-3, words).astype(np.float32), random.normal(size=words).astype(np.float32)


def hidden(rows, size, seed=1):
    return np.tanh(np.random.default_rng(seed).normal(size=(rows, size))).astype(np.float32)


def exact(weight, scales, bias, h):
    """Logits with nothing rounded but the weights. [N, W]"""
    return h.astype(np.float64) @ (weight * scales.astype(np.float64)[:, None]).T + bias


def is_best(softmax, h):
    """Whether the best words are those of the highest logits."""
    return np.array_equal(softmax.best(h)[0], softmax.logits(h)[:, :-1].argmax(-1))


class TestLogits:
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize("words", [2, 3, 65])
    def test_by_hand(self, words, size, kind):
        parts, h = layer(words, size, kind), hidden(5, size)
        found = FrequentLayer(*parts).logits(h)
        assert found.dtype == np.float32
        steps = min(32767, (2**31 - 1) // (MOST * size))
        off = 0.51 / steps if kind == np.int16 else 1e-7  # half a step in every unit of h, or a few last digits
        most = off * np.abs(parts[0].astype(int)).sum(1) * parts[1]
        expected = exact(*parts, h)
        assert (np.abs(found - expected) <= most + 1e-6 * (1 + np.abs(expected))).all()

    @pytest.mark.parametrize("size", [512, 516, 1024, 1030, 4096])
    def test_the_largest_sums_do_not_overflow(self, size):
        weight = np.full((4, size), MOST, np.int16)
        weight[1::2] *= -1
        h = np.array([[1.0], [-1.0]], np.float32).repeat(size, 1)
        parts = weight, np.full(4, 1 / MOST, np.float32), np.zeros(4, np.float32)
        np.testing.assert_allclose(FrequentLayer(*parts).logits(h), exact(*parts, h), rtol=1e-6)

    def test_rows_do_not_depend_on_each_other(self, kind):
        softmax, h = FrequentLayer(*layer(9, 40, kind)), hidden(6, 40)
        alone = np.concatenate([softmax.logits(row[None]) for row in h])
        assert np.array_equal(softmax.logits(h), alone)

    def test_weights_in_another_order(self, kind):
        weight, *others = layer(9, 40, kind)
        found = FrequentLayer(np.asfortranarray(weight), *others).logits(hidden(3, 40))
        assert np.array_equal(found, FrequentLayer(weight, *others).logits(hidden(3, 40)))

    def test_no_rows(self, kind):
        softmax = FrequentLayer(*layer(9, 40, kind))
        assert softmax.logits(hidden(0, 40)).shape == (0, 9)
        words, leads, some_lead = softmax.best(hidden(0, 40))
        assert len(words) == len(leads) == 0
        assert not some_lead


@pytest.fixture(params=[False, True], ids=["in full", "screened"])
def screened(request, monkeypatch):
    """Whether 4 bits of all weights are read before all of some."""
    if request.param and not multiplies_quads():
        pytest.skip("this CPU has no AVX-512 VNNI")
    monkeypatch.setattr(frequent, "multiplies_quads", lambda: request.param)
    monkeypatch.delattr(kernels, "best" if request.param else "best_screened")


@pytest.mark.usefixtures("screened")
class TestBest:
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize("words", [2, 3, 65])
    @pytest.mark.parametrize("push", [-100.0, 0.0, 100.0])
    def test_is_what_the_logits_say(self, words, size, push, kind):
        weight, scales, bias = layer(words, size, kind)
        bias[-1] += push
        softmax, h = FrequentLayer(weight, scales, bias), hidden(20, size)
        logits = softmax.logits(h).astype(np.float64)
        found, leads, some_lead = softmax.best(h)
        assert np.array_equal(found, logits[:, :-1].argmax(-1))
        np.testing.assert_allclose(leads, logits[:, -1] - logits[:, :-1].max(-1), atol=1e-5)
        assert some_lead == (leads > 0).any()

    @pytest.mark.parametrize("spread", [0.02, 0.3, 3.0])  # nearly equal logits, and ones of trained models
    def test_of_many_words(self, spread, kind):
        random = np.random.default_rng(3)
        weight, bias = random.integers(-MOST, MOST + 1, (2048, 512)).astype(kind), random.normal(size=2048)
        softmax, h = FrequentLayer(weight, np.full(2048, spread / 12800), bias * spread), hidden(100, 512)
        assert is_best(softmax, h)

    @pytest.mark.parametrize("value", [1.0, -1.0, 0.05, 0.0])
    def test_of_weights_all_alike(self, value, kind):
        """Whose rounding errors to the nearest level would add up."""
        weight = np.arange(-MOST, MOST + 1, 16, dtype=kind)[:, None].repeat(512, 1)
        softmax, h = FrequentLayer(weight, np.full(256, 1e-4), np.zeros(256)), np.full((1, 512), value, np.float32)
        assert is_best(softmax, h)

    def test_of_words_that_differ_in_one_weight(self, kind):
        weight = layer(1, 512, kind)[0].repeat(300, 0)
        weight[np.arange(300), np.arange(300)] = 0
        softmax, h = FrequentLayer(weight, np.full(300, 1e-3), np.zeros(300)), hidden(50, 512)
        assert is_best(softmax, h)

    @pytest.mark.parametrize("value", [1.0, 0.1, 0.01])
    def test_of_small_states(self, value, kind):
        random = np.random.default_rng(4)
        weight, h = random.integers(-200, 201, (2048, 16)).astype(kind), random.uniform(-value, value, (50, 16))
        softmax, h = FrequentLayer(weight, np.full(2048, 0.006), np.zeros(2048)), h.astype(np.float32)
        assert is_best(softmax, h)

    def test_of_states_just_above_half_a_step(self, kind):
        """One word gains from the rounding of all 2,048 units."""
        weight = np.zeros((100, 2048), kind)
        weight[70], h = MOST, np.full((1, 2048), 0.003937, np.float32)
        bias = np.full(100, FrequentLayer(weight, np.full(100, 1e-3), np.zeros(100)).logits(h)[0, 70] - 1e-4)
        bias[70] = 0
        softmax = FrequentLayer(weight, np.full(100, 1e-3), bias)
        assert softmax.best(h)[0] == softmax.logits(h)[:, :-1].argmax() == 70

    @pytest.mark.parametrize("words", [8, 300])
    def test_of_equals_the_first_wins_and_other_does_not_lead(self, words, kind):
        weight, scales, bias = layer(words, 40, kind)
        weight[:], scales[:], bias[:] = weight[0], scales[0], 0
        words, leads, some_lead = FrequentLayer(weight, scales, bias).best(hidden(3, 40))
        assert (words == 0).all()
        assert (leads == 0).all()
        assert not some_lead


class TestFiles:
    def save(self, folder, is_rounded):
        FrequentLayer.save(folder, np.ones((5, 40), np.float32), np.ones(5, np.float32), is_rounded)

    @pytest.mark.parametrize("is_rounded", [False, True])
    def test_weights_have_a_scale_of_their_own(self, tmp_path, is_rounded):
        random = np.random.default_rng(0)
        weight = (random.normal(size=(5, 40)) * np.array([1e-5, 1, 0, 30, 1e3])[:, None]).astype(np.float32)
        bias, h = random.normal(size=5).astype(np.float32), hidden(4, 40)
        FrequentLayer.save(tmp_path, weight, bias, is_rounded)
        found = FrequentLayer.load(tmp_path, 5, 40, is_rounded).logits(h)
        names = ("rounded", "scales", "bias") if is_rounded else ("weight", "bias")
        assert {path.name for path in tmp_path.iterdir()} == {f"softmax.{name}.npy" for name in names}
        step = np.abs(weight).max(1) / MOST * is_rounded
        most = 0.51 * step * np.abs(h).sum(1, keepdims=True) + 1e-5 + 1e-6 * np.abs(weight).sum(1)
        assert (np.abs(found - (h.astype(np.float64) @ weight.T + bias)) <= most).all()

    @pytest.mark.parametrize(("words", "size"), [(6, 40), (5, 41)])
    @pytest.mark.parametrize("is_rounded", [False, True])
    def test_of_other_sizes_are_refused(self, tmp_path, words, size, is_rounded):
        self.save(tmp_path, is_rounded)
        with pytest.raises(ValueError, match=r"softmax.\w+.npy: not an array of .*; export the model again"):
            FrequentLayer.load(tmp_path, words, size, is_rounded)

    @pytest.mark.parametrize(
        ("name", "kind"), [("rounded", np.int8), ("rounded", np.float32), ("weight", np.float16), ("weight", np.int16)]
    )
    def test_of_other_types_are_refused(self, tmp_path, name, kind):
        self.save(tmp_path, name == "rounded")
        np.save(tmp_path / f"softmax.{name}.npy", np.ones((5, 40), kind))
        with pytest.raises(ValueError, match=rf"softmax.{name}.npy: not an array of .*; export the model again"):
            FrequentLayer.load(tmp_path, 5, 40, name == "rounded")

    @pytest.mark.parametrize("name", ["scales", "bias"])
    def test_of_other_shapes_are_refused(self, tmp_path, name):
        self.save(tmp_path, is_rounded=True)
        np.save(tmp_path / f"softmax.{name}.npy", np.ones((5, 1), np.float32))
        with pytest.raises(ValueError, match=rf"softmax.{name}.npy: not an array of 5 .*; export the model again"):
            FrequentLayer.load(tmp_path, 5, 40, is_rounded=True)

    @pytest.mark.parametrize("weight", [MOST + 1, -MOST - 1, -32768])
    def test_weights_beyond_the_range_are_refused(self, tmp_path, weight):
        self.save(tmp_path, is_rounded=True)
        np.save(tmp_path / "softmax.rounded.npy", np.full((5, 40), weight, np.int16))
        with pytest.raises(ValueError, match=r"softmax.rounded.npy: has weights beyond ±2,047; export the model again"):
            FrequentLayer.load(tmp_path, 5, 40, is_rounded=True)

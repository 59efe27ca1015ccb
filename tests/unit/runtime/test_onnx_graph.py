"""What the graphs compute in 8 bits, and with which weights."""

import numpy as np
import onnxruntime
import pytest

from trellex.runtime.graphs import SMALL, balanced, logits_graph

MATRICES = ["encoder.lstm.weight_ih_l0", "encoder.lstm.weight_ih_l0_reverse"]


class TestBalanced:
    def weights(self):
        random = np.random.default_rng(0)
        vectors = random.normal(size=(50, 6)) * [1e-3, 1, 30, 1, 0, 1e-39]
        matrices = {name: random.normal(size=(24, 6)).astype(np.float32) for name in MATRICES}
        return {"encoder.embedding.weight": vectors.astype(np.float32), **matrices, "other": np.ones(3, np.float32)}

    def test_the_lstm_reads_the_same(self):
        before = self.weights()
        after = balanced(before)
        for name in MATRICES:
            products = [each["encoder.embedding.weight"].astype(float) @ each[name].T for each in (before, after)]
            np.testing.assert_allclose(products[1], products[0], rtol=1e-5, atol=1e-5)
        assert after["other"] is before["other"]

    def test_every_place_reaches_one(self):
        largest = np.abs(balanced(self.weights())["encoder.embedding.weight"]).max(0)
        np.testing.assert_allclose(largest[:4], 1, rtol=1e-6)
        assert largest[4] == 0
        assert largest[5] <= 1

    def test_what_is_given_stays_as_it_is(self):
        weights, again = self.weights(), self.weights()
        balanced(weights)
        assert all(np.array_equal(weights[name], again[name]) for name in weights)


@pytest.mark.parametrize("arithmetic", ["u8", "s8"])
@pytest.mark.parametrize(("words", "is_exact"), [(SMALL // 64, True), (SMALL // 64 + 1, False)])
def test_a_small_softmax_is_not_rounded(arithmetic, words, is_exact):
    random = np.random.default_rng(1)
    weight, bias = (random.normal(size=shape).astype(np.float32) for shape in ((words, 64), words))
    h = np.tanh(random.normal(size=(3, 64))).astype(np.float32)
    graph = logits_graph((weight, bias), arithmetic).SerializeToString()
    (found,) = onnxruntime.InferenceSession(graph).run(["logits"], {"output": h})
    expected = h.astype(float) @ weight.T + bias
    assert (np.abs(found - expected).max() < 1e-4) == is_exact
    assert np.abs(found - expected).max() < 0.5

"""The LSTM's weights as its graphs hold them."""

import numpy as np

from trellex.runtime.lstm_export import _balanced

MATRICES = ["encoder.lstm.weight_ih_l0", "encoder.lstm.weight_ih_l0_reverse"]


class TestBalanced:
    def weights(self):
        random = np.random.default_rng(0)
        vectors = random.normal(size=(50, 6)) * [1e-3, 1, 30, 1, 0, 1e-39]
        matrices = {name: random.normal(size=(24, 6)).astype(np.float32) for name in MATRICES}
        return {"encoder.embedding.weight": vectors.astype(np.float32), **matrices, "other": np.ones(3, np.float32)}

    def test_the_lstm_reads_the_same(self):
        before = self.weights()
        after = _balanced(before)
        for name in MATRICES:
            products = [each["encoder.embedding.weight"].astype(float) @ each[name].T for each in (before, after)]
            np.testing.assert_allclose(products[1], products[0], rtol=1e-5, atol=1e-5)
        assert after["other"] is before["other"]

    def test_every_place_reaches_one(self):
        largest = np.abs(_balanced(self.weights())["encoder.embedding.weight"]).max(0)
        np.testing.assert_allclose(largest[:4], 1, rtol=1e-6)
        assert largest[4] == 0
        assert largest[5] <= 1

    def test_what_is_given_stays_as_it_is(self):
        weights, again = self.weights(), self.weights()
        _balanced(weights)
        assert all(np.array_equal(weights[name], again[name]) for name in weights)

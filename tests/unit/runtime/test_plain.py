"""A softmax layer in single precision against numpy in double precision."""

import numpy as np
import pytest

from trellex.runtime.plain import PlainSoftmax


@pytest.fixture
def layer():
    random = np.random.default_rng(0)
    return random.normal(size=(9, 37)).astype(np.float32), random.normal(size=9).astype(np.float32)


@pytest.mark.parametrize("rows", [0, 1, 6])
@pytest.mark.parametrize("push", [-100.0, 0.0, 100.0])
def test_by_hand(tmp_path, layer, rows, push):
    weight, bias = layer
    bias[-1] += push
    PlainSoftmax.save(tmp_path, weight, bias)
    softmax = PlainSoftmax.load(tmp_path, 9, 37)
    h = np.tanh(np.random.default_rng(1).normal(size=(rows, 37))).astype(np.float32)
    expected = h.astype(np.float64) @ weight.T + bias
    np.testing.assert_allclose(softmax.logits(h), expected, rtol=1e-5, atol=1e-5)
    words, leads, some_lead = softmax.best(h)
    assert np.array_equal(words, expected[:, :-1].argmax(-1))
    np.testing.assert_allclose(leads, expected[:, -1] - expected[:, :-1].max(-1), rtol=1e-5, atol=1e-5)
    assert some_lead == (leads > 0).any()


def test_of_equals_the_first_wins_and_other_does_not_lead():
    words, leads, some_lead = PlainSoftmax(np.ones((5, 8), np.float32), np.zeros(5, np.float32)).best(
        np.ones((2, 8), np.float32)
    )
    assert (words == 0).all()
    assert (leads == 0).all()
    assert not some_lead


@pytest.mark.parametrize("sizes", [(8, 37), (9, 36)])
def test_other_sizes_are_refused(tmp_path, layer, sizes):
    PlainSoftmax.save(tmp_path, *layer)
    with pytest.raises(ValueError, match=r"softmax.weight.npy: not an array of .* float32; export the model again"):
        PlainSoftmax.load(tmp_path, *sizes)

"""A hybrid's layer: the softmax in ONNX Runtime and, for few hidden states, in compiled code say the same."""

import numpy as np
import pytest

from trellex.runtime.hybrid import FEW
from trellex.runtime.model import load_export
from trellex.runtime.pruned_argmax import is_supported

HEADS = ["hybrid-9-ec", {"type": "hybrid-9-ec", "decoding": "paper"}, {"type": "hybrid-9", "mixtures": 3}]


def hidden(rows=60):
    return np.tanh(np.random.default_rng(0).normal(size=(rows, 16))).astype(np.float32)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("head", HEADS, ids=str)
class TestFewAndMany:
    def test_one_by_one_is_as_all_together(self, both, head, precision):
        layer, h = both(head, precision)[1].model.layer, hidden()
        best, (words, log_probs) = layer.best(h), layer.topk(h, 3)
        clear = log_probs[:, 0] - log_probs[:, 1] > 1e-4
        for count in (1, FEW):
            parts = [h[start : start + count] for start in range(0, len(h), count)]
            assert np.array_equal(np.concatenate([layer.best(part) for part in parts])[clear], best[clear])
            found = np.concatenate([layer.topk(part, 3)[1] for part in parts])
            np.testing.assert_allclose(found, log_probs, atol=1e-4)
            found = np.concatenate([layer.log_prob(part, words[: len(part), 0]) for part in parts])
            every = np.concatenate([words[: len(part), 0] for part in parts])
            np.testing.assert_allclose(found, layer.log_prob(h, every), atol=1e-4)
        assert 0 < (best >= layer.first_rare).mean() < 1

    def test_without_the_instruction_the_words_are_the_same(self, both, head, precision, monkeypatch):
        folder, layer = both(head, precision)[2], both(head, precision)[1].model.layer
        monkeypatch.setattr("trellex.runtime.pruned_argmax.is_supported", lambda: False)
        other = load_export(folder).model.layer
        assert other._argmax is None
        assert (layer._argmax is not None) == is_supported()
        for row in hidden(20):
            assert other.best(row[None]) == layer.best(row[None])
            np.testing.assert_allclose(other.topk(row[None], 2)[1], layer.topk(row[None], 2)[1], atol=1e-4)


def test_a_compact_export_has_no_weights_of_few_states(both):
    loaded, folder = both("hybrid-9-ec", "compact")[1:]
    assert not list(folder.glob("softmax.*.npy"))
    layer, h = loaded.model.layer, hidden()
    assert layer._argmax is None
    assert np.array_equal(np.concatenate([layer.best(row[None]) for row in h]), layer.best(h))


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_the_weights_of_few_states_are_those_of_the_model(both, precision):
    ours, _, folder = both("hybrid-9-ec", precision)
    for name in ("weight", "bias"):
        found = np.load(folder / f"softmax.{name}.npy")
        assert found.dtype == np.float32
        assert np.array_equal(found, getattr(ours.model.head.softmax, name).numpy())

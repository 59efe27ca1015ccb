"""What graphs compute in 8 bits, and with which weights."""

import numpy as np
import onnxruntime
import pytest

from trellex.heads import HeadSpec
from trellex.nmt.settings import ModelSettings
from trellex.runtime.folder import RuntimeManifest
from trellex.runtime.onnx_graph import MAX_BYTES, GraphBuilder, write_softmax
from trellex.runtime.rows import SMALL, ZERO, quantized
from trellex.text.manifest import TextSettings

TEXT = TextSettings(source_language="en", target_language="de", source_tokenizer="moses", target_tokenizer="moses")


def manifest(precision):
    head = HeadSpec.parse("softmax")
    return RuntimeManifest(precision=precision, text=TEXT, model=ModelSettings(), head=head, vocab_size=9)


def run(path, outputs, h, **inputs):
    inputs = {name: np.array([value]) for name, value in inputs.items()}
    return onnxruntime.InferenceSession(path).run(outputs, {"output": h, **inputs})


def random_layer(words, size=64):
    random = np.random.default_rng(1)
    weight, bias = (random.normal(size=shape).astype(np.float32) for shape in ((words, size), words))
    return {"layer.weight": weight, "layer.bias": bias}, np.tanh(random.normal(size=(3, size))).astype(np.float32)


class TestSoftmax:
    @pytest.mark.parametrize("name", ["softmax.onnx", "softmax.signed.onnx"])
    @pytest.mark.parametrize(("words", "is_exact"), [(SMALL // 64, True), (SMALL // 64 + 1, False)])
    def test_a_small_one_is_not_rounded(self, tmp_path, name, words, is_exact):
        weights, h = random_layer(words)
        write_softmax(tmp_path / "softmax", manifest("int8"), weights, "layer", SMALL)
        (found,) = run(tmp_path / name, ["logits"], h)
        expected = h.astype(float) @ weights["layer.weight"].T + weights["layer.bias"]
        assert (np.abs(found - expected).max() < 1e-4) == is_exact
        assert np.abs(found - expected).max() < 0.5

    def test_single_precision_has_one_variant(self, tmp_path):
        weights, h = random_layer(50)
        write_softmax(tmp_path / "softmax", manifest("fp32"), weights, "layer", finds_best=True)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["softmax.onnx", "softmax.weights"]
        logits = h.astype(float) @ weights["layer.weight"].T + weights["layer.bias"]
        log_probs = logits - np.logaddexp.reduce(logits, -1)[:, None]
        found, words, best = run(tmp_path / "softmax.onnx", ["logits", "words", "log_probs"], h, k=4)
        np.testing.assert_allclose(found, logits, atol=1e-4)
        assert np.array_equal(words, np.argsort(-logits, -1)[:, :4])
        np.testing.assert_allclose(best, -np.sort(-log_probs, -1)[:, :4], atol=1e-4)


def test_rows_are_rounded_by_scales_of_their_own():
    weight = (np.random.default_rng(0).normal(size=(5, 40)) * [[1e-5], [1], [0], [30], [1e3]]).astype(np.float32)
    rounded, scale = quantized(weight)
    assert rounded.dtype == np.uint8
    assert (np.abs((rounded.astype(int) - ZERO) * scale[:, None] - weight) <= 0.501 * scale[:, None]).all()
    assert (np.abs(rounded.astype(int) - ZERO).max(1) == [127, 127, 0, 127, 127]).all()


def test_a_weight_that_no_graph_holds_is_refused():
    too_large = np.broadcast_to(np.float32(0), (MAX_BYTES // 4,))
    with pytest.raises(ValueError, match="precision: 2,147,483,648 bytes of weights are more than an ONNX graph holds"):
        GraphBuilder("fp32").weight(too_large)

"""The compiled search in a tree of words, against the probabilities of all words, and the files of the tree."""

import numpy as np
import pytest
from mutations import seal

from trellex.codes import FrequencyCode, HuffmanCode, RandomCode
from trellex.heads.tree_distribution import TreeDistribution
from trellex.runtime.folder import MANIFEST, REMEDY
from trellex.runtime.hierarchical import FEW, HierarchicalLayer
from trellex.runtime.model import load_export
from trellex.runtime.pruned_argmax import is_supported
from trellex.runtime.rows import Rows, quantized

SIZE = 70  # H: a line of bytes, and some
KINDS = ["fp32", "int8", *(["fast"] if is_supported() else [])]
CODES = [
    FrequencyCode(2),
    FrequencyCode(3),
    RandomCode(300, 1),
    FrequencyCode(255),
    FrequencyCode(256),
    HuffmanCode(2.0 ** -np.arange(40)),
    HuffmanCode(10_000 // np.arange(1, 301)),
]


def layer_of(code, gain, kind):
    random, count = np.random.default_rng(2), code.vocab_size - 1
    weight = (gain * random.normal(size=(count, SIZE)) / SIZE**0.5).astype(np.float32)
    bias = (gain * random.normal(size=count)).astype(np.float32)
    if kind == "fp32":
        return HierarchicalLayer(code, Rows(weight, np.ones(count, np.float32), bias, None))
    return HierarchicalLayer(code, Rows(*quantized(weight), bias, True if kind == "fast" else None))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("gain", [0, 0.3, 3, 1e4])
@pytest.mark.parametrize("code", CODES, ids=repr)
def test_the_best_of_all_words(code, gain, kind):
    layer, h = layer_of(code, gain, kind), np.random.default_rng(3).normal(size=(5, SIZE)).astype(np.float32)
    words, every = layer._every_log_prob(h)
    every = every[:, np.argsort(words)]
    alone = [layer.log_prob(h, np.full(len(h), word)) for word in range(0, code.vocab_size, 37)]
    np.testing.assert_allclose(np.stack(alone, -1), every[:, ::37], rtol=1e-5, atol=1e-6)
    for k in (1, 2, 7, FEW, FEW + 1):
        found, log_probs = layer.topk(h, k)
        count = min(k, code.vocab_size)
        assert found.shape == log_probs.shape == (len(h), k)
        np.testing.assert_allclose(log_probs[:, :count], -np.sort(-every, -1)[:, :k], rtol=1e-5, atol=1e-6)
        own = np.take_along_axis(every, found[:, :count], -1)
        np.testing.assert_allclose(own, log_probs[:, :count], rtol=1e-5, atol=1e-6)
        assert all(len(set(row)) == count for row in found[:, :count].tolist())
        assert (found[:, count:] == -1).all()
        assert np.isneginf(log_probs[:, count:]).all()
        _, expected = TreeDistribution._topk(layer, h, k)
        np.testing.assert_allclose(log_probs, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_states_that_are_no_numbers_have_no_best_word(kind):
    layer, h = layer_of(RandomCode(50), 1, kind), np.zeros((3, SIZE), np.float32)
    h[1, 3] = np.nan
    assert layer.topk(h, 2)[0][1].tolist() == [-1, -1]
    assert (layer.topk(h, 2)[0][::2] >= 0).all()


def test_of_no_rows():
    layer, h = layer_of(RandomCode(50), 1, "fp32"), np.zeros((0, SIZE), np.float32)
    assert layer.topk(h, 3)[0].shape == (0, 3)
    assert layer.sample(h).shape == layer.sample(h, 0.5).shape == layer.best(h).shape == (0,)


@pytest.mark.parametrize(
    ("head", "what", "name"), [("hierarchical", "the tree does", "nodes"), ("adaptive", "the tails do", "tail0.words")]
)
@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_weights_of_another_size_are_refused(both, tmp_path, head, what, name, precision):
    _, _, folder = both(head, precision)
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    array = np.load(tmp_path / f"{name}.weight.npy")
    np.save(tmp_path / f"{name}.weight.npy", array[1:])
    seal(tmp_path, MANIFEST)
    with pytest.raises(ValueError, match=f"{what} not fit .*{name}.weight.npy.*; {REMEDY}"):
        load_export(tmp_path)

"""Words read from hidden states, against the scores of all words."""

import numpy as np
import pytest
import torch

from trellex.codes import FrequencyCode, HuffmanCode, RandomCode
from trellex.heads import HeadSpec, build_head
from trellex.runtime.code import FEW, CodeLayer
from trellex.runtime.export import export
from trellex.runtime.model import load_export
from trellex.runtime.pruned_argmax import is_supported
from trellex.runtime.rows import Rows
from trellex.trellis import CompleteCode, ConvolutionalCode, IdentityCode

CODES = {
    "paper": ConvolutionalCode(),
    "length 3": ConvolutionalCode(("101", "111")),
    "length 4, three generators": ConvolutionalCode(("1101", "1011", "1111")),
    "length 4, an end without a bit": ConvolutionalCode(("1011", "0111")),
    "length 3, six generators": ConvolutionalCode(("101", "111") * 3),
    "identity": IdentityCode(),
    "complete, memory 3": CompleteCode(3),
    "complete, memory 8": CompleteCode(8),
}
SIZES = [2, 3, 127, 128, 129]
KINDS = {
    "random": lambda random, shape: 3 * random.normal(size=shape),
    "all tied": lambda _, shape: np.zeros(shape),
    "many ties": lambda random, shape: random.integers(-1, 2, shape),
    "huge": lambda random, shape: random.integers(-3, 4, shape) * 2.0**100,
    "far apart": lambda random, shape: random.integers(-3, 4, shape) * np.where(random.random(shape) < 0.2, 2.0**40, 1),
}


def spec_of(ecc, first_rare=0, **options):
    """The description of a head with this error-correcting code, whose bits spell the words from `first_rare` on."""
    kind = f"hybrid-{first_rare + 1}" if first_rare else "binary"
    redundancy = {} if ecc.memory == 0 else {"generators": ecc.generators}
    if ecc.register.is_complete:
        redundancy = {"generators": "complete", "memory": ecc.memory}
    return HeadSpec.parse({"type": f"{kind}-ec" if redundancy else kind, **redundancy, **options})


def identity(code, ecc, vocab_size=None, **options):
    """A layer whose hidden states are the logits."""
    length = ecc.length(code.num_bits)
    words = vocab_size or code.vocab_size
    return CodeLayer(spec_of(ecc, **options), code, words, length, (np.eye(length), np.zeros(length)))


def scores_of(layer, words, logits):
    """[N, L] -> [N, words]"""
    return logits @ layer.redundant_bits(words).astype(float).T


@pytest.fixture(params=KINDS)
def rows(request):
    """Makes logits of many rows."""
    return lambda length: KINDS[request.param](np.random.default_rng(0), (12, length)).astype(np.float64)


def in_groups(read, rows):
    """What is said of all rows at once, of few at a time, and of each alone."""
    yield read(rows)
    for count in (FEW, 1):
        parts = [read(rows[start : start + count]) for start in range(0, len(rows), count)]
        yield tuple(map(np.concatenate, zip(*parts, strict=True)))


def without_log_prob(layer):
    """`layer.best`, with NaN for what it does not tell."""
    return lambda rows: (layer.best(rows), np.full(len(rows), np.nan))


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("size", SIZES)
def test_the_best_of_all_words(code, size, rows):
    layer = identity(FrequencyCode(size), CODES[code])
    check(layer, rows(layer.length))


@pytest.mark.parametrize(
    "layer",
    [
        identity(RandomCode(100, 3), CODES["length 3"]),
        identity(HuffmanCode([30, 12, 9, 4, 4, 3, 2, 2, 1]), CODES["paper"]),
        identity(FrequencyCode(100), CODES["paper"], vocab_size=100, first_rare=37),
        identity(FrequencyCode(63), CODES["paper"], vocab_size=100, first_rare=37),
        identity(RandomCode(63, 3), CODES["length 3"], vocab_size=100, first_rare=37),
        identity(RandomCode(100, 3), CODES["complete, memory 3"]),
        identity(HuffmanCode([30, 12, 9, 4, 4, 3, 2, 2, 1]), CODES["complete, memory 3"]),
        identity(RandomCode(63, 3), CODES["complete, memory 3"], vocab_size=100, first_rare=37),
    ],
    ids=[
        *("random", "huffman", "between", "of rare words", "random of rare words"),
        *("random, complete", "huffman, complete", "random of rare words, complete"),
    ],
)
def test_words_that_are_few_among_bit_arrays(layer, rows):
    check(layer, rows(layer.length), by_word=False)


@pytest.mark.parametrize("code", ["paper", "length 3", "identity"])
@pytest.mark.parametrize(
    ("words", "vocabulary"),
    [
        (FrequencyCode(100), {}),
        (FrequencyCode(128), {}),
        (FrequencyCode(2), {}),
        (RandomCode(100, 3), {}),
        (FrequencyCode(63), {"vocab_size": 100, "first_rare": 37}),
    ],
    ids=["100", "all", "2", "random", "rare"],
)
def test_the_papers_decoding_takes_the_best_bit_array_and_unk_if_it_is_no_word(code, words, vocabulary, rows):
    layer = identity(words, CODES[code], **vocabulary, decoding="paper")
    logits = rows(layer.length)
    arrays = np.arange(1 << words.num_bits)
    bits = layer.ecc.encode(arrays[:, None] >> np.arange(words.num_bits) & 1)
    best = (logits @ bits.T.astype(float)).argmax(-1)  # of equals the lowest number
    found = words.words(best)
    expected = np.where(found < 0, 0, found + layer.offset)
    for words_found, _ in in_groups(without_log_prob(layer), logits):
        assert np.array_equal(words_found, expected)


@pytest.mark.parametrize("scale", [1, 20, 200])
@pytest.mark.parametrize("kind", ["binary", "binary-ec"])
def test_the_papers_decoding_is_that_of_torch(kind, scale):
    """However sure bits are: those of probability 1 in double precision have an order, too."""
    torch.manual_seed(5)
    head = build_head({"type": kind, "decoding": "paper"}, hidden_size=16, vocab=1000)
    h = torch.randn(200, 16) * scale
    linear = tuple(each.detach().numpy() for each in (head.bits.linear.weight, head.bits.linear.bias))
    layer = CodeLayer(head.spec, FrequencyCode(1000), 1000, 16, linear)
    with torch.no_grad():
        expected = head.best(h).numpy()
    for found, _ in in_groups(without_log_prob(layer), h.numpy()):
        assert np.array_equal(found, expected)


def check(layer, logits, by_word=True):
    words = np.arange(layer.first_rare, layer.vocab_size)
    scores = scores_of(layer, words, logits)
    best = scores.max(-1)
    answers = [*in_groups(without_log_prob(layer), logits), *in_groups(layer.best_with_log_prob, logits)]
    for found, log_probs in answers:
        at = found - words[0]
        if by_word:  # of equals the lowest number, which is the lowest word
            assert np.array_equal(at, scores.argmax(-1)) or not is_exact(logits)
        np.testing.assert_allclose(np.take_along_axis(scores, at[:, None], -1)[:, 0], best, rtol=1e-12)
        if not np.isnan(log_probs).any():
            expected = best - np.logaddexp.reduce(scores, -1)
            np.testing.assert_allclose(log_probs, expected, rtol=1e-12, atol=1e-9 + 1e-15 * np.abs(best).max())


def is_exact(logits):
    """Whether sums of these are not rounded."""
    return np.array_equal(logits, np.rint(logits))


@pytest.mark.parametrize("code", ["paper", "length 4, three generators", "complete, memory 3"])
@pytest.mark.parametrize("size", [100, 128, 200, 1000])
def test_layers_are_multiplied(code, size):
    random, length = np.random.default_rng(0), CODES[code].length(FrequencyCode(size).num_bits)
    weight, bias, h = random.normal(size=(length, 48)), random.normal(size=length), random.normal(size=(9, 48))
    for kind in (np.float32, np.float64):
        linear = weight.astype(kind), bias.astype(kind)
        layer = CodeLayer(spec_of(CODES[code]), FrequencyCode(size), size, 48, linear)
        expected = scores_of(layer, np.arange(size), h @ weight.T + bias).argmax(-1)
        for read in (without_log_prob(layer), layer.best_with_log_prob):
            for found, _ in in_groups(read, h.astype(kind)):
                assert np.array_equal(found, expected)


@pytest.mark.parametrize("mixtures", [1, 3])
def test_a_hidden_layer_and_parts_by_hand(mixtures):
    """What the layer computes is what all ways of reading start from."""
    random, code, ecc = np.random.default_rng(0), FrequencyCode(50), CODES["length 3"]
    length = ecc.length(code.num_bits)
    hidden, linear, weights = (
        (random.normal(size=shape).astype(np.float32), random.normal(size=shape[0]).astype(np.float32))
        for shape in ((7, 5), (mixtures * length, 7), (mixtures, 7))
    )
    h = random.normal(size=(4, 5)).astype(np.float32)
    layer = CodeLayer(spec_of(ecc), code, 50, 5, linear, hidden, weights if mixtures > 1 else None)
    inputs = np.maximum(h @ hidden[0].T + hidden[1], 0)
    expected = (inputs @ linear[0].T + linear[1]).reshape(4, mixtures, length)
    scores = expected @ layer.redundant_bits(np.arange(50)).T
    log_probs = scores - np.logaddexp.reduce(scores, -1)[..., None]
    shares = inputs @ weights[0].T + weights[1]
    shares = shares - np.logaddexp.reduce(shares, -1)[:, None] if mixtures > 1 else np.zeros((4, 1))
    every = np.logaddexp.reduce(log_probs + shares[..., None], 1)
    found = [layer.log_prob(h, np.full(4, word)) for word in range(50)]
    np.testing.assert_allclose(np.transpose(found), every, atol=1e-4)
    words, best = layer.topk(h, 50)
    np.testing.assert_allclose(best, -np.sort(-every, -1), atol=1e-4)
    assert np.array_equal(layer.best(h), layer.topk(h, 1)[0][:, 0])
    np.testing.assert_allclose(np.take_along_axis(every, words, -1), best, atol=1e-4)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("count", [1, 6])
def test_a_nan_is_named(code, count):
    layer = identity(FrequencyCode(100), CODES[code])
    logits = np.random.default_rng(0).normal(size=(count, layer.length))
    logits[-1, 3] = np.nan
    for read in (layer.best, layer.best_with_log_prob):
        with pytest.raises(ValueError, match=f"row {count - 1} has a NaN"):
            read(logits)


@pytest.mark.parametrize("code", CODES)
def test_no_rows(code):
    layer = identity(FrequencyCode(100), CODES[code])
    assert len(layer.best(np.empty((0, layer.length)))) == 0
    assert [len(part) for part in layer.best_with_log_prob(np.empty((0, layer.length)))] == [0, 0]
    assert len(layer.log_prob(np.empty((0, layer.length)), np.empty(0, int))) == 0
    assert layer.topk(np.empty((0, layer.length)), 3)[0].shape == (0, 3)
    assert len(layer.sample(np.empty((0, layer.length)))) == 0


@pytest.mark.parametrize("head", ["binary-ec", "hybrid-9-ec"])
@pytest.mark.parametrize("has_instruction", [False, True])
def test_a_large_complete_trellis_is_rounded(model_of, tmp_path, monkeypatch, head, has_instruction):
    """And a smaller one is not, nor any in single precision."""
    if has_instruction and not is_supported():
        pytest.skip("this CPU has no such instruction")
    ours = model_of({"type": head, "generators": "complete", "memory": 5}, hidden_size=32, target_size=300)
    layers = {}
    for small, precision in ((1 << 18, "int8"), (0, "fp32"), (0, "int8")):
        monkeypatch.setattr("trellex.runtime.code.SMALL", small)
        monkeypatch.setattr("trellex.runtime.pruned_argmax.is_supported", lambda: has_instruction)
        export(ours, tmp_path / f"{small}-{precision}", precision)
        layer = load_export(tmp_path / f"{small}-{precision}").model.layer
        layers[small, precision] = layer if head == "binary-ec" else layer.bits
    assert [isinstance(layer._linear, Rows) for layer in layers.values()] == [False, False, True]
    exact, _, rounded = layers.values()
    random = np.random.default_rng(0)
    h = np.tanh(random.normal(size=(200, 32))).astype(np.float32)
    words = random.integers(exact.first_rare, 300, 200)
    expected, found = exact.log_prob(h, words), rounded.log_prob(h, words)
    assert 0 < np.abs(found - expected).mean() < 0.02 * np.abs(expected).mean()
    assert np.corrcoef(found, expected)[0, 1] > 0.998
    best = rounded.topk(h, 2)[0]
    for answers in (in_groups(without_log_prob(rounded), h), in_groups(rounded.best_with_log_prob, h)):
        for words, _ in answers:
            assert np.array_equal(words, best[:, 0])

"""Words on shelves, against the scores of all words."""

import shutil
from unittest.mock import patch

import numpy as np
import pytest
from mutations import seal

from trellex.codes import FrequencyCode, HuffmanCode, RandomCode
from trellex.heads import HeadSpec
from trellex.runtime import row_products
from trellex.runtime.composed import ComposedVectors
from trellex.runtime.composed_shelves import ComposedShelves
from trellex.runtime.folder import MANIFEST, REMEDY
from trellex.runtime.model import load_export
from trellex.runtime.pruned_argmax import is_supported
from trellex.runtime.rows import Rows, quantized
from trellex.runtime.shelves import ShelvesLayer
from trellex.trellis.windows import Windows

SHAPES = [(300, 8, 3, 3), (300, 4, 1, 4), (256, 64, 2, 8), (37, 2, 5, 3), (70, 4096, 1, 3), (300, 8, 1000, 5)]
SIZE = 70  # H: a line of bytes, and some
GAINS = {"sure": 3.0, "unsure": 0.3, "equal": 0.0}
FAST = [None, True] if is_supported() else [None]


def rows_of(random, count, gain, is_rounded, fast=None):
    """A linear layer, as it is computed and as it is."""
    weight = (gain * random.normal(size=(count, SIZE)) / SIZE**0.5).astype(np.float32)
    bias = (gain * random.normal(size=count)).astype(np.float32)
    if not is_rounded:
        return Rows(weight, np.ones(count, np.float32), bias, None), weight, bias
    small, scales = quantized(weight)
    return Rows(small, scales, bias, fast), (small - 128.0) * scales[:, None], bias


def layer_of(shape, gain, is_rounded, fast=None):
    """A layer, and a function from hidden states to the probabilities of all words."""
    vocab_size, words, visit, memory = shape
    code = RandomCode(vocab_size, 1)
    options = {"words": words, "visit": visit, "memory": memory, "code": code}
    spec = HeadSpec.parse({"type": "shelves", **options})
    shelf_bits = spec.shelf_bits(code.num_bits)
    width, random = -(-vocab_size >> shelf_bits), np.random.default_rng(2)
    trellis, *of_trellis = rows_of(random, spec_length(memory, shelf_bits), 2 * gain, is_rounded, fast)
    table, *of_words = rows_of(random, width << shelf_bits, 4 * gain, is_rounded, fast)
    layer = ShelvesLayer(spec, code, trellis, table)

    def log_probs(h):
        h = h.astype(np.float64)
        if is_rounded:
            h = rounded(h)
        logits, scores = (h @ weight.T + bias for weight, bias in (of_trellis, of_words))
        return by_hand(layer, logits, scores.reshape(len(h), -1, width))

    return layer, log_probs


def composed_of(shape, gain, fast, frequent, seed=1):
    """The same of words whose vectors are composed; what compiled code rounds is rounded here as well.

    seed: of the code of those vectors, 1 for that of shelves
    """
    vocab_size, words, visit, memory = shape
    code, random = RandomCode(vocab_size, 1), np.random.default_rng(3)
    spec = HeadSpec.parse({"type": "shelves", "words": words, "visit": visit, "memory": memory, "code": code})
    trellis, *of_trellis = rows_of(random, spec_length(memory, spec.shelf_bits(code.num_bits)), 2 * gain, True, fast)
    _, table, _ = rows_of(random, Windows(code.num_bits, 4).count, gain, True)
    _, own, _ = rows_of(random, frequent, 4 * gain, True)
    project = (gain / 100 * random.normal(size=(3, SIZE)) / SIZE**0.5).astype(np.float32)
    residuals, bias = random.integers(-127, 128, (vocab_size, 3), np.int8), gain * random.normal(size=vocab_size)
    parts = table.astype(np.float32), residuals, project, own.astype(np.float32)
    vectors = ComposedVectors(RandomCode(vocab_size, seed), 4, *parts)
    turn = np.eye(SIZE, dtype=np.float32)[random.permutation(SIZE)]  # exact, so that all round alike
    project_first = Rows.of_vectors(turn, is_rounded=False)
    with patch("trellex.runtime.pruned_argmax.is_supported", return_value=fast is True):
        layer = ComposedShelves(spec, code, trellis, project_first, vectors, bias.astype("f4"))
    of_residuals = residuals.astype(float) @ project
    rounded_vectors = vectors(np.arange(vocab_size)) - of_residuals

    def log_probs(h):
        h = h.astype(np.float64)
        projected = h @ turn.T
        scores = rounded(projected) @ rounded_vectors.T + projected @ of_residuals.T + bias
        shelf, place = layer.place_of(np.arange(vocab_size))
        on_shelves = np.full((len(h), layer.num_shelves, layer.width), -np.inf)
        on_shelves[:, shelf, place] = scores
        return by_hand(layer, rounded(h) @ of_trellis[0].T + of_trellis[1], on_shelves)

    return layer, log_probs


def rounded(h):
    step = np.abs(h).max(-1, keepdims=True) / 127
    return np.rint(h / step) * step


def spec_length(memory, shelf_bits):
    return sum(1 << min(step, memory) for step in range(shelf_bits))


def by_hand(layer, logits, scores):
    """log P of all words. logits [N, L], scores [N, S, W] -> [N, V]"""
    shelves = np.arange(layer.num_shelves)
    shelf_scores = np.zeros((len(logits), layer.num_shelves))
    for shelf in shelves:
        state, first = 0, 0
        for step in range(layer.shelf_bits):
            bit = shelf >> step & 1
            shelf_scores[:, shelf] += bit * logits[:, first + state]
            first += 1 << min(step, layer.ecc.memory)
            state = (2 * state + bit) % (1 << layer.ecc.memory)
    log_shelves = shelf_scores - np.logaddexp.reduce(shelf_scores, -1)[:, None]
    numbers = layer.code.numbers(np.arange(layer.vocab_size))
    shelf_of, place_of = numbers % layer.num_shelves, numbers // layer.num_shelves
    found = np.empty((len(logits), layer.vocab_size))
    for row in range(len(logits)):
        f, own = scores[row, shelf_of, place_of], log_shelves[row, shelf_of]
        visited = np.isin(shelf_of, np.argsort(-shelf_scores[row], kind="stable")[: layer.visit])
        share = np.logaddexp.reduce(log_shelves[row, np.unique(shelf_of[visited])])
        found[row, visited] = share + f[visited] - np.logaddexp.reduce(f[visited])
        for shelf in np.unique(shelf_of[~visited]):
            here = shelf_of == shelf
            found[row, here] = own[here] + f[here] - np.logaddexp.reduce(f[here])
    return found


def hidden(count):
    return np.tanh(np.random.default_rng(0).normal(size=(count, SIZE))).astype(np.float32)


@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize(("is_rounded", "fast"), [(False, None), *((True, fast) for fast in FAST)])
def test_the_best_of_all_words(shape, gain, is_rounded, fast):
    check_best(*layer_of(shape, GAINS[gain], is_rounded, fast))


@pytest.mark.parametrize("gain", GAINS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("fast", FAST)
@pytest.mark.parametrize("frequent", [0, 1, 30])
@pytest.mark.parametrize("seed", [1, 2])
def test_the_best_of_composed_words(shape, gain, fast, frequent, seed):
    check_best(*composed_of(shape, GAINS[gain], fast, frequent, seed))


def check_best(layer, log_probs):
    h = hidden(64)
    every = log_probs(h)
    np.testing.assert_allclose(np.exp(every).sum(-1), 1)
    best = every.max(-1)
    for count in (64, 3, 2, 1):
        found = np.concatenate([layer.best(h[start : start + count]) for start in range(0, 64, count)])
        np.testing.assert_allclose(every[np.arange(64), found], best, atol=1e-4)
    assert np.array_equal(layer.best(h), layer.topk(h, 1)[0][:, 0])
    words, found = layer.topk(h[:5], 9)
    np.testing.assert_allclose(found, -np.sort(-every[:5], -1)[:, :9], atol=1e-4)
    np.testing.assert_allclose(np.take_along_axis(every[:5], words, -1), found, atol=1e-4)
    words = np.random.default_rng(1).integers(0, layer.vocab_size, 64)
    np.testing.assert_allclose(layer.log_prob(h, words), every[np.arange(64), words], atol=1e-4)


def test_unlikely_shelves_have_the_best_word():
    """Otherwise nothing above looks further than at the shelves that are visited."""
    layer, log_probs = layer_of((300, 8, 1, 5), 0.3, False)
    h = hidden(64)
    shelves, _ = layer.place_of(layer.best(h))
    first = layer._first_shelves(layer.shelf_logits(h).astype(float))[:, 0]
    assert 0.2 < (shelves != first).mean() < 1
    assert np.array_equal(log_probs(h).argmax(-1), layer.best(h))


@pytest.mark.parametrize("largest", [1e8, 1e16, 1e25])
def test_logits_of_any_size(largest):
    """Probabilities still sum to 1, and the best word is the most probable."""
    layer, _ = layer_of((300, 8, 1, 5), 0.3, False)
    layer._trellis.bias[[0, 2, 5]] = largest, -largest, largest
    h = hidden(20)
    every = np.stack([layer.log_prob(h, np.full(20, word)) for word in range(layer.vocab_size)], -1)
    np.testing.assert_allclose(np.exp(every).sum(-1), 1, rtol=1e-9)
    assert np.array_equal(layer.best(h), every.argmax(-1))
    assert np.array_equal(layer.topk(h, 3)[0], np.argsort(-every, -1, kind="stable")[:, :3])
    assert len(set(layer.best(h))) > 2


@pytest.mark.skipif(not is_supported(), reason="this CPU has no such instruction")
@pytest.mark.parametrize("size", [1, 63, 64, 65, 512, 700])
def test_the_instruction_gives_the_same_sums(size):
    random = np.random.default_rng(0)
    for weight in (random.integers(0, 256, (33, size)), np.full((33, size), 255), np.zeros((33, size))):
        for h in (random.normal(size=(3, size)), np.ones((3, size)), -np.ones((3, size)), np.zeros((3, size))):
            rest = weight.astype(np.uint8), random.random(33).astype(np.float32), np.ones(33, np.float32)
            found = np.empty((2, 3, 33), np.float32)
            for fast, products in zip((None, True), found, strict=True):
                row_products.multiply(h.astype(np.float32), *rest, fast, products)
            assert np.array_equal(*found)
            step = np.maximum(np.abs(h).max(-1, keepdims=True), 1e-9) / 127
            expected = np.rint(h / step) * step @ (weight - 128.0).T * rest[1] + 1
            np.testing.assert_allclose(found[0], expected, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    "make", [lambda: layer_of(SHAPES[2], 1.0, True)[0], lambda: composed_of(SHAPES[2], 1.0, None, 9)[0]]
)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.filterwarnings("ignore:invalid value")
def test_a_score_that_is_not_finite_has_no_best_word(make, bad):
    """Search tells of it, instead of going on with some word."""
    layer, h = make(), hidden(3)
    layer._word_table.bias[:] = bad
    assert (layer.best(h) == -1).all()


@pytest.mark.parametrize(("is_rounded", "bad"), [(False, np.nan), (True, np.nan), (True, np.inf)])
def test_what_is_not_finite_is_named(is_rounded, bad):
    layer, _ = layer_of(SHAPES[0], 1.0, is_rounded)
    h = hidden(3)
    h[1, 5] = bad
    with pytest.raises(ValueError, match="has a NaN"):
        layer.best(h)


@pytest.mark.parametrize("shape", [SHAPES[0], (1000, 2, 9, 3), (1000, 2, 400, 3)], ids=str)
def test_no_rows(shape):
    layer, _ = layer_of(shape, 1.0, True)
    h, none = np.empty((0, SIZE), np.float32), np.empty(0, np.int64)
    assert layer.best(h).shape == layer.sample(h).shape == layer.sample(h, 0.5).shape == (0,)
    assert layer.log_prob(h, none).shape == (0,)
    assert [found.shape for found in layer.topk(h, 700)] == [(0, 700)] * 2
    assert layer.best_shelves(h, 300)[0].shape == (0, min(300, layer.num_shelves))


HEAD = {"type": "shelves", "words": 8, "visit": 2, "memory": 3, "code": "random"}


class TestFiles:
    @pytest.fixture(params=["fp32", "int8", "compact"])
    def folder(self, both, tmp_path, request):
        """An export that a test may damage."""
        return shutil.copytree(both(HEAD, request.param)[2], tmp_path / request.param)

    @staticmethod
    def arrays(folder):
        return [path for name in ("words", "shelves", "project") for path in folder.glob(f"{name}.*")]

    def test_missing(self, folder):
        names = [path.name for path in (*self.arrays(folder), folder / "code.json")]
        assert len(names) == {"fp32": 5, "int8": 7, "compact": 10}[folder.name]
        for name in names:
            (folder / name).rename(folder / "elsewhere")
            with pytest.raises(ValueError, match=f"{name}: .*missing.*{REMEDY}"):
                load_export(folder)
            (folder / "elsewhere").rename(folder / name)
        load_export(folder)

    def test_of_another_shape_type_or_not_finite(self, folder):
        for path in self.arrays(folder):
            array, content = np.load(path), path.read_bytes()
            others = [array[1:], array.astype(np.float64), array.reshape(-1, 1)]
            others += [np.full_like(array, np.nan)] if array.ndim < 3 and array.dtype == np.float32 else []
            for other in others:
                np.save(path, other)
                seal(folder, MANIFEST)
                with pytest.raises(ValueError, match=f"{path.name}: .*{REMEDY}"):
                    load_export(folder)
            path.write_bytes(content)
        seal(folder, MANIFEST)
        load_export(folder)

    def test_a_code_of_other_words(self, folder):
        for code in (FrequencyCode(41), HuffmanCode(range(1, 41))):
            code.save(folder / "code.json")
            seal(folder, MANIFEST)
            with pytest.raises(ValueError, match=f"^{folder}: the shelves do not fit .code: .*{REMEDY}$"):
                load_export(folder)

    def test_vectors_are_mapped(self, folder):
        weight = load_export(folder).model.layer._word_table.weight
        while weight.base is not None and not isinstance(weight, np.memmap):
            weight = weight.base
        assert isinstance(weight, np.memmap)

    def test_without_the_instruction_the_words_are_the_same(self, folder, both, sources, monkeypatch):
        layer = load_export(folder).model.layer
        monkeypatch.setattr("trellex.runtime.pruned_argmax.is_supported", lambda: False)
        other = load_export(folder).model.layer
        assert other._word_table.fast is None
        h = np.tanh(np.random.default_rng(0).normal(size=(50, 16))).astype(np.float32)
        assert np.array_equal(layer.best(h), other.best(h))
        assert np.array_equal(layer.topk(h, 3)[1], other.topk(h, 3)[1])
        assert len(set(layer.best(h))) > 5


def test_codes_with_gaps_are_refused():
    with pytest.raises(ValueError, match="code: shelves need numbers without gaps"):
        HeadSpec.parse({"type": "shelves", "code": HuffmanCode([5, 3, 1, 1])}).build_code(4)


def test_states_in_double_precision():
    layer, _ = layer_of(SHAPES[0], 1.0, True)
    h = hidden(20)
    assert np.array_equal(layer.best(h.astype(np.float64)), layer.best(h))
    np.testing.assert_allclose(layer.shelf_logits(h.astype(np.float64)), layer.shelf_logits(h), atol=1e-5)

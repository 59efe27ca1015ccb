"""The functions that numpy arrays and torch tensors share, against results by hand."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import torch

from trellex.arrays import (
    FEW_ROWS,
    Table,
    as_count,
    best_of,
    doubled,
    draw,
    fetch_few,
    like,
    log_softmax,
    log_sum_exp,
    pick,
    sigmoid,
)

INF = float("inf")
SCORES = [[-1.0, -3.0, -0.5, -2.0], [-INF, -1.0, -INF, -4.0], [-INF] * 4]
WORDS = [[7, 5, 9, 0], [3, 0, 8, 2], [1, 2, 3, 4]]
KINDS = pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


class TestTable:
    def test_arrays_find_the_array_and_tensors_a_tensor_that_is_kept(self):
        array, places = np.array([5, 3, 4]), torch.tensor([2, 0])
        table = Table(array)
        assert table.like(np.array(0)) is array
        assert table.like(places) is table.like(places + 1)
        assert table.like(places)[places].tolist() == [4, 5]
        assert table.like(torch.zeros(1)).dtype == torch.float32
        assert table.like(torch.zeros(1, device="meta")).device.type == "meta"

    def test_autograd_takes_what_was_made_in_inference_mode(self):
        table, weight = Table(np.array([2.0, 7.0])), torch.ones(2, dtype=torch.float64, requires_grad=True)
        with torch.inference_mode():
            first = table.like(torch.zeros(2, dtype=torch.float64))
        (weight * table.like(weight)).sum().backward()
        assert table.like(weight) is first
        assert weight.grad.tolist() == [2, 7]

    @pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda table: pickle.loads(pickle.dumps(table))])
    def test_copies_start_with_the_array_alone(self, again):
        table, places = Table(np.array([5, 3, 4])), torch.tensor([1])
        kept = table.like(places)
        assert again(table).array.tolist() == [5, 3, 4]
        assert again(table).like(places) is not kept
        assert torch.equal(again(table).like(places), kept)


@KINDS
class TestBestOf:
    @pytest.mark.parametrize(
        ("k", "words", "scores"),
        [
            (1, [[9], [0], [-1]], [[-0.5], [-1], [-INF]]),
            (2, [[9, 7], [0, 2], [-1, -1]], [[-0.5, -1], [-1, -4], [-INF, -INF]]),
            (
                4,
                [[9, 7, 0, 5], [0, 2, -1, -1], [-1] * 4],
                [[-0.5, -1, -2, -3], [-1, -4, -INF, -INF], [-INF] * 4],
            ),
            (
                6,
                [[9, 7, 0, 5, -1, -1], [0, 2, -1, -1, -1, -1], [-1] * 6],
                [[-0.5, -1, -2, -3, -INF, -INF], [-1, -4, -INF, -INF, -INF, -INF], [-INF] * 6],
            ),
        ],
    )
    def test_by_hand(self, kind, k, words, scores):
        found, values = best_of(kind(SCORES), k, kind(WORDS))
        assert type(found) is type(values) is type(kind(0))
        assert found.tolist() == words
        assert values.tolist() == scores

    def test_no_rows_and_no_candidates(self, kind):
        words, scores = best_of(kind(np.zeros((0, 3))), 2, kind(np.zeros((0, 3), int)))
        assert tuple(words.shape) == tuple(scores.shape) == (0, 2)
        words, scores = best_of(kind(np.zeros((2, 0))), 2, kind(np.zeros((2, 0), int)))
        assert words.tolist() == [[-1, -1]] * 2
        assert scores.tolist() == [[-INF, -INF]] * 2

    def test_arguments_stay_as_they_are(self, kind):
        scores, words = kind(np.array(SCORES)), kind(np.array(WORDS))
        best_of(scores, 3, words)
        assert (scores.tolist(), words.tolist()) == (SCORES, WORDS)

    def test_single_precision_stays_single(self, kind):
        values = best_of(kind(np.array(SCORES, np.float32)), 5, kind(WORDS))[1]
        assert str(values.dtype).removeprefix("torch.") == "float32"

    def test_without_words_they_are_the_places(self, kind):
        found, values = best_of(kind(SCORES), 3)
        assert found.tolist() == [[2, 0, 3], [1, 3, -1], [-1, -1, -1]]
        assert values.tolist() == [[-0.5, -1, -2], [-1, -4, -INF], [-INF] * 3]

    @pytest.mark.parametrize("k", [1, 5, 50, 200, 203])
    def test_of_many_places_by_sorting_them(self, kind, k):
        scores = np.random.default_rng(0).normal(size=(9, 200))
        scores[3, 4:] = -INF
        found, values = best_of(kind(scores), k)
        order = np.argsort(-scores, -1)[:, :k]
        best = np.take_along_axis(scores, order, -1)
        missing = ((0, 0), (0, max(0, k - 200)))
        expected = np.pad(np.where(best > -INF, order, -1), missing, constant_values=-1)
        assert found.tolist() == expected.tolist()
        assert values.tolist() == np.pad(best, missing, constant_values=-INF).tolist()


def test_of_equals_the_first_in_numpy():
    words, _ = best_of(np.array([[-1.0, 0.0, -1.0, 0.0, 0.0]]), 4, np.array([[5, 6, 7, 8, 9]]))
    assert words.tolist() == [[6, 8, 9, 5]]
    assert best_of(np.array([[-1.0, 0.0, -1.0, 0.0, 0.0]]), 4)[0].tolist() == [[1, 3, 4, 0]]


@KINDS
class TestLogSumExp:
    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            ([0.0], 0),
            ([np.log(0.25), np.log(0.5)], np.log(0.75)),
            ([-1000.0, -1000.0], -1000 + np.log(2)),
            ([1000.0, 0.0], 1000),
            ([-INF, -2.0, -INF], -2),
            ([-INF, -INF], -INF),
        ],
    )
    def test_by_hand(self, kind, values, expected):
        assert float(log_sum_exp(kind(np.array(values)))) == pytest.approx(expected, rel=1e-12)

    def test_over_the_last_dimension(self, kind):
        assert tuple(log_sum_exp(kind(np.zeros((2, 3, 4)))).shape) == (2, 3)


@KINDS
def test_sigmoid(kind):
    values = [0.0, np.log(3), -np.log(3), 1000.0, -1000.0, INF, -INF]
    assert sigmoid(kind(values)).tolist() == pytest.approx([0.5, 0.75, 0.25, 1, 0, 1, 0], abs=1e-15)
    assert sigmoid(kind(np.array(values, np.float32))).tolist() == pytest.approx(
        [0.5, 0.75, 0.25, 1, 0, 1, 0], abs=1e-6
    )


@KINDS
class TestLogSoftmax:
    @pytest.mark.parametrize(
        ("logits", "expected"),
        [
            ([5.0], [1]),
            ([0.0, np.log(3)], [0.25, 0.75]),
            ([1000.0, 1000 + np.log(3), -1000], [0.25, 0.75, 0]),
            ([-INF, 2.0, 2.0], [0, 0.5, 0.5]),
        ],
    )
    def test_by_hand(self, kind, logits, expected):
        found = log_softmax(kind(np.array([logits, logits])))
        assert type(found) is type(kind(0))
        np.testing.assert_allclose(np.exp(np.asarray(found)), [expected] * 2, atol=1e-12)

    def test_small_probabilities_are_exact(self, kind):
        assert log_softmax(kind(np.array([0.0, -800.0]))).tolist() == [0, -800]

    def test_over_the_last_dimension_in_its_precision(self, kind):
        found = log_softmax(kind(np.zeros((2, 3, 4), np.float32)))
        assert tuple(found.shape) == (2, 3, 4)
        assert str(found.dtype).removeprefix("torch.") == "float32"
        np.testing.assert_allclose(found, -np.log(4), rtol=1e-6)


@KINDS
def test_pick(kind):
    values, places = np.arange(24).reshape(3, 2, 4), np.array([1, 0, 1])
    assert pick(kind(values), kind(places)).tolist() == [[4, 5, 6, 7], [8, 9, 10, 11], [20, 21, 22, 23]]
    assert pick(kind(values[..., 0]), kind(places)).tolist() == [4, 8, 20]
    assert tuple(pick(kind(values[:0]), kind(places[:0])).shape) == (0, 4)


class TestDraw:
    def generator(self, kind, seed):
        return np.random.default_rng(seed) if kind is np.asarray else torch.Generator().manual_seed(seed)

    @KINDS
    def test_in_proportion_to_the_exponential(self, kind):
        scores = 700 + np.log([1.0, 3.0, 6.0])
        found = draw(kind(np.tile(scores, (20_000, 1))), self.generator(kind, 0))
        assert tuple(found.shape) == (20_000,)
        np.testing.assert_allclose(np.bincount(found) / 20_000, [0.1, 0.3, 0.6], atol=0.015)

    @KINDS
    def test_the_generator_decides(self, kind):
        scores = kind(np.zeros((50, 9)))
        first, again, other = (draw(scores, self.generator(kind, seed)).tolist() for seed in (1, 1, 2))
        assert first == again != other

    @KINDS
    def test_what_is_impossible_is_never_drawn(self, kind):
        scores = kind(np.tile([-INF, 0.0, -INF], (200, 1)))
        assert set(draw(scores, self.generator(kind, 0)).tolist()) == {1}


class TestPrecision:
    @pytest.mark.parametrize("values", [np.float32([1, 2]), np.float64([1, 2]), np.array([1, 2])], ids=str)
    @KINDS
    def test_doubled(self, kind, values):
        found = doubled(kind(values))
        assert type(found) is type(kind(0))
        assert str(found.dtype).removeprefix("torch.") == "float64"
        assert found.tolist() == [1, 2]

    def test_doubles_are_not_copied(self):
        for values in (np.zeros(2), torch.zeros(2, dtype=torch.float64)):
            assert doubled(values) is values or np.shares_memory(doubled(values), values)

    @pytest.mark.parametrize(
        ("kind", "expected"),
        [
            (torch.float64, torch.float64),
            (torch.float32, torch.float32),
            (torch.float16, torch.float32),
            (torch.bfloat16, torch.float32),
            (torch.int64, torch.float64),
        ],
        ids=str,
    )
    def test_like_another_tensor_but_at_least_single(self, kind, expected):
        values = torch.tensor([0.5], dtype=torch.float64)
        assert like(values, torch.zeros(1, dtype=kind)).dtype == expected
        assert like(torch.tensor([3]), torch.zeros(1, dtype=kind)).dtype == torch.int64

    def test_like_another_tensor_on_its_device(self):
        elsewhere = torch.zeros(1, device="meta")
        assert like(torch.tensor([0.5]), elsewhere).device.type == "meta"
        assert like(torch.tensor([3]), elsewhere).device.type == "meta"

    def test_arrays_stay_as_they_are(self):
        values = np.array([0.5])
        assert like(values, np.zeros(1, np.float32)) is values


class TestFetchFew:
    def test_what_is_in_main_memory_stays(self):
        array, tensor = np.zeros(3), torch.zeros(3)
        found = fetch_few(array, tensor)
        assert found[0] is array
        assert found[1] is tensor

    @pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
    def test_few_rows_come_from_the_device_and_many_stay(self):
        few, many = fetch_few(torch.zeros(FEW_ROWS, device="cuda"), torch.zeros(FEW_ROWS + 1, device="cuda"))
        assert not few.is_cuda
        assert many.is_cuda


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *((value, True) for value in (1, 7, np.int64(3), np.uint8(1), torch.tensor(2))),
        *((value, False) for value in (0, -1, True, False, 1.0, 2.5, "3", None, np.float64(2), [1])),
    ],
    ids=repr,
)
def test_counts(value, expected):
    if expected:
        assert as_count(value, "k") == int(value)
        assert type(as_count(value, "k")) is int
    else:
        with pytest.raises(ValueError, match="k: expected a whole number of at least 1, got"):
            as_count(value, "k")

"""The functions that numpy arrays and torch tensors share, against results by hand."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import torch

from trellex.arrays import Table, best_of, log_sum_exp, sigmoid

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
        found, values = best_of(kind(SCORES), kind(WORDS), k)
        assert type(found) is type(values) is type(kind(0))
        assert found.tolist() == words
        assert values.tolist() == scores

    def test_no_rows_and_no_candidates(self, kind):
        words, scores = best_of(kind(np.zeros((0, 3))), kind(np.zeros((0, 3), int)), 2)
        assert tuple(words.shape) == tuple(scores.shape) == (0, 2)
        words, scores = best_of(kind(np.zeros((2, 0))), kind(np.zeros((2, 0), int)), 2)
        assert words.tolist() == [[-1, -1]] * 2
        assert scores.tolist() == [[-INF, -INF]] * 2

    def test_arguments_stay_as_they_are(self, kind):
        scores, words = kind(np.array(SCORES)), kind(np.array(WORDS))
        best_of(scores, words, 3)
        assert (scores.tolist(), words.tolist()) == (SCORES, WORDS)

    def test_single_precision_stays_single(self, kind):
        values = best_of(kind(np.array(SCORES, np.float32)), kind(WORDS), 5)[1]
        assert str(values.dtype).removeprefix("torch.") == "float32"


def test_of_equals_the_first_in_numpy():
    words, _ = best_of(np.array([[-1.0, 0.0, -1.0, 0.0, 0.0]]), np.array([[5, 6, 7, 8, 9]]), 4)
    assert words.tolist() == [[6, 8, 9, 5]]


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

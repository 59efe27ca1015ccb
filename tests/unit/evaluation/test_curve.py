"""The best evaluation, and the paper's figure, which is the mean it says it is."""

import numpy as np
import pytest

from trellex.evaluation.curve import Evaluation, averaged_test_bleu, best_evaluation


def evaluations(dev, test=None):
    """One a step, the test scores 1, 2, 4, 8, … unless given."""
    test = [2.0**place for place in range(len(dev))] if test is None else test
    return [Evaluation(step, *scores) for step, scores in enumerate(zip(dev, test, strict=True), start=1)]


class TestBest:
    def test_the_highest_dev_score(self):
        assert best_evaluation(evaluations([1, 5, 3])).step == 2

    def test_the_first_of_equals(self):
        assert best_evaluation(evaluations([1, 5, 3, 5, 5])).step == 2


class TestAverage:
    @pytest.mark.parametrize(
        ("dev", "averaged"),
        [
            ([1, 2, 3, 9, 3, 2, 1, 1, 1, 1], [2, 3, 4, 5, 6]),  # in the middle
            ([9, 2, 3, 4, 3, 2, 1, 1, 1, 1], [1, 2, 3, 4, 5]),  # clamped at the start
            ([1, 9, 3, 4, 3, 2, 1, 1, 1, 1], [1, 2, 3, 4, 5]),
            ([1, 1, 1, 2, 3, 4, 3, 2, 9, 1], [6, 7, 8, 9, 10]),  # and at the end
            ([1, 1, 1, 2, 3, 4, 3, 2, 1, 9], [6, 7, 8, 9, 10]),
            ([0, 0, 0, 9, 0, 0, 9, 0, 0, 0, 0], [2, 3, 4, 5, 6]),  # of equals the first
        ],
    )
    def test_five_around_the_best(self, dev, averaged):
        assert averaged_test_bleu(evaluations(dev)) == pytest.approx(np.mean([2.0 ** (x - 1) for x in averaged]))

    def test_nothing_without_test_scores(self):
        assert averaged_test_bleu(evaluations(range(10), [None] * 10)) is None

    @pytest.mark.parametrize("number", [1, 4, 5, 9])
    def test_nothing_of_few_which_would_take_in_the_beginning(self, number):
        assert averaged_test_bleu(evaluations(range(number))) is None
        assert averaged_test_bleu(evaluations(range(10))) == pytest.approx(np.mean([2.0**x for x in range(5, 10)]))

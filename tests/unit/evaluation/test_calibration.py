"""Calibration by hand: which band a probability falls in, and how far its words are from what they promise."""

import numpy as np
import pytest

from trellex.evaluation import Calibration


def calibration(probabilities, right):
    """Predictions of word 1 with these probabilities, where word 1 or word 2 should have come."""
    table = Calibration()
    with np.errstate(divide="ignore"):
        table.add(np.ones(len(right), int), np.log(probabilities), np.where(right, 1, 2))
    return table


class TestBands:
    def test_by_hand(self):
        table = calibration([0.62, 0.68, 0.05, 0.66], [True, False, False, True])
        low, high = table.bands()
        assert (low.low, low.high, low.words, low.right) == (0.0, 0.1, 1, 0.0)
        assert low.probability == pytest.approx(0.05)
        assert (high.low, high.high, high.words) == (0.6, 0.7, 3)
        assert high.probability == pytest.approx((0.62 + 0.68 + 0.66) / 3)
        assert high.right == pytest.approx(2 / 3)

    def test_of_another_number(self):
        table = calibration([0.1, 0.4, 0.6, 0.9], [True] * 4)
        assert [(band.low, band.high, band.words) for band in table.bands(2)] == [(0, 0.5, 2), (0.5, 1, 2)]
        assert [band.words for band in table.bands(1)] == [4]
        assert [band.words for band in table.bands(1000)] == [1] * 4

    def test_those_without_predictions_are_left_out(self):
        assert [band.low for band in calibration([0.95, 0.35], [True, False]).bands()] == [0.3, 0.9]

    def test_certainty_falls_into_the_last(self):
        """So does what rounding has put above 1."""
        table = Calibration()
        table.add([1, 1], np.array([0.0, 1e-7]), [1, 2])
        (band,) = table.bands()
        assert (band.low, band.high, band.words, band.right) == (0.9, 1.0, 2, 0.5)
        assert band.probability == pytest.approx(1)

    def test_impossibility_falls_into_the_first(self):
        (band,) = calibration([0.0], [False]).bands()
        assert (band.low, band.words, band.probability, band.right) == (0, 1, 0, 0)

    def test_a_bound_belongs_to_the_band_above_it(self):
        assert [band.low for band in calibration([0.5, 0.25], [True, True]).bands(4)] == [0.25, 0.5]

    def test_several_calls_are_gathered(self):
        whole, parts = calibration([0.2, 0.7, 0.75], [True, False, True]), Calibration()
        for best, probability, word in ((1, 0.2, 1), (1, 0.7, 2), (1, 0.75, 1)):
            parts.add([best], np.log([probability]), [word])
        assert parts.bands() == whole.bands()
        assert parts.error() == whole.error()

    def test_single_precision_will_do(self):
        table = Calibration()
        table.add(np.array([4, 5]), np.log(np.array([0.3, 0.8], np.float32)), np.array([4, 4]))
        assert [(band.words, band.right) for band in table.bands()] == [(1, 1), (1, 0)]


class TestError:
    def test_by_hand(self):
        """Bands 0.6 to 0.7 and 0 to 0.1, weighted by their words."""
        table = calibration([0.62, 0.68, 0.05, 0.66], [True, False, False, True])
        assert table.error() == pytest.approx((3 * abs(1.96 / 3 - 2 / 3) + 1 * 0.05) / 4)

    def test_gaps_of_one_band_cancel_and_those_of_two_do_not(self):
        probabilities, right = [0.25, 0.75], [True, False]
        assert calibration(probabilities, right).error(1) == pytest.approx(0)
        assert calibration(probabilities, right).error(2) == pytest.approx(0.75)

    def test_extremes(self):
        assert calibration([1.0, 1.0], [True, True]).error() == 0
        assert calibration([1.0, 1.0], [False, False]).error() == 1
        assert calibration([0.0], [True]).error() == 1

    def test_of_nothing_is_nothing(self):
        table = Calibration()
        assert table.bands() == []
        assert table.error() == 0
        table.add([], [], [])
        assert table.bands() == []
        assert table.error() == 0

    def test_of_honest_probabilities_is_near_zero(self):
        random = np.random.default_rng(0)
        probabilities = random.uniform(size=100_000)
        honest = calibration(probabilities, random.uniform(size=100_000) < probabilities)
        assert honest.error() < 0.01
        assert [band.words for band in honest.bands()] == pytest.approx([10_000] * 10, rel=0.05)

    def test_of_confidence_beyond_what_is_right_is_the_excess(self):
        random = np.random.default_rng(0)
        probabilities = random.uniform(0.5, 1, size=100_000)
        overconfident = calibration(probabilities, random.uniform(size=100_000) < probabilities - 0.2)
        assert overconfident.error() == pytest.approx(0.2, abs=0.01)
        assert all(band.probability > band.right for band in overconfident.bands())

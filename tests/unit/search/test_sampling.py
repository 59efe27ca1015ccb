"""Samples: their frequencies, their log-probabilities and their seeds."""

from collections import Counter

import numpy as np
import pytest
from networks import MIXTURE, network
from scipy.stats import chisquare
from tabular import Table, every_translation

from trellex.search import length_limit, sample, score
from trellex.text.vocabulary import EOS

SOURCES = [np.array([3]), np.array([8, 5])]


def tempered(model, source, found, temperature):
    """The probability with which a translation is drawn."""
    product = 1.0
    for place, word in enumerate([*found.words, EOS]):
        powers = np.exp(model.log_probs(source, found.words[:place])) ** (1 / temperature)
        product *= powers[word] / powers.sum()
    return product


def p_value(counts, expected):
    """Of a chi-squared test, the rare ones taken together."""
    rare = expected <= max(10, expected.min())
    observed = [*counts[~rare], counts[rare].sum()]
    return chisquare(observed, [*expected[~rare], expected[rare].sum()]).pvalue


class TestFrequencies:
    COUNT = 4000

    @pytest.mark.parametrize("temperature", [1.0, 0.5, 2.0])
    def test_of_all_translations(self, temperature):
        model = Table(1, last=3)
        drawn = sample(model, SOURCES, self.COUNT, temperature, seed=0)
        for source, found in zip(SOURCES, drawn, strict=True):
            every = every_translation(model, source, 4)
            probs = np.array([tempered(model, source, one, temperature) for one in every])
            assert probs.sum() == pytest.approx(1)
            counter = Counter(tuple(one.words) for one in found)
            counts = np.array([counter[one.words] for one in every])
            assert counts.sum() == self.COUNT
            assert p_value(counts, self.COUNT * probs) > 0.01
            if temperature != 1:
                untempered = np.exp([sum(one.log_probs) for one in every])
                assert p_value(counts, self.COUNT * untempered) < 1e-6

    def test_copies_of_a_sentence_are_drawn_independently(self):
        model = Table(1, last=3)
        drawn = [sample(model, SOURCES[:1], 2, seed=seed)[0] for seed in range(1000)]
        probs = np.exp([sum(one.log_probs) for one in every_translation(model, SOURCES[0], 4)])
        same = sum(one.words == other.words for one, other in drawn)
        assert same / 1000 == pytest.approx((probs**2).sum(), abs=0.05)

    def test_impossible_words_are_never_drawn(self):
        for seed in range(10):
            (found,) = sample(Table(seed, 6, impossible=0.5), SOURCES[:1], 20, 3.0, seed=seed)
            assert np.isfinite([one.score for one in found]).all()


class TestHypotheses:
    def test_as_many_as_asked_for_the_most_probable_first(self):
        model = Table(0, 5, end=1.0)
        for count in (1, 7):
            for found in sample(model, SOURCES, count, seed=0):
                assert len(found) == count
                assert all(one.score == pytest.approx(one.log_prob) for one in found)
                assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)

    @pytest.mark.parametrize("temperature", [1.0, 0.3, 4.0])
    def test_log_probs_are_those_of_the_model_without_temperature(self, temperature):
        model = Table(0, 5)
        for source, found in zip(SOURCES, sample(model, SOURCES, 20, temperature, seed=0), strict=True):
            scored = score(model, [source] * 20, [np.array(one.words, int) for one in found])
            for one, forced in zip(found, scored, strict=True):
                assert one.words == forced.words
                assert one.log_probs == forced.log_probs[: len(one.log_probs)]

    def test_a_low_temperature_draws_the_best_words(self):
        model = Table(0, 5)
        for source, found in zip(SOURCES, sample(model, SOURCES, 10, 1e-4, seed=0), strict=True):
            for one in found:
                words = [*one.words, EOS][: len(one.log_probs)]
                best = [model.log_probs(source, one.words[:place]).argmax() for place in range(len(words))]
                assert words == best

    def test_runaways_are_cut_at_the_limit_of_their_own_source(self):
        for source, found in zip(SOURCES, sample(Table(0, end=-100.0), SOURCES, 3, seed=0), strict=True):
            assert [len(one.words) for one in found] == [length_limit(len(source))] * 3
            assert [len(one.log_probs) for one in found] == [length_limit(len(source))] * 3
            assert not any(one.is_finished for one in found)

    def test_those_cut_off_come_last(self):
        (found,) = sample(Table(2, end=-1.5), SOURCES[:1], 60, seed=0)
        are_finished = [one.is_finished for one in found]
        assert are_finished == sorted(are_finished, reverse=True)
        assert 0 < sum(are_finished) < 60

    def test_no_sources(self):
        assert sample(Table(0), [], 5) == []


class TestSeeds:
    def test_the_same_gives_the_same(self):
        model = Table(0, 6)
        assert sample(model, SOURCES, 5, seed=3) == sample(model, SOURCES, 5, seed=3)
        assert sample(model, SOURCES, 5, seed=3) != sample(model, SOURCES, 5, seed=4)
        assert sample(model, SOURCES, 5) != sample(model, SOURCES, 5)

    def test_a_generator_goes_on(self):
        model, random = Table(0, 6), np.random.default_rng(3)
        first = sample(model, SOURCES, 5, seed=random)
        assert first == sample(model, SOURCES, 5, seed=3)
        assert first != sample(model, SOURCES, 5, seed=random)


@pytest.mark.parametrize("head", ["softmax", "binary-ec", MIXTURE], ids=str)
class TestNetworks:
    def test_seeds(self, head):
        model = network(head)
        first = sample(model, SOURCES, 3, 0.8, seed=5)
        assert sample(model, SOURCES, 3, 0.8, seed=5) == first
        assert sample(model, SOURCES, 3, 0.8, seed=6) != first
        assert len({tuple(one.words) for found in first for one in found}) > 3

    @pytest.mark.parametrize("temperature", [1.0, 0.5])
    def test_log_probs_are_those_of_forced_scoring(self, head, temperature):
        model = network(head, 12)
        for source, found in zip(SOURCES, sample(model, SOURCES, 8, temperature, seed=0), strict=True):
            scored = score(model, [source] * 8, [np.array(one.words, int) for one in found])
            for one, forced in zip(found, scored, strict=True):
                np.testing.assert_allclose(one.log_probs, forced.log_probs[: len(one.log_probs)], atol=1e-5)

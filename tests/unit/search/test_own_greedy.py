"""A model that finds greedy translations by itself is let to, unless scores or attention are asked for."""

import numpy as np
import pytest
from tabular import Table

from trellex.search import SearchSettings, greedy, length_limit
from trellex.text.vocabulary import EOS

SOURCES = [np.array([3, 4]), np.array([5])]


class Independent(Table):
    """Says 7 once a source word, then EOS; without the latter after a source of one word."""

    def greedy(self, sources, limits):
        self.limits = limits
        return [np.array([7] * len(source) + [EOS] * (len(source) > 1)) for source in sources]


@pytest.fixture
def model():
    return Independent(0, size=8)


def test_words_and_ends_are_the_models_own(model):
    first, second = greedy(model, SOURCES, scores=False)
    assert (first.words, first.is_finished) == ([7, 7], True)
    assert (second.words, second.is_finished) == ([7], False)
    assert np.isnan([*first.log_probs, first.score]).all()
    assert model.limits == [length_limit(2), length_limit(1)]
    assert model.steps == 0


def test_settings_without_scores_lead_there(model):
    found = SearchSettings().search(model, SOURCES, np.random.default_rng(0), scores=False)
    assert [best.words for (best,) in found] == [[7, 7], [7]]


def test_what_it_cannot_tell_comes_from_the_common_search(model, monkeypatch):
    monkeypatch.setattr(model, "greedy", lambda sources, limits: [None, np.array([7, EOS])])
    first, second = greedy(model, SOURCES, scores=False)
    (expected,) = greedy(Table(0, size=8), SOURCES[:1])
    assert (first.words, first.is_finished) == (expected.words, expected.is_finished)
    assert (second.words, second.is_finished) == ([7], True)


def test_scores_come_from_the_common_search(model):
    with_scores = greedy(model, SOURCES)
    assert with_scores == greedy(Table(0, size=8), SOURCES)
    assert np.isfinite(with_scores[0].log_probs).all()


def test_attention_comes_from_the_common_search(model):
    with pytest.raises(TypeError, match="attention"):  # asked of `start`, which knows none here
        greedy(model, SOURCES, scores=False, attention=True)

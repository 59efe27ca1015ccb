"""Every way of searching gives each hypothesis the attention that its own words had."""

import numpy as np
import pytest
from tabular import Prefixes, Table

from trellex.search import beam, greedy, sample, score

SOURCES = [np.array(source) for source in ([3, 4, 5], [6], [3, 4, 5, 7, 8], [4, 3])]
WAYS = {
    "greedy": lambda model, **asked: [[best] for best in greedy(model, SOURCES, **asked)],
    "greedy without scores": lambda model, **asked: [[best] for best in greedy(model, SOURCES, scores=False, **asked)],
    "beam": lambda model, **asked: beam(model, SOURCES, 4, 3, **asked),
    "samples": lambda model, **asked: sample(model, SOURCES, 5, seed=1, **asked),
    "scoring": lambda model, **asked: [
        [each] for each in score(model, SOURCES, [np.array(x, int) for x in ([3], [], [1, 3, 3], [3, 1])], **asked)
    ],
}


def shares(source, words, width):
    """A row that no other source and beginning has, with something on padding that must not come out. [width]"""
    row = np.random.default_rng([len(words), *source, *words]).dirichlet(np.ones(len(source)))
    return np.pad(row, (0, width - len(source)), constant_values=9)


class AttendingPrefixes(Prefixes):
    def select(self, rows):
        return AttendingPrefixes(super().select(rows).rows)

    @property
    def attention(self):
        width = max(len(source) for source, _ in self.rows)
        return np.array([shares(source, words, width) for source, words in self.rows])


class Attending(Table):
    """A table whose states have attention if that was asked for, and refuse to tell it if not."""

    def start(self, sources, attention=False):
        state = super().start(sources)
        return AttendingPrefixes(state.rows) if attention else state

    def step(self, state, words):
        return type(state)(super().step(state, words).rows)


@pytest.fixture
def model():
    return Attending(3, size=5, end=-0.5)


@pytest.mark.parametrize("way", WAYS)
def test_each_word_has_the_row_of_its_own_beginning(model, way):
    found = WAYS[way](model, attention=True)
    assert max(len(each.words) for best in found for each in best) > 1
    for source, best in zip(SOURCES, found, strict=True):
        for each in best:
            beginnings = [each.words[:length] for length in range(len(each.log_probs))]
            expected = [shares(source, beginning, len(source)) for beginning in beginnings]
            np.testing.assert_array_equal(each.attention, expected)
            np.testing.assert_allclose(each.attention.sum(1), 1)


@pytest.mark.parametrize("way", WAYS)
def test_words_and_scores_are_those_without(model, way):
    with_attention, without = WAYS[way](model, attention=True), WAYS[way](model)
    for ours, theirs in zip(with_attention, without, strict=True):
        for one, two in zip(ours, theirs, strict=True):
            assert one.words == two.words
            np.testing.assert_array_equal(one.log_probs, two.log_probs)
            assert two.attention is None

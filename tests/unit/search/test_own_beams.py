"""A model that chooses by itself what beams go on with is let to, unless attention is asked for."""

import numpy as np
import pytest
from tabular import Found, Table, as_found

from trellex.search import SearchSettings, beam, length_limit
from trellex.text.vocabulary import EOS

SOURCES = [np.array([3, 4]), np.array([5]), np.array([4, 4, 3]), np.array([3])]


class Independent(Table):
    """Keeps the open hypotheses of every sentence by itself, in plain Python.

    left: sentences that it leaves to the common search
    """

    left = ()

    def beams(self, sources, limits, width, search):
        self.asked, self.told = (limits, width), 0
        beginnings, room = [[Found((), ())] for _ in sources], [width] * len(sources)

        def following(sentences):
            self.told += 1
            parent, word = np.full((2, len(sentences), width), -1)
            log_prob = np.full((len(sentences), width), -np.inf)
            for place, sentence in enumerate(sentences):
                every = [
                    (sum(begun.log_probs) + own, -number, -following, own)
                    for number, begun in enumerate(beginnings[sentence])
                    for following, own in enumerate(self.log_probs(sources[sentence], begun.words))
                ]
                kept = sorted(every, reverse=True)[: room[sentence]]
                after = []
                for slot, (_, number, following, own) in enumerate(kept):
                    parent[place, slot], word[place, slot], log_prob[place, slot] = -number, -following, own
                    begun = beginnings[sentence][-number]
                    if -following != EOS:
                        after.append(Found((*begun.words, -following), (*begun.log_probs, float(own))))
                room[sentence] -= len(kept) - len(after)
                beginnings[sentence] = after
            return parent, word, log_prob

        found = search(range(len(sources)), following)
        return [None if place in self.left else each for place, each in enumerate(found)]


@pytest.mark.parametrize("width", [1, 3, 9])
@pytest.mark.parametrize("seed", range(10))
def test_what_it_chooses_is_what_the_common_search_finds(seed, width):
    options = {"nbest": max(1, width - 2), "length_penalty": seed % 3 / 2}
    model, expected = Independent(seed, size=5), beam(Table(seed, size=5), SOURCES, width, **options)
    assert list(map(as_found, beam(model, SOURCES, width, **options))) == list(map(as_found, expected))
    assert model.asked == ([length_limit(len(source)) for source in SOURCES], width)
    assert model.told > 0 == model.steps


def test_settings_lead_there():
    model = Independent(0)
    found = SearchSettings(beam=3, nbest=2).search(model, SOURCES, np.random.default_rng(0), scores=False)
    assert found == beam(Table(0), SOURCES, 3, 2)
    assert model.steps == 0


def test_what_it_cannot_tell_comes_from_the_common_search(monkeypatch):
    monkeypatch.setattr(Independent, "left", (0, 2))
    model, same = Independent(1), Table(1)
    assert beam(model, SOURCES, 3) == beam(same, SOURCES, 3)
    assert model.steps > 0
    assert model.rows_read < same.rows_read


def test_attention_comes_from_the_common_search():
    model = Independent(0)
    with pytest.raises(TypeError, match="attention"):  # asked of `start`, which knows none here
        beam(model, SOURCES, 2, attention=True)


def test_no_word_can_follow(monkeypatch):
    model = Independent(0)
    monkeypatch.setattr(model, "log_probs", lambda *_: [])
    with pytest.raises(ValueError, match="no word can follow"):
        beam(model, SOURCES, 2)

"""A timed model says what the model says, and counts every part of it."""

import numpy as np
import pytest

from trellex.search import SearchSettings
from trellex.search import stopwatch as module
from trellex.search.stopwatch import TimedModel


@pytest.mark.parametrize("settings", [SearchSettings(), SearchSettings(beam=3), SearchSettings(sample=True)])
@pytest.mark.parametrize("kind", [0, 1], ids=["torch", "exported"])
@pytest.mark.parametrize("attention", [False, True])
def test_it_finds_the_same(both, sources, settings, kind, attention):
    model = both("binary-ec")[kind].model
    timed = TimedModel(model)
    with timed.inference():
        found, expected = (
            settings.search(each, sources, np.random.default_rng(1), attention=attention) for each in (timed, model)
        )
    assert [[each.words for each in best] for best in found] == [[each.words for each in best] for best in expected]
    assert all(spent > 0 for spent in timed.seconds.values())


def test_every_call_counts_for_its_part(both, sources, monkeypatch):
    ticks = iter(range(1000))
    monkeypatch.setattr(module, "perf_counter", lambda: next(ticks))
    timed = TimedModel(both("binary-ec")[1].model)
    state = timed.start(sources)
    state = timed.step(state, timed.best(state))
    timed.log_prob(state, timed.topk(state, 2)[0][:, 0])
    timed.sample(state, 1.0, np.random.default_rng(1))
    assert timed.seconds == {"encoder": 1, "decoder": 2, "output layer": 4}

"""Models are timed in turns, so that no one of them meets a slower machine than the others."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from trellex.experiment import timing


@pytest.fixture
def clock(monkeypatch):
    """A clock that a search moves on: by the milliseconds of its model and sentence, and tenfold in its first round."""
    clock = SimpleNamespace(seconds=0.0, searches=[])

    def search(model, sources, scores):
        [source] = sources
        clock.searches.append((model.name, source))
        is_first_round = len(clock.searches) <= 3 * (timing.WARM_UP_SENTENCES + 4)
        clock.seconds += model.milliseconds * source / 1000 * (10 if is_first_round else 1)

    monkeypatch.setattr(timing, "greedy", search)
    monkeypatch.setattr(timing, "perf_counter", lambda: clock.seconds)
    return clock


def test_each_round_has_every_model_and_medians_are_taken_over_rounds(clock):
    models = [
        SimpleNamespace(name=name, milliseconds=milliseconds, inference=nullcontext)
        for name, milliseconds in (("a", 1), ("b", 2), ("c", 4))
    ]
    sentences = [1, 2, 3, 6]
    assert timing.time_in_turns(models, sentences) == pytest.approx([3, 6, 12])
    a_round = 3 * (timing.WARM_UP_SENTENCES + len(sentences))
    names = [name for name, _ in clock.searches]
    rounds = [names[start : start + a_round] for start in range(0, len(names), a_round)]
    assert len(rounds) == timing.ROUNDS
    assert all(set(each) == {"a", "b", "c"} for each in rounds)
    assert len({tuple(each) for each in rounds}) > 1  # in changing order


def test_exports_are_removed_even_if_it_is_interrupted(monkeypatch, tmp_path):
    def interrupt(models, sources):
        assert [path.name for path in tmp_path.iterdir()] == ["timing"]
        assert not any((tmp_path / "timing").iterdir())
        raise KeyboardInterrupt

    monkeypatch.setattr(timing, "time_in_turns", interrupt)
    (tmp_path / "timing" / "0").mkdir(parents=True)  # of a process that was killed
    with pytest.raises(KeyboardInterrupt):
        timing._time_exported([], [], tmp_path)
    assert not any(tmp_path.iterdir())

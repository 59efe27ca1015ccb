"""Models are timed in turns, so that no one of them meets a slower machine than the others."""

from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from trellex.experiment import timing
from trellex.search import Hypothesis


@pytest.fixture
def clock(monkeypatch):
    """A clock that a search moves on: by the milliseconds of its model and sentence, and tenfold in its first round."""
    clock = SimpleNamespace(seconds=0.0, searches=[])

    def search(model, sources, scores):
        """Writes as many words as its sentence says."""
        [source] = sources
        clock.searches.append((model.name, source))
        is_first_round = len(clock.searches) <= 3 * (timing.WARM_UP_SENTENCES + 4)
        clock.seconds += model.milliseconds * source / 1000 * (10 if is_first_round else 1)
        return [Hypothesis([7] * source, [0.0] * (source + 1), 0.0)]

    monkeypatch.setattr(timing, "greedy", search)
    monkeypatch.setattr(timing, "perf_counter", lambda: clock.seconds)
    return clock


def test_each_round_has_every_model_and_medians_are_taken_over_rounds(clock):
    models = [
        SimpleNamespace(name=name, milliseconds=milliseconds, inference=nullcontext)
        for name, milliseconds in (("a", 1), ("b", 2), ("c", 4))
    ]
    sentences = [1, 2, 3, 6]
    assert timing.time_in_turns(models, [sentences] * 3) == pytest.approx([3, 6, 12])
    a_round = 3 * (timing.WARM_UP_SENTENCES + len(sentences))
    names = [name for name, _ in clock.searches]
    rounds = [names[start : start + a_round] for start in range(0, len(names), a_round)]
    assert len(rounds) == timing.ROUNDS
    assert all(set(each) == {"a", "b", "c"} for each in rounds)
    assert len({tuple(each) for each in rounds}) > 1  # in changing order


def test_each_model_translates_its_own_sentences(clock):
    """Those of words and of pieces are cut otherwise."""
    models = [SimpleNamespace(name=name, milliseconds=1, inference=nullcontext) for name in "abc"]
    assert timing.time_in_turns(models, [[1, 1, 1, 1], [2, 2, 2, 2], [5, 5, 5, 5]]) == pytest.approx([1, 2, 5])
    assert set(clock.searches) == {("a", 1), ("b", 2), ("c", 5)}


def test_paces_of_those_with_a_shortlist_too(clock, monkeypatch, tmp_path):
    """All in the same turns, each with the sentences of its job, and with their words counted, EOS included."""

    def load(path, threads, by_rows=False):
        milliseconds = path * (10 if by_rows else 1)
        return SimpleNamespace(
            model=SimpleNamespace(name=f"{path}{by_rows}", milliseconds=milliseconds, inference=nullcontext)
        )

    monkeypatch.setattr(timing, "load_export", load)
    monkeypatch.setattr(timing, "ListedModel", lambda loaded, shortlist: loaded.model)
    monkeypatch.setattr(timing, "shortlist_of", lambda job: None)
    monkeypatch.setattr(timing, "_size", lambda path: 100 * path)
    monkeypatch.setattr(timing, "shortlist_file", lambda job: tmp_path / job.name)
    (tmp_path / "b").write_bytes(b"a list!")
    jobs = [SimpleNamespace(name="a", shortlist=False), SimpleNamespace(name="b", shortlist=True)]
    int8, listed = timing._paces(jobs, [1, 2], [[1, 2, 3, 6], [2, 2, 4, 4]], with_lists=True)
    assert [pace.steps for pace in int8] == [4, 4]
    assert [pace.sentence for pace in int8] == pytest.approx([3, 6])
    assert [pace.bytes for pace in int8] == [100, 200]
    assert {name: pace.model_dump() for name, pace in listed.items()} == {
        "b": {"sentence": pytest.approx(60), "steps": 4, "bytes": 207}
    }
    timed = clock.searches[3 * 4 :]  # after words were counted
    a_round = len(timed) // timing.ROUNDS
    for start in range(0, len(timed), a_round):
        assert {name for name, _ in timed[start : start + a_round]} == {"1False", "2False", "2True"}


def test_exports_are_removed_even_if_it_is_interrupted(tmp_path):
    def interrupt():
        assert [path.name for path in tmp_path.iterdir()] == ["timing"]
        assert not any((tmp_path / "timing").iterdir())
        raise KeyboardInterrupt

    (tmp_path / "timing" / "0").mkdir(parents=True)  # of a process that was killed
    with pytest.raises(KeyboardInterrupt), timing.exported([], "int8", tmp_path):
        interrupt()
    assert not any(tmp_path.iterdir())

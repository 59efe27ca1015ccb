"""A corpus has one shortlist in a grid, whichever cell needs it first; it is scored and timed with its softmax."""

from threading import Event, Thread
from types import SimpleNamespace

import numpy as np
import pytest

from trellex.experiment import shortlists
from trellex.experiment.grid import Grid
from trellex.experiment.shortlists import shortlist_of
from trellex.shortlist.shortlist import Shortlist


@pytest.fixture
def jobs(write_grid, corpora):
    """Two softmax cells of either direction."""
    data = [str(corpora["en-ja"]), str(corpora["ja-en"])]
    return Grid.load(write_grid({"heads": ["softmax", {"type": "softmax", "tied": True}], "data": data})).jobs()


@pytest.fixture
def learned(monkeypatch):
    """Counts what is learned, and may wait or fail meanwhile."""
    learned = SimpleNamespace(count=0, meanwhile=lambda: None)

    def learn(corpus):
        learned.count += 1
        learned.meanwhile()
        return real(corpus)

    real = Shortlist.learn
    monkeypatch.setattr(shortlists.Shortlist, "learn", learn)
    return learned


def files(job):
    return sorted(path.name for path in (job.run.parent / "shortlists").iterdir())


def test_cells_of_a_corpus_share_it(jobs, learned):
    one, two, other, _ = jobs
    found = [shortlist_of(job) for job in (one, two, other)]
    assert learned.count == 2
    assert files(one) == sorted(["lock", f"{one.corpus}.shortlist", f"{other.corpus}.shortlist"])
    sentence = np.arange(4)
    expected = Shortlist.learn(shortlists.Corpus.open(one.recipe.data)).words_for(sentence).tolist()
    assert found[0].words_for(sentence).tolist() == found[1].words_for(sentence).tolist() == expected


def test_others_wait_for_the_first(jobs, learned):
    begun, may_end, found = Event(), Event(), []
    learned.meanwhile = lambda: (begun.set(), may_end.wait(60))
    threads = [Thread(target=lambda job=job: found.append(shortlist_of(job))) for job in jobs[:2]]
    threads[0].start()
    assert begun.wait(60)
    threads[1].start()
    threads[1].join(0.2)
    assert not found
    may_end.set()
    for thread in threads:
        thread.join(60)
    assert (len(found), learned.count) == (2, 1)


def test_nothing_is_left_of_one_that_fails(jobs, learned):
    learned.meanwhile = lambda: 1 / 0
    with pytest.raises(ZeroDivisionError):
        shortlist_of(jobs[0])
    assert files(jobs[0]) == ["lock"]
    learned.meanwhile = lambda: None
    shortlist_of(jobs[0])
    assert learned.count == 2

"""Items computed ahead: their order, their errors, and that no thread outlives its consumer."""

import gc
import threading
import traceback
from contextlib import closing
from itertools import count, islice

import pytest

from trellex.training.ahead import ahead

PATIENCE = 30  # seconds after which a thread hangs


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("ahead")]


class Source:
    """Counts for ever, and tells how far it was asked to."""

    def __init__(self):
        self.given, self.threads = 0, set()
        self._news = threading.Condition()

    def __iter__(self):
        return self

    def __next__(self):
        with self._news:
            self.given += 1
            self.threads.add(threading.current_thread())
            self._news.notify()
            return self.given - 1

    def wait_for(self, given):
        with self._news:
            assert self._news.wait_for(lambda: self.given >= given, PATIENCE)


@pytest.mark.parametrize("length", [0, 1, 2, 3, 100])
@pytest.mark.parametrize("most", [1, 2, 4])
def test_order_is_kept(length, most):
    assert list(ahead(range(length), most)) == list(range(length))
    assert threads() == []


def test_items_may_be_false():
    assert list(ahead([None, 0, [], False], 2)) == [None, 0, [], False]


def test_items_are_computed_before_they_are_asked_for_but_not_too_many():
    source = Source()
    with closing(ahead(source, 3)) as items:
        for asked in range(1, 20):
            assert next(items) == asked - 1
            source.wait_for(asked + 3)
            assert source.given == asked + 3
    assert len(source.threads) == 1
    assert threading.current_thread() not in source.threads


def test_an_error_comes_in_its_place_with_its_traceback():
    def two():
        yield 0
        yield 1
        raise LookupError("no third one")

    items = ahead(two(), 4)
    assert [next(items), next(items)] == [0, 1]
    with pytest.raises(LookupError, match="no third one") as caught:
        next(items)
    assert "two" in [frame.name for frame in traceback.extract_tb(caught.tb)]
    assert threads() == []
    assert list(items) == []


@pytest.mark.parametrize("most", [1, 4])
def test_closed_while_the_thread_has_nothing_to_do(most):
    source = Source()
    with closing(ahead(source, most)) as items:
        next(items)
        source.wait_for(most + 1)
        assert len(threads()) == 1
    assert threads() == []
    assert source.given == most + 1


def test_closed_while_an_item_is_computed():
    begun, may_end, given = threading.Event(), threading.Event(), []

    def slow():
        for number in count():
            if number:
                begun.set()
                assert may_end.wait(PATIENCE)
            given.append(number)
            yield number

    items = ahead(slow(), 4)
    next(items)
    assert begun.wait(PATIENCE)
    threading.Timer(0.05, may_end.set).start()
    items.close()
    assert threads() == []
    assert given == [0, 1]  # those that had not begun never do


def test_closed_before_it_began():
    source = Source()
    ahead(source, 4).close()
    assert (source.given, threads()) == (0, [])


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_error_of_the_consumer_ends_the_thread(error):
    def consume():
        with closing(ahead(Source(), 4)) as items:
            for item in items:
                if item == 5:
                    raise error

    with pytest.raises(error) as caught:  # whose traceback holds what was consumed
        consume()
    assert caught.tb
    assert threads() == []


def test_forgotten_by_the_consumer():
    assert list(islice(ahead(Source(), 4), 3)) == [0, 1, 2]
    gc.collect()
    assert threads() == []


def test_none_ahead_is_refused():
    with pytest.raises(ValueError, match=r"count: expected at least 1 item, got 0"):
        next(ahead([1], 0))

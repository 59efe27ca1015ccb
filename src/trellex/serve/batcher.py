"""The batcher: what waits, of whatever requests, is translated side by side by a few threads."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

from trellex.search import SearchSettings
from trellex.text.languages import UNSPACED
from trellex.translator import Translation, Translator

JOIN_SECONDS = 10.0  # that a thread gets to end the batch it is at

Result = TypeVar("Result")


class Pair(NamedTuple):
    """A source and a target language."""

    source: str
    target: str


class FullError(Exception):
    """There is no room for more sentences to wait."""


class Wish(NamedTuple):
    """What sentences must have in common to be translated side by side."""

    pair: Pair
    settings: SearchSettings
    scores: bool = False
    attention: bool = False
    replace_unknown: bool = False


@dataclass(eq=False)
class _Work:
    """What one request wants, item by item, and what became of it so far."""

    key: Hashable  # items of equal keys are done together
    pair: Pair
    items: Sequence[Any]
    weights: Sequence[int]
    do: Callable[[Translator, Sequence[Any]], Sequence[Any]]
    future: asyncio.Future[list[Any]]
    taken: int = 0  # items that are being done, or are done
    is_dropped: bool = False
    results: dict[int, Any] = field(default_factory=dict)  # by the place of their item

    @property
    def waiting(self) -> int:
        return len(self.items) - self.taken


class Batcher:
    """Threads that take what waits, a batch at a time; `start` and `close` are called with an event loop running.

    Args:
        workers: for every thread its own translators, for tokenisers may not be shared
        batch_tokens: the most source words of a batch, times the beam, unless a single sentence has more
        max_waiting: the most sentences that may wait
        observe: told the number of sentences of every batch, in the thread that translates it
    """

    def __init__(
        self,
        workers: Sequence[Mapping[Pair, Translator]],
        batch_tokens: int,
        max_waiting: int,
        observe: Callable[[int], None] = lambda size: None,
    ) -> None:
        self._workers, self._batch_tokens, self._max_waiting, self._observe = (
            workers,
            batch_tokens,
            max_waiting,
            observe,
        )
        self._waiting: deque[_Work] = deque()
        self._threads: list[threading.Thread] = []
        self._change = threading.Condition()
        self._is_closed = False

    @property
    def pairs(self) -> list[Pair]:
        return list(self._workers[0])

    @property
    def waiting(self) -> int:
        """Sentences that no thread has taken yet."""
        with self._change:
            return sum(work.waiting for work in self._waiting)

    def start(self) -> None:
        self._is_closed = False
        for place, translators in enumerate(self._workers):
            thread = threading.Thread(target=self._run, args=(translators,), name=f"translate-{place}", daemon=True)
            thread.start()
            self._threads.append(thread)

    async def close(self) -> None:
        """Let threads end the batches they are at; what waits is cancelled."""
        with self._change:
            self._is_closed = True
            left, self._waiting = self._waiting, deque()
            self._change.notify_all()
        for work in left:
            work.future.cancel()
        for thread in self._threads:
            await asyncio.to_thread(thread.join, JOIN_SECONDS)
        self._threads.clear()

    async def translate(self, lines: Sequence[str], wish: Wish) -> list[list[Translation] | str]:
        """What `Translator.search` says of each line. Raises FullError; cancelled, it takes back what still waits."""
        is_unspaced = wish.pair.source in UNSPACED
        width = wish.settings.beam
        weights = [width * max(1, len(line) if is_unspaced else len(line.split())) for line in lines]
        return await self._done(wish, wish.pair, lines, weights, partial(_search, wish, self._batch_tokens))

    async def call(self, pair: Pair, function: Callable[[Translator], Result]) -> Result:
        """What a function says of the translator of a pair, called in a thread that nobody else uses meanwhile."""
        [found] = await self.call_each(pair, [function])
        return found

    async def call_each(self, pair: Pair, functions: Sequence[Callable[[Translator], Result]]) -> list[Result]:
        """The same of several functions, each a batch of its own; all of them are let in, or none."""
        weights = [self._batch_tokens] * len(functions)
        return await self._done(object(), pair, functions, weights, _call)

    async def _done(
        self,
        key: Hashable,
        pair: Pair,
        items: Sequence[Any],
        weights: Sequence[int],
        do: Callable[[Translator, Sequence[Any]], Sequence[Any]],
    ) -> list[Any]:
        if not items:
            return []
        work = _Work(key, pair, items, weights, do, asyncio.get_running_loop().create_future())
        with self._change:
            if self._is_closed or sum(each.waiting for each in self._waiting) + len(items) > self._max_waiting:
                raise FullError
            self._waiting.append(work)
            self._change.notify()
        try:
            return await work.future
        finally:
            if not work.future.done() or work.future.cancelled():
                self._drop(work)

    def _drop(self, work: _Work) -> None:
        with self._change:
            work.is_dropped = True
            if work in self._waiting:
                self._waiting.remove(work)

    def _run(self, translators: Mapping[Pair, Translator]) -> None:
        """A thread: one batch after the other, until the batcher is closed."""
        while True:
            with self._change:
                while not self._waiting:
                    if self._is_closed:
                        return
                    self._change.wait()
                batch = self._take()
                if self._waiting:
                    self._change.notify()  # another thread goes on with what is left
            first = batch[0][0]
            items = [work.items[place] for work, place in batch]
            self._observe(len(batch))
            for (work, place), result in zip(batch, _each(first.do, translators[first.pair], items), strict=True):
                work.results[place] = result
                if len(work.results) == len(work.items):
                    _settle(work)

    def _take(self) -> list[tuple[_Work, int]]:
        """The next batch. Requests take turns, item by item, so that a small one need not wait for a large one."""
        first = self._waiting[0]
        alike = deque(work for work in self._waiting if work.key == first.key)
        batch: list[tuple[_Work, int]] = []
        room = self._batch_tokens
        while alike:
            work = alike.popleft()
            weight = work.weights[work.taken]
            if batch and weight > room:
                break
            batch.append((work, work.taken))
            room -= weight
            work.taken += 1
            if work.waiting:
                alike.append(work)
        self._waiting = deque(work for work in self._waiting if work.waiting)
        if first.waiting:
            self._waiting.rotate(-1)  # others, of another key, are next
        return batch


def _search(
    wish: Wish, batch_tokens: int, translator: Translator, lines: Sequence[str]
) -> list[list[Translation] | str]:
    _, settings, scores, attention, replace_unknown = wish
    return translator.search(lines, settings, batch_tokens, None, scores, attention, replace_unknown)


def _call(translator: Translator, functions: Sequence[Callable[[Translator], Result]]) -> list[Result]:
    return [function(translator) for function in functions]


def _each(
    do: Callable[[Translator, Sequence[Any]], Sequence[Any]], translator: Translator, items: Sequence[Any]
) -> Sequence[Any]:
    """What becomes of each item, or its error; where all together fail, one that fails alone spoils no other."""
    try:
        return do(translator, items)
    except Exception as error:  # whatever it is, the thread goes on
        if len(items) == 1:
            return [error]
        return [_each(do, translator, [item])[0] for item in items]


def _settle(work: _Work) -> None:
    """Hand the results to the request, in its own thread, if it still waits for them."""
    results = [work.results[place] for place in range(len(work.items))]

    def settle() -> None:
        if work.future.done():
            return
        error = next((result for result in results if isinstance(result, Exception)), None)
        if error is None:
            work.future.set_result(results)
        else:
            work.future.set_exception(error)

    if not work.is_dropped:
        with suppress(RuntimeError):  # the loop has ended, so nobody waits
            work.future.get_loop().call_soon_threadsafe(settle)

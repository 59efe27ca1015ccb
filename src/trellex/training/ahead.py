"""Ahead: the items of an iterator, computed by a thread while their consumer works."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")


def ahead(items: Iterable[Item], count: int) -> Generator[Item, None, None]:
    """The items in their order, up to `count` of them computed before they are asked for.

    What computing one raises is raised where it is asked for. The thread begins with the first item asked for and ends
    with the last one or when this is closed, which waits for the one item that is being computed.
    """
    if count < 1:
        raise ValueError(f"count: expected at least 1 item, got {count}")
    remaining = iter(items)
    thread = ThreadPoolExecutor(1, "ahead")

    def coming() -> Future[list[Item]]:  # a list of one item, or of none at the end
        return thread.submit(list, islice(remaining, 1))

    try:
        waiting = deque(coming() for _ in range(count))
        while found := waiting.popleft().result():
            waiting.append(coming())
            yield from found
    finally:
        thread.shutdown(cancel_futures=True)

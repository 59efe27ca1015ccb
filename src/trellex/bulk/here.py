"""Shards one after the other in this process, beside others that may work on the same folder."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence

from trellex.bulk.job import Job
from trellex.bulk.plan import Plan
from trellex.bulk.shard import Finished, translate_shard

POLL_SECONDS = 0.5


def translate_here(
    job: Job, plan: Plan, numbers: Sequence[int], advance: Callable[[int], None], *, waits: bool = True
) -> Iterator[tuple[int, Finished]]:
    """The records of shards as they are finished. Those that others work on come last, and are waited for.

    Raises BlockingIOError if another process works on one, and it `waits` for none.
    """
    translator = job.load()
    waiting, refused = deque(numbers), 0
    while waiting:
        number = waiting.popleft()
        record = translate_shard(job, plan, number, translator, advance)
        if record is not None:
            refused = 0
            yield number, record
        elif not waits:
            raise BlockingIOError(
                f"{plan.output(job.output, number)}: another process translates this shard; wait for it to end"
            )
        else:
            waiting.append(number)
            refused += 1
        if refused and refused >= len(waiting):
            time.sleep(POLL_SECONDS)

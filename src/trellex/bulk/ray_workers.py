"""Shards by the workers of a Ray cluster, each with a model of its own; what a lost one was doing is done by another.

Actors of Ray, not Ray Data: a shard is read, translated and written by one worker, so that files and records are the
same as without Ray, and nothing but its number travels.
"""

from __future__ import annotations

import logging
import os
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # before it is imported, for then it asks

import ray
from ray.exceptions import RayError, RayTaskError

from trellex.bulk.job import Job
from trellex.bulk.plan import Plan, open_plan
from trellex.bulk.shard import Finished, translate_shard
from trellex.signals import ENDING, heeded
from trellex.temporaries import sweep
from trellex.translator import Translator

TRIES = 4  # of a shard whose worker is lost each time
POLL_SECONDS, PATIENCE = 1.0, 30.0  # between looks; until a cluster without free room is told of


class Worker:
    """What runs in a process of the cluster.

    job: as JSON; paths must lead to the same files on all machines
    """

    def __init__(self, job: str) -> None:
        self.job = Job.model_validate_json(job)
        self.plan: Plan | None = None
        self.translator: Translator | None = None

    def load(self) -> None:
        """The model, once for all shards."""
        self.plan = open_plan(self.job, None, lambda: None, lambda: None)
        self.translator = self.job.load()

    def translate(self, number: int) -> str | None:
        """The record of a shard as JSON, or None if another process works on it."""
        assert self.plan is not None
        assert self.translator is not None
        record = translate_shard(self.job, self.plan, number, self.translator, lambda rows: None)
        return None if record is None else record.model_dump_json()


class Crew:
    """The workers, and what each is doing: it loads the model, or translates a shard.

    Args:
        job: what all of them do
        size: how many there are to be; fewer if the cluster has no room
    """

    def __init__(self, job: Job, size: int) -> None:
        needs = {"num_gpus": 1} if job.device == "cuda" else {}
        self._kind = ray.remote(num_cpus=job.threads or 1, max_restarts=0, **needs)(Worker)
        self._job = job.model_dump_json()
        self.size = size
        self.doing: dict[Any, tuple[Any, int | None]] = {}  # by what will be ready: a worker, and its shard
        self.free: deque[Any] = deque()

    def fill(self, wanted: int) -> None:
        """Start workers until there are as many as wanted, in the place of those that were lost."""
        while len(self.doing) + len(self.free) < min(self.size, wanted):
            worker = self._kind.remote(self._job)
            self.doing[worker.load.remote()] = worker, None

    def give(self, number: int) -> None:
        """Let a free worker translate a shard."""
        worker = self.free.popleft()
        self.doing[worker.translate.remote(number)] = worker, number

    def ended(self) -> Iterator[tuple[int | None, str | None, RayError | None]]:
        """What has ended by now: the shard, or None of loading; its record; or how the worker was lost.

        Raises the error of a worker that tells of one.
        """
        ready, _ = ray.wait(list(self.doing), num_returns=len(self.doing), timeout=0)
        if not ready:
            ready, _ = ray.wait(list(self.doing), timeout=POLL_SECONDS)
        for reference in ready:
            worker, number = self.doing.pop(reference)
            try:
                record = ray.get(reference)
            except RayTaskError as error:
                raise _told(error) from error
            except RayError as error:
                ray.kill(worker)
                yield number, None, error
            else:
                self.free.append(worker)
                yield number, record, None


def translate_by_ray(
    job: Job,
    plan: Plan,
    numbers: Sequence[int],
    tell: Callable[[str], None],
    address: str | None = None,
    workers: int | None = None,
) -> Iterator[tuple[int, Finished]]:
    """The records of shards as workers finish them.

    Args:
        job: with absolute paths
        plan: of the output folder
        numbers: the shards
        tell: takes a line for the user
        address: of a cluster that is there, or "auto"; unless given, or set as RAY_ADDRESS, one is started and ended here
        workers: how many; unless given, as many as the cluster has cores, or GPUs, for
    """
    waiting, lost = deque(numbers), Counter[int | None]()
    with _swept(job), _cluster(address):
        crew, left, idle = Crew(job, workers or _room(job)), len(numbers), 0.0
        while left:
            crew.fill(left)
            while waiting and crew.free:
                crew.give(waiting.popleft())
            if not any(number is not None for _, number in crew.doing.values()):
                idle += POLL_SECONDS
                if idle == PATIENCE:
                    tell("the cluster has no room for a worker yet; waiting for some")
            for number, record, loss in crew.ended():
                idle = 0.0
                if loss is not None:
                    lost[number] += 1
                    what = "while it loaded the model" if number is None else f"with shard {number}"
                    if lost[number] >= TRIES + (crew.size if number is None else 0):
                        raise RuntimeError(f"a worker was lost {what} for the {lost[number]}th time: {_line(loss)}")
                    tell(f"a worker was lost {what}; another one takes its place")
                if number is not None and record is None:
                    waiting.append(number)
                elif number is not None and record is not None:
                    left -= 1
                    yield number, Finished.model_validate_json(record)


@contextmanager
def _swept(job: Job) -> Iterator[None]:
    """Remove what workers that were ended have left of shards."""
    try:
        yield
    finally:
        sweep(job.output)


@contextmanager
def _cluster(address: str | None) -> Iterator[None]:
    """A connection to a cluster; signals stay with who has them."""
    before = {number: signal.getsignal(number) for number in heeded(*ENDING)}
    address = address or os.environ.get("RAY_ADDRESS", "local")  # else it takes any that it finds
    own = {"include_dashboard": False} if address == "local" else {}
    ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **own)
    for number, handler in before.items():
        signal.signal(number, handler)
    try:
        yield
    finally:
        with suppress(Exception):
            ray.shutdown()


def _room(job: Job) -> int:
    """How many workers the cluster has room for."""
    have = ray.cluster_resources()
    cores = have.get("CPU", 1) // (job.threads or 1)
    return max(1, int(min(cores, have.get("GPU", 0)) if job.device == "cuda" else cores))


def _told(error: RayTaskError) -> Exception:
    """What a worker said, as it would have been said here."""
    cause = error.cause
    if isinstance(cause, ValueError | OSError):
        return cause
    return ValueError(f"a worker failed ({_line(cause)}); is the same version of trellex on all machines?")


def _line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__

"""Shards by the workers of a Ray cluster, each with a model of its own; what one fails at is tried again, by any.

Actors of Ray, not Ray Data: a shard is read, translated and written by one worker, so that files and records are the
same as without Ray, and nothing but its number travels.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # before it is imported, for then it asks

import ray
from pydantic import ValidationError
from ray.exceptions import RayActorError, RayError, RayTaskError

from trellex.bulk.job import Job
from trellex.bulk.plan import Plan, open_plan
from trellex.bulk.shard import Finished, translate_shard
from trellex.files import FullDiskError
from trellex.signals import ENDING, heeded
from trellex.temporaries import sweep
from trellex.translator import Translator

TRIES, LOADS = 4, 100  # of a shard that fails each time; of workers to load the model
LASTING = ValueError, PermissionError, FileNotFoundError, FullDiskError  # errors that another try would meet, too
POLL_SECONDS, PATIENCE = 1.0, 30.0  # between looks; until a cluster without free room is told of
REACHED_SECONDS = 10.0  # in which a cluster must answer


class Worker:
    """What runs in a process of the cluster.

    job: as JSON
    """

    def __init__(self, job: str) -> None:
        self.text = job
        self.job: Job | None = None
        self.plan: Plan | None = None
        self.translator: Translator | None = None

    def load(self) -> None:
        """The model, once for all shards."""
        try:
            self.job = Job.model_validate_json(self.text)
        except ValidationError as error:
            raise RuntimeError(f"it knows no such job, {error.error_count()} of whose fields differ") from error
        self.plan = open_plan(self.job, None, lambda: None, lambda: None)
        self.translator = self.job.load()

    def translate(self, number: int) -> str | None:
        """The record of a shard as JSON, or None if another process works on it."""
        assert self.job is not None
        assert self.plan is not None
        assert self.translator is not None
        record = translate_shard(self.job, self.plan, number, self.translator, lambda rows: None)
        if record is None:
            time.sleep(POLL_SECONDS)  # it may have ended when it is asked for again
        return None if record is None else record.model_dump_json()


class Crew:
    """The workers, and what each is doing: it loads the model, or translates a shard.

    Args:
        job: what all of them do
        size: how many there are to be; fewer if the cluster has no room
    """

    def __init__(self, job: Job, size: int) -> None:
        needs = {"num_gpus": 1} if job.device == "cuda" else {}
        self._kind = ray.remote(num_cpus=job.threads, max_restarts=0, **needs)(Worker)
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

    def dismiss_free(self) -> None:
        """End workers that have nothing to do. If one of the others is lost, a new one comes: these might be, too."""
        while self.free:
            ray.kill(self.free.popleft())

    def is_translating(self) -> bool:
        return any(number is not None for _, number in self.doing.values())

    def ended(self) -> Iterator[tuple[int | None, str | None, RayError | None]]:
        """What has ended by now: the shard, or None of loading; its record; or how that failed.

        Raises the error of a worker where another try would fail, too.
        """
        ready, _ = ray.wait(list(self.doing), num_returns=len(self.doing), timeout=0)
        if not ready:
            ready, _ = ray.wait(list(self.doing), timeout=POLL_SECONDS)
        for reference in ready:
            worker, number = self.doing.pop(reference)
            try:
                record = ray.get(reference)
            except RayTaskError as error:
                if number is None or isinstance(error.cause, LASTING):
                    raise _told(error.cause) from error
                self.free.append(worker)
                yield number, None, error
            except RayError as error:
                if isinstance(error, RayActorError) and error.actor_init_failed:
                    raise _told(error) from error
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
        job: what to do; its paths must lead to the same files on all machines
        plan: of the output folder
        numbers: the shards
        tell: takes a line for the user
        address: of a cluster that is there, or "auto"; unless given, or set as RAY_ADDRESS, one is started here
        workers: how many; unless given, as many as the cluster has cores, or GPUs, for
    """
    paths = {name: getattr(job, name) for name in ("model", "texts", "output")}
    absolute = {name: path.absolute() for name, path in paths.items() if path.exists()}  # a model's name is no path
    job = job.model_copy(update={**absolute, "threads": job.threads or 1})
    waiting, losses = deque(numbers), Losses(tell)
    with _swept(job), _cluster(address):
        crew, left, idle = Crew(job, workers or _room(job)), len(numbers), 0.0
        while left:
            crew.fill(left)
            while waiting and crew.free:
                crew.give(waiting.popleft())
            crew.dismiss_free()
            idle = 0.0 if crew.is_translating() else idle + POLL_SECONDS
            if idle == PATIENCE:
                tell("no worker of the cluster has its model yet; waiting for one, or for room for one")
            for number, record, loss in crew.ended():
                losses.note(number, loss)
                if number is not None and record is None:
                    waiting.append(number)
                elif number is not None and record is not None:
                    left -= 1
                    yield number, Finished.model_validate_json(record)


class Losses:
    """How often workers failed, for what ends each of them must end the command, too."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.tell = tell
        self.counts = Counter[int | None]()  # by shard; None: while the model was loaded, since that last worked

    def note(self, number: int | None, loss: RayError | None) -> None:
        """Raises what a shard met once too often; OSError if that is a lost worker, or none of many loads the model."""
        if loss is None:
            self.counts[number] = 0
            return
        self.counts[number] += 1
        what = "while it loaded the model" if number is None else f"with shard {number}"
        is_last = self.counts[number] == (TRIES if number is not None else LOADS)
        if isinstance(loss, RayTaskError):
            if is_last:
                raise _told(loss.cause) from loss
            self.tell(f"a worker failed {what} ({_line(loss.cause)}); it is tried again")
            return
        if is_last:
            remedy = "look whether it had memory enough, and begin again"
            raise OSError(f"a worker was lost {what}, {self.counts[number]} times now ({_line(loss)}); {remedy}")
        self.tell(f"a worker was lost {what}; another one takes its place")


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
    try:
        _check_reachable(address)
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **own)
    except OSError as error:
        remedy = "start one with `ray start --head`, or leave --ray-address out to have one here"
        raise ConnectionError(f"ray_address: no Ray cluster at {address!r} ({_line(error)}); {remedy}") from error
    for number, handler in before.items():
        signal.signal(number, handler)
    try:
        yield
    finally:
        with suppress(Exception):
            ray.shutdown()


def _check_reachable(address: str) -> None:
    """Raises OSError if nobody listens at HOST:PORT, for which Ray would wait for minutes."""
    host, _, port = address.rpartition(":")
    if host and port.isdecimal() and "/" not in host:
        socket.create_connection((host.strip("[]"), int(port)), REACHED_SECONDS).close()


def _room(job: Job) -> int:
    """How many workers the cluster has room for."""
    have = ray.cluster_resources()
    if job.device == "cuda" and not have.get("GPU"):
        raise ValueError("device: the cluster has no GPU; leave --device out")
    cores = have.get("CPU", 1) // (job.threads or 1)
    return max(1, int(min(cores, have["GPU"]) if job.device == "cuda" else cores))


def _told(cause: Exception) -> Exception:
    """What a worker said, as it would have been said here."""
    if isinstance(cause, ValueError | OSError):
        return cause
    return ValueError(f"a worker failed ({_line(cause)}); is the same version of trellex on all machines?")


def _line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__

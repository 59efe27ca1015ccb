"""Locks: who works on a file or a folder, until that process is gone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # a system that has no such locks: there nothing is held, and nothing is known of others
    fcntl = None  # type: ignore[assignment]

FILE = "lock"  # in a folder that one process at a time works in
_held: set[Lock] = set()


class Lock:
    """A file or a folder that no other process holds.

    Args:
        descriptor: of the open file, whose end is that of the lock; None where the system keeps no locks, and after it
    """

    def __init__(self, descriptor: int | None) -> None:
        self.descriptor = descriptor
        if descriptor is not None:
            _held.add(self)

    @classmethod
    def take(cls, path: Path, wait: bool = False, shared: bool = False) -> Lock | None:
        """That of a file or a folder which is there; None if another process has it.

        Args:
            path: the file or the folder
            wait: until it is free
            shared: with others who share it
        """
        if fcntl is None:
            return cls(None)
        flags = os.O_NOFOLLOW | os.O_NONBLOCK
        try:
            descriptor = os.open(path, os.O_RDWR | flags)  # some file systems lock only what can be written
        except IsADirectoryError:
            descriptor = os.open(path, os.O_RDONLY | flags)
        try:
            fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
        except BaseException as error:
            os.close(descriptor)
            if not isinstance(error, OSError):
                raise
            return None if isinstance(error, BlockingIOError) else cls(None)
        return cls(descriptor)

    @classmethod
    def take_file(cls, path: Path, wait: bool = False) -> Lock | None:
        """The same of an empty file, which is made unless it is there, and stays."""
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o666))
        return cls.take(path, wait)

    @property
    def is_certain(self) -> bool:
        """Whether others would know of it."""
        return self.descriptor is not None

    def is_of(self, path: Path) -> bool:
        """Whether that is still the name of what is held."""
        with suppress(OSError):
            return self.descriptor is not None and os.path.samestat(os.lstat(path), os.fstat(self.descriptor))
        return False

    def release(self) -> None:
        """Once is enough; in a forked process it has happened."""
        if self.descriptor is not None:
            _held.remove(self)
            os.close(self.descriptor)
            self.descriptor = None


@contextmanager
def exclusive(folder: Path, wait: Callable[[], None] | None = None) -> Iterator[Lock]:
    """Work alone in a folder, which must be there.

    The lock is free again when this process is gone, and those that were started with its descriptor.

    Args:
        folder: gets a file `lock`, which stays
        wait: called before waiting for another process; unless given, BlockingIOError is raised at once
    """
    path = folder / FILE
    lock = Lock.take_file(path)
    while lock is None:
        if wait is None:
            raise _in_use(folder)
        wait()
        lock = Lock.take(path, wait=True)
    try:
        yield lock
    finally:
        lock.release()


def check_free(folder: Path) -> None:
    """Raises BlockingIOError if another process works alone in a folder; for those who will lock it later."""
    if (folder / FILE).is_file() and os.access(folder / FILE, os.W_OK):
        lock = Lock.take(folder / FILE, shared=True)  # others may look at the same time
        if lock is None:
            raise _in_use(folder)
        lock.release()


def _in_use(folder: Path) -> BlockingIOError:
    return BlockingIOError(
        f"{folder}: another process works in this folder; wait for it to end, or choose another output"
    )


def _let_go() -> None:
    """In a forked process, which may outlive the one that holds the locks."""
    for lock in tuple(_held):
        lock.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)

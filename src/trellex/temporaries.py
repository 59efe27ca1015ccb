"""Temporary files and folders: hidden beside what they will become, held by who writes them, swept once that is gone.

`.NAME.TOKEN.new` is not whole yet, or about to be removed; `.NAME.TOKEN.old` was NAME until a moment ago, and is again
if there is no other. (`.tmp` is what older versions called the former.)
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from trellex.locks import Lock

_HIDDEN = re.compile(r"\.(?P<name>.+)\.[0-9a-f]{8}\.(?P<kind>new|old|tmp)", re.DOTALL)
_NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.EPERM)
_IN_THE_WAY = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT)


@contextmanager
def temporary(path: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    """A new file or folder beside `path`, under a hidden name that is removed at the end of the block.

    No other process sweeps it. What processes that are gone have left of `path` is swept before.
    """
    sweep(path.parent, path.name)
    new, lock = _hidden(path, "new"), None
    try:  # from here on: a signal may come as soon as it is there
        while lock is None:
            new = _hidden(path, "new")
            make(new)
            lock = _hold(new)
        yield new
    finally:
        _remove_hidden(new)
        if lock is not None:
            lock.release()


def _hold(new: Path) -> Lock | None:
    """The lock on what was just made; None if another process has swept it before, or is about to."""
    with suppress(FileNotFoundError):
        lock = Lock.take(new)
        if lock is not None and (lock.is_of(new) or not lock.is_certain):
            return lock
        if lock is not None:
            lock.release()
    return None


def sweep(folder: Path, name: str | None = None) -> None:
    """Remove what processes that are gone have left in a folder: of one name, or of all."""
    start = "." if name is None else f".{name}."
    try:
        names = os.listdir(folder)
    except OSError:  # there is no such folder, or this user may write there, but not look
        return
    for each in names:
        found = _HIDDEN.fullmatch(each) if each.startswith(start) else None
        if found is not None and name in (None, found["name"]):
            with suppress(OSError):  # another process sweeps it, or it is another user's
                _sweep(folder / each, folder / found["name"], found["kind"])


def _sweep(path: Path, named: Path, kind: str) -> None:
    if path.is_symlink() or not (path.is_dir() or path.is_file()):
        return
    lock = Lock.take(path)
    if lock is None:
        return
    try:
        if lock.is_of(path):
            if kind == "old" and not named.exists():
                os.rename(path, named)
                flush(path.parent)
            else:
                _discard(path, named)
    finally:
        lock.release()


def remove(path: Path) -> None:
    """Remove a folder or a file, so that a kill leaves no half of it under its name."""
    with suppress(FileNotFoundError):
        _discard(path, path)


def _discard(path: Path, named: Path) -> None:
    """Remove what is, or was, called `named`."""
    hidden = _hidden(named, "new")
    os.replace(path, hidden)
    flush(hidden.parent)
    _remove_hidden(hidden)


def _remove_hidden(path: Path) -> None:
    """As far as that can be done; what is left will be swept."""
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def replace_folder(folder: Path, new: Path) -> None:
    """Let a new folder take the place of `folder`; what was there has its name then."""
    while True:
        try:
            if not os.path.lexists(folder):
                os.replace(new, folder)
            elif not _exchange(folder, new):
                _exchange_by_renaming(folder, new)
            break
        except OSError as error:  # another process has put its own there, or taken it away, in between
            if error.errno not in _IN_THE_WAY or not new.exists():
                raise
    flush(folder.parent)


def _exchange(one: Path, other: Path) -> bool:
    """Let two names change places at once. False where the system, or the file system, cannot."""
    import ctypes

    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if renameat2(here, os.fsencode(one), here, os.fsencode(other), exchange) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NO_EXCHANGE:
        return False
    raise OSError(number, os.strerror(number), str(one))


def _exchange_by_renaming(folder: Path, new: Path) -> None:
    """The same in three steps. If this process is killed after the first, whoever writes there next takes it back."""
    old = _hidden(folder, "old")
    lock = Lock.take(folder, wait=True)
    try:
        if lock is None or (lock.is_certain and not lock.is_of(folder)):
            raise FileExistsError(errno.EEXIST, "Another took its place", str(folder))
        os.replace(folder, old)
        try:
            os.replace(new, folder)
        except BaseException:
            if folder.exists():
                _discard(old, folder)
            else:
                os.replace(old, folder)
            raise
        os.replace(old, new)
    finally:
        if lock is not None:
            lock.release()


def make_folder(folder: Path) -> None:
    """Make a folder, and those that it is in, unless they are there, so that the disk knows of them."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        flush(folder.parent)


def flush(path: Path) -> None:
    """Bring to the disk what was written; of a folder the names in it, where the file system can."""
    with suppress(OSError) if path.is_dir() else nullcontext():
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _hidden(path: Path, kind: str) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}.{kind}")

"""Files and folders that appear whole or not at all, and what users read where they cannot be read or written."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Literal

from trellex.temporaries import flush, make_folder, replace_folder, temporary

AnyPath = str | os.PathLike[str]

# how libraries tell of a full disk without its number: safetensors, and numpy's `tofile`
_FULL_DISK = re.compile("No space left on device|[0-9]+ requested and [0-9]+ written")


class FullDiskError(OSError):
    """There is no room for what was to be written."""

    def __init__(self, what: AnyPath) -> None:
        super().__init__(f"{os.fspath(what)}: no space left on the device; free some, or choose another place")


def is_full_disk(error: Exception) -> bool:
    """Whether an error tells of a full disk, or of a quota that is used up."""
    has_number = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    return has_number or isinstance(error, FullDiskError) or _FULL_DISK.search(str(error)) is not None


@contextmanager
def full_disk_named(what: AnyPath, is_whole: bool = False) -> Iterator[None]:
    """Where the disk is full, name what was to be written as users know it. Raises FullDiskError.

    is_whole: even if a part of it, such as a file in a new folder, was named already
    """
    try:
        yield
    except Exception as error:  # of any class, for libraries have their own
        if is_full_disk(error) and (is_whole or not isinstance(error, FullDiskError)):
            raise FullDiskError(what) from error
        raise


def check_readable(path: AnyPath) -> None:
    """Raises OSError that names what is wrong, and the remedy, if a file cannot be read."""
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder; give the name of a file")
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file")
    if not os.access(path, os.R_OK):
        raise denied(path)


def check_file(path: Path, remedy: str) -> None:
    """Raises ValueError with a remedy unless this is a file, and PermissionError if this user may not read it."""
    if not path.is_file():
        raise ValueError(f"{path}: missing, or not a file; {remedy}")
    check_readable(path)


def check_no_other(path: Path, remedy: str) -> None:
    """Raises ValueError if there is a folder, a pipe or a device in place of a file, which need not be there."""
    if os.path.lexists(path) and not path.is_file():
        raise ValueError(f"{path}: is not a file; {remedy}")


def denied(path: AnyPath) -> PermissionError:
    """The error for a file or a folder that this user may not read."""
    return PermissionError(f"{os.fspath(path)}: permission denied; its owner can allow it with `chmod a+rX`")


def resolved(path: AnyPath) -> Path:
    """What a path leads to, absolute. Raises OSError if that is a link which leads to itself."""
    try:
        return Path(path).resolve()
    except RuntimeError as error:
        raise OSError(f"{path}: is a link that leads to itself; remove it, or choose another place") from error


def check_new_file(path: AnyPath) -> None:
    """Raises OSError that names what is wrong, before work that would be lost, if a file cannot be written."""
    path = resolved(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder; give the name of a file")
    if path.is_file() or not path.exists():  # a device or a pipe is not replaced
        check_writable(path.parent)


def check_writable(folder: AnyPath) -> None:
    """The same if a folder cannot be made, or no files in it. It leaves no trace."""
    folder = resolved(folder)
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir():
        raise NotADirectoryError(f"{there}: is a file, not a folder; choose another place")
    with full_disk_named(folder):
        try:
            tempfile.TemporaryFile(dir=there).close()
        except OSError as error:
            if is_full_disk(error):
                raise
            raise type(error)(f"{there}: cannot be written ({error.strerror}); choose another place") from error


@contextmanager
def atomic_writer(path: AnyPath, mode: Literal["w", "wb"] = "w") -> Iterator[Any]:
    """A file to write to that takes its place at the end of the block, or leaves no trace if that fails.

    Text is UTF-8 with "\\n" at the end of lines.
    """
    check_new_file(path)
    text = {"encoding": "utf-8", "newline": "\n"} if mode == "w" else {}
    with full_disk_named(path):
        path = resolved(path)
        if path.exists() and not path.is_file():  # a device or a pipe cannot be replaced
            with open(path, mode, **text) as file:  # type: ignore[call-overload]
                yield file
            return
        with temporary(path, partial(Path.touch, exist_ok=False)) as new:
            with open(new, mode, **text) as file:  # type: ignore[call-overload]
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(new, path)
            flush(path.parent)


@contextmanager
def atomic_folder(folder: AnyPath) -> Iterator[Path]:
    """A new folder to fill that takes its place at the end of the block, or leaves no trace if that fails.

    What is there is replaced, and comes back if that fails: whether it may be is for the caller to know.
    """
    check_writable(resolved(folder).parent)
    with full_disk_named(folder, is_whole=True):
        folder = resolved(folder)
        make_folder(folder.parent)
        with temporary(folder, Path.mkdir) as new:
            yield new
            for path in (*new.rglob("*"), new):
                if path.is_file():
                    path.chmod(new.stat().st_mode & 0o666)  # as any new file, whoever wrote it
                flush(path)
            replace_folder(folder, new)

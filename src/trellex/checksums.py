"""Checksums: whether a file still is what was written."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from trellex.files import AnyPath, check_file, check_readable

QUICK = 1 << 24  # bytes up to which nobody notices how long comparing takes
SETTLED = 2_000_000_000  # nanoseconds after which a change gives a file another time, however coarse the clock


def sha256(path: AnyPath) -> str:
    """The SHA-256 of a file's contents, in hexadecimal."""
    check_readable(path)
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_sums(folder: Path, sums: Mapping[str, str], remedy: str) -> None:
    """Compare files of a folder, by name, with their SHA-256. Raises ValueError that names the first that differs."""
    for name, expected in sums.items():
        check_file(folder / name, remedy)
        if sha256(folder / name) != expected:
            raise ValueError(f"{folder / name}: damaged, its checksum differs; {remedy}")


def check_sums_once(folder: Path, sums: Mapping[str, str], remedy: str) -> None:
    """The same, but large files that have not changed since they were compared are not read again.

    That they were is remembered by an empty file in the user's cache, whose name tells which files they were.
    """
    before, is_settled, size = _identity(folder, sums)
    mark = _marks() / before
    if size > QUICK and os.path.exists(mark):
        return
    check_sums(folder, sums, remedy)
    if size > QUICK and is_settled and before == _identity(folder, sums)[0]:
        with suppress(OSError):  # a cache that cannot be written
            mark.parent.mkdir(parents=True, exist_ok=True)
            mark.touch()


def _identity(folder: Path, sums: Mapping[str, str]) -> tuple[str, bool, int]:
    """What tells these files from any others, and from themselves once they are changed; whether that is sure; bytes.

    It is not if one was written just now: it might be again without a sign of that.
    """
    found = {name: os.stat(folder / name) for name in sums if (folder / name).exists()}
    facts = [
        (name, sums[name], each.st_dev, each.st_ino, each.st_size, each.st_mtime_ns, each.st_ctime_ns)
        for name, each in sorted(found.items())
    ]
    is_settled = all(each.st_ctime_ns < time.time_ns() - SETTLED for each in found.values())
    return hashlib.sha256(repr(facts).encode()).hexdigest(), is_settled, sum(each.st_size for each in found.values())


def _marks() -> Path:
    """The folder of the marks, by the convention of XDG."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(cache if os.path.isabs(cache) else os.devnull) / "trellex" / "verified"  # of nobody: nowhere

"""Checksums: whether a file still is what was written."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from trellex.files import AnyPath, check_readable


def sha256(path: AnyPath) -> str:
    """The SHA-256 of a file's contents, in hexadecimal."""
    check_readable(path)
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_sums(folder: Path, sums: Mapping[str, str], remedy: str) -> None:
    """Compare files of a folder, by name, with their SHA-256. Raises ValueError that names the first that differs."""
    for name, expected in sums.items():
        if not (folder / name).is_file():
            raise ValueError(f"{folder / name}: missing, or not a file; {remedy}")
        if sha256(folder / name) != expected:
            raise ValueError(f"{folder / name}: damaged, its checksum differs; {remedy}")

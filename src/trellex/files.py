"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, Literal

AnyPath = str | os.PathLike[str]


@contextmanager
def atomic_writer(path: AnyPath, mode: Literal["w", "wb"] = "w") -> Iterator[Any]:
    """A file to write to that takes its place at the end of the block, or leaves no trace if that fails.

    Text is UTF-8 with "\\n" at the end of lines.
    """
    path = Path(path).resolve()
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder; give the name of a file")
    text = {"encoding": "utf-8", "newline": "\n"} if mode == "w" else {}
    if path.exists() and not path.is_file():  # a device or a pipe cannot be replaced
        with open(path, mode, **text) as file:  # type: ignore[call-overload]
            yield file
        return
    (temporary,) = _beside(path, "new")
    try:
        with open(temporary, mode.replace("w", "x"), **text) as file:  # type: ignore[call-overload]
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def atomic_folder(folder: AnyPath) -> Iterator[Path]:
    """A new folder to fill that takes its place at the end of the block, or leaves no trace if that fails.

    What is there is replaced, and comes back if that fails: whether it may be is for the caller to know.
    """
    folder = Path(folder).resolve()
    folder.parent.mkdir(parents=True, exist_ok=True)
    new, old = _beside(folder, "new", "old")
    try:
        new.mkdir()
        yield new
        for path in (*new.rglob("*"), new):
            if path.is_file():
                path.chmod(new.stat().st_mode & 0o666)  # as any new file, whoever wrote it
            _flush(path)
        if folder.exists():
            os.replace(folder, old)
        os.replace(new, folder)
        _flush(folder.parent)
    except BaseException:
        if old.exists() and not folder.exists():
            os.replace(old, folder)
        raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)


def _beside(path: Path, *kinds: str) -> list[Path]:
    """Hidden names in the same folder that nobody else uses."""
    token = secrets.token_hex(4)
    return [path.with_name(f".{path.name}.{token}.{kind}") for kind in kinds]


def _flush(path: Path) -> None:
    """Bring to the disk what was written; of a folder the names in it, where the file system can."""
    with suppress(OSError) if path.is_dir() else nullcontext():
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

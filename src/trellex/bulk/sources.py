"""The sources of a bulk translation: files of lines or Parquet files, in order, and whether they are still the same."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import Field

from trellex.checksums import sha256
from trellex.files import check_readable
from trellex.packed import PACKED, open_unpacked
from trellex.records import Record

READ_BYTES = 1 << 20
PARQUET = (".parquet", ".pq")  # how names of such files end
Kind = Literal["lines", "parquet"]


class Source(Record):
    """A file as it was when the work was divided."""

    name: str  # relative to the folder, or of the file itself
    size: int = Field(ge=0)  # bytes
    modified: int  # nanoseconds
    sha256: str
    rows: int = Field(ge=0)


class Mark(NamedTuple):
    """A place in a file that is not packed where a line begins: so many lines are before it, and bytes."""

    rows: Annotated[int, Field(ge=0)] = 0
    offset: Annotated[int, Field(ge=0)] = 0


def find_sources(place: Path) -> dict[str, Path]:
    """The file, or the files of a folder and those in it, by name and in the order of names.

    Those whose names begin with "." or "_" are no text, as Spark and pyarrow have it. Raises ValueError or OSError if
    there are none, or some that cannot be read by position.
    """
    if not place.is_dir():
        _check_regular(place)
        return {place.name: place}
    found = {path.relative_to(place).as_posix(): path for path in _walk(place)}
    if not found:
        raise ValueError(f"{place}: a folder with no files of text in it; give a file, or a folder of some")
    for path in found.values():
        _check_regular(path)
    return dict(sorted(found.items()))


def kind_of(names: Sequence[str]) -> Kind:
    """What files of these names hold. Raises ValueError unless they are of one kind."""
    parquet = [name for name in names if name.endswith(PARQUET)]
    if parquet and len(parquet) < len(names):
        other = next(name for name in names if not name.endswith(PARQUET))
        raise ValueError(f"{parquet[0]} is Parquet and {other} is not; translate them apart")
    part = next((name for name in parquet if "=" in name.rpartition("/")[0]), None)
    if part is not None:
        folder = part.rpartition("/")[0]
        raise ValueError(f"{part}: a column of it is but in the name {folder}; translate each such folder by itself")
    return "parquet" if parquet else "lines"


def measure_lines(path: Path, name: str) -> tuple[Source, list[Mark]]:
    """Read a file of lines once: what it is, and for one that is not packed the beginnings of some lines."""
    facts, digest, marks = path.stat(), hashlib.sha256(), [Mark()]
    is_packed = path.suffix in PACKED
    rows = size = 0
    is_open = False  # the last line has no end
    with open_unpacked(path) as (read, _):
        while data := read(READ_BYTES):
            if not is_packed:
                digest.update(data)
            rows += data.count(b"\n")
            is_open = not data.endswith(b"\n")
            if not is_packed and b"\n" in data:
                marks.append(Mark(rows, size + data.rindex(b"\n") + 1))
            size += len(data)
    checksum = sha256(path) if is_packed else digest.hexdigest()
    return _source(path, name, facts, checksum, rows + is_open), marks


def measure(path: Path, name: str, rows: int) -> Source:
    """What a file is, read once, whose rows are counted already."""
    facts = path.stat()
    return _source(path, name, facts, sha256(path), rows)


def check_unchanged(found: dict[str, Path], sources: Sequence[Source], remedy: str) -> None:
    """Raises ValueError that names the first file which is not what it was when the work was divided.

    Those of the same size and time are not read again.
    """
    known = {source.name: source for source in sources}
    for name in sorted(known.keys() | found.keys()):
        if name not in found:
            raise ValueError(f"{name}: is not there any more; {remedy}")
        if name not in known:
            raise ValueError(f"{found[name]}: was not there before; {remedy}")
        facts, source = found[name].stat(), known[name]
        if facts.st_size != source.size:
            raise ValueError(f"{found[name]}: had {source.size:,} bytes and has {facts.st_size:,} now; {remedy}")
        if facts.st_mtime_ns != source.modified and sha256(found[name]) != source.sha256:
            raise ValueError(f"{found[name]}: has changed, its checksum differs; {remedy}")


def _source(path: Path, name: str, facts: os.stat_result, checksum: str, rows: int) -> Source:
    after = path.stat()
    if (after.st_size, after.st_mtime_ns) != (facts.st_size, facts.st_mtime_ns):
        raise ValueError(f"{path}: is being written; wait until it is whole")
    return Source(name=name, size=facts.st_size, modified=facts.st_mtime_ns, sha256=checksum, rows=rows)


def _walk(folder: Path) -> Iterator[Path]:
    """All files, but for those whose names, or those of their folders, begin as such that are no text."""
    for parent, folders, names in os.walk(folder, onerror=_refuse, followlinks=True):
        folders[:] = [name for name in folders if not name.startswith((".", "_"))]
        here = Path(parent).resolve()
        for path in (Path(parent, name) for name in folders):
            if path.resolve() in (here, *here.parents):
                raise ValueError(f"{path}: is a link to a folder that it lies in; remove it")
        yield from (Path(parent, name) for name in names if not name.startswith((".", "_")))


def _refuse(error: OSError) -> None:
    raise error


def _check_regular(path: Path) -> None:
    check_readable(path)
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(f"{path}: is no regular file, which shards are cut from; write it into one")

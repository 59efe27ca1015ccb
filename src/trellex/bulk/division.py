"""The division of rows into shards: which rows of which files are a shard's, by position alone."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

MOST_SHARDS = 99_999  # for names that sort
USUAL_ROWS = 1 << 14  # of a shard, unless told: minutes of work, so that a kill costs no more


class Piece(NamedTuple):
    """Rows of a file, from `first` up to but not including `end`, counted from 0."""

    source: int  # which file
    first: int
    end: int


def rows_of(number: int, shards: int, rows: int) -> range:
    """The rows of a shard, of all files together; shards are numbered from 1 and differ by one row at most."""
    return range(rows * (number - 1) // shards, rows * number // shards)


def pieces(ends: Sequence[int], rows: range) -> Iterator[Piece]:
    """Where rows lie in files that follow one another. ends: how many rows there are up to the end of each file"""
    for source in range(bisect_right(ends, rows.start), len(ends)):
        before = ends[source - 1] if source else 0
        if before >= rows.stop:
            break
        first, end = max(rows.start, before), min(rows.stop, ends[source])
        if first < end:
            yield Piece(source, first - before, end - before)


def usual_shards(rows: int) -> int:
    """How many shards to make of so many rows, unless told."""
    return min(max(1, -(-rows // USUAL_ROWS)), MOST_SHARDS)


def parse_shard(text: str) -> tuple[int | None, int | None]:
    """What `--shard` says: the number of a shard, or None for all; and of how many, or None for the usual number.

    Raises ValueError that tells what it may say.
    """
    found = re.fullmatch(r"(all|[0-9]{1,9})(?:/([0-9]{1,9}))?", text.strip())
    if found is None or (found[1] != "all" and found[2] is None):
        raise ValueError(f"shard: expected such as 3/16, all/16 or all, got {text!r}")
    number, shards = (None if each in (None, "all") else int(each) for each in found.groups())
    if shards is not None and not 1 <= shards <= MOST_SHARDS:
        raise ValueError(f"shard: expected 1 to {MOST_SHARDS:,} shards, got {shards:,}")
    if number is not None and shards is not None and not 1 <= number <= shards:
        raise ValueError(f"shard: {shards} shards are numbered 1 to {shards}, got {number}")
    return number, shards

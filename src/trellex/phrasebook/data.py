"""The data files of the phrasebook, which people edit: blocks of lines that know their place, for errors to name it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import groupby
from typing import NamedTuple

FOLDER = files("trellex.phrasebook")


class Line(NamedTuple):
    """A line of a data file, and where it stands."""

    text: str
    place: str


def blocks(file: Traversable) -> list[list[Line]]:
    """The blocks of a file, which empty lines part; lines that start with # are comments."""
    numbered = enumerate(file.read_text(encoding="utf-8").splitlines(), start=1)
    lines = [Line(text.strip(), f"{file.name}, line {number}") for number, text in numbered if text[:1] != "#"]
    return [list(block) for filled, block in groupby(lines, key=lambda line: line.text != "") if filled]


@contextmanager
def at(line: Line) -> Iterator[None]:
    """Let an error about what a line says name its file and its number."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{line.place}: {error}") from error

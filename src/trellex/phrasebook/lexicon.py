"""The words of the phrasebook: lists of entries, the most frequent first. Slots in templates name these lists."""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.resources.abc import Traversable
from itertools import chain, zip_longest

from trellex.phrasebook import numerals
from trellex.phrasebook.data import FOLDER, at, blocks
from trellex.phrasebook.inflection import Entry, adjectives, deeds, nouns, pairs, words
from trellex.phrasebook.slots import check

_HEADER = re.compile(r"\[([a-z]+(?:, [a-z]+)*): ([a-z]+)(?:, (.*))?\]")  # lists, kind of word, forms
_KINDS = {"words": words, "nouns": nouns, "adjectives": adjectives, "deeds": deeds}


def read(file: Traversable, computed: dict[str, list[Entry]]) -> dict[str, list[Entry]]:
    """The lists that a file such as lexicon.txt has, after those computed; its comments say how it is written."""
    written = blocks(file)
    sections = {name: [entries] for name, entries in computed.items()}
    for header, *lines in written:
        with at(header):
            names, kind, forms = _header(header.text)
        section: list[Entry] = []
        for line in lines:
            with at(line):
                section += [entry | forms for entry in _KINDS[kind](line.text)]
        for name in names:
            sections.setdefault(name, []).append(section)
    lexicon = {name: _mixed(*lists) for name, lists in sections.items()}
    for line in chain.from_iterable(written):
        with at(line):
            check(line.text, lexicon)
    return lexicon


def _header(text: str) -> tuple[list[str], str, dict[str, str]]:
    """The lists that a section is for, its kind of word, and the forms that all its words have."""
    header = _HEADER.fullmatch(text)
    if header is None or header[2] not in _KINDS:
        raise ValueError(f"expected a header [list: kind, form = …], its kind one of {', '.join(_KINDS)}, got {text!r}")
    return header[1].split(", "), header[2], dict(pairs(header[3])) if header[3] else {}


def _mixed(*lists: list[Entry]) -> list[Entry]:
    """One list that takes from each in turn, so that none of them is rare as a whole."""
    return [entry for entry in chain.from_iterable(zip_longest(*lists)) if entry is not None]


def _spoken(numbers: Iterable[tuple[str, str]]) -> list[Entry]:
    return [{"en": english, "ja": japanese} for english, japanese in numbers]


def _numbers(*values: Iterable[int]) -> list[Entry]:
    """Numbers in the order of their first mention."""
    return _spoken(map(numerals.number, dict.fromkeys(chain(*values))))


def _round_first(values: Iterable[int]) -> list[int]:
    """Round numbers first, as people say them more often."""
    return sorted(values, key=lambda value: (-min(len(str(value)) - len(str(value).rstrip("0")), 3), value))


_MINUTES = (0, 30, 15, 45, 10, 50, 20, 40, 5, 55, 25, 35, *(minute for minute in range(1, 60) if minute % 5))
_MONTHS = (4, 8, 12, 1, 7, 3, 5, 10, 9, 11, 6, 2)


def _clocks(*hours: int) -> list[Entry]:
    return _spoken(numerals.clock(hour, minute) for minute in _MINUTES for hour in hours)


_COMPUTED = {
    "floor": _spoken((numerals.ordinal(n), f"{numerals.number(n)[1]} 階") for n in (2, 3, 1, *range(4, 31))),
    "clock": _clocks(9, 10, 8, 7, 11, 3, 2, 4, 1, 5, 6, 12),
    "morning": _clocks(9, 8, 10, 7, 11, 6),
    "evening": _clocks(8, 7, 9, 6, 10, 11),
    "month": _spoken(numerals.month(n) for n in _MONTHS),
    "date": _spoken(numerals.date(n, day) for day in range(1, 29) for n in _MONTHS),
    "year": _spoken(numerals.year(n) for n in (*range(2000, 1940, -1), *range(2001, 2025))),
    "few": _numbers(range(2, 11)),
    "count": _numbers(range(2, 25)),
    "many": _numbers(_round_first(range(2, 1000))),
    "minutes": _numbers((10, 20, 30, 15, 5, 40, 45, 50, 25, 35), range(2, 60)),
    "age": _numbers((20, 30, 8, 40, 18, 25, 10, 50, 16, 60, 70), range(3, 100)),
    "degrees": _numbers((20, 30, 25, 10, 15, 28, 5), range(2, 41)),
    "meters": _numbers((100, 200, 50, 300, 500, 400), range(10, 1000, 10)),
    "track": _numbers(range(1, 24)),
    "price": _spoken(map(numerals.price, _round_first(range(80, 30_000, 10)))),
    "room": _spoken(numerals.digits(100 * floor + door) for door in range(1, 30) for floor in range(2, 10)),
    "digit": _spoken(map(numerals.digits, range(10))),
}
LEXICON = read(FOLDER / "lexicon.txt", _COMPUTED)

"""Sentences: where a line of text has more than one, it is cut behind each."""

from __future__ import annotations

import re

from trellex.text.languages import UNSPACED

_QUOTED = "「[^「」]*」|『[^『』]*』|（[^（）]*）"  # what stands in brackets belongs to the sentence around
_UNSPACED = re.compile(rf"\s*((?:{_QUOTED}|[^。！？])*[。！？]*[」』）”’]*)")
_SPACED_END = re.compile(r"(?<![.!?…])(?P<mark>[.!?…]++)(?P<closing>[\"'”’»)\]]*+)(?P<space>\s++)")  # in linear time
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\[\"'“‘])(?:[^\W\d_]|(?:[^\W\d_]\.)+[^\W\d_]|Mrs?|Ms|Dr|Prof|St|Jr|Sr|Nos?|vs|etc|cf|Fig|Gen|Col|Capt|Inc|Ltd)$"
)
_LONGEST_ABBREVIATION = 12  # characters that are looked at


def sentences(line: str, language: str) -> list[str]:
    """The sentences of a line in their order, without the white space around them; none of an empty line.

    Languages without spaces between words end them with 。！？, the others with . ! ? and a space. Where that could be
    an abbreviation, or the next word is in small letters, the line is not cut: two in one translate better than halves.
    """
    return _unspaced(line) if language in UNSPACED else _spaced(line)


def _unspaced(line: str) -> list[str]:
    return [found for match in _UNSPACED.finditer(line) if (found := match[1].strip())]


def _spaced(line: str) -> list[str]:
    found, begin = [], 0
    for end in _SPACED_END.finditer(line):
        if _ends_sentence(line, end):
            found.append(line[begin : end.start("space")].strip())
            begin = end.end()
    found.append(line[begin:].strip())
    return [sentence for sentence in found if sentence]


def _ends_sentence(line: str, end: re.Match[str]) -> bool:
    """Whether a mark with a space behind it ends a sentence."""
    is_apart = end.start() > 0 and line[end.start() - 1].isspace()  # as in text that is cut into tokens
    goes_on_small = line[end.end() : end.end() + 1].islower()
    if is_apart or (end["mark"][-1] in "!?" and not end["closing"]):
        return True
    if goes_on_small:
        return False
    before = line[max(0, end.start() - _LONGEST_ABBREVIATION) : end.start()]
    return end["mark"] != "." or bool(end["closing"]) or not _ABBREVIATION.search(before)

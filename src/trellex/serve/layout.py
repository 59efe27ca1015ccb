"""The layout of a text: its sentences, and all that stands between them and stays as it is."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence

from trellex.text.languages import UNSPACED
from trellex.text.sentences import sentences

_LINE_END = re.compile(r"(\r\n|\n|\r)")
_HUGE_NUMBER = re.compile(r"&#[0-9]{100,};?")  # of no character, and of too many digits for Python to read
_TAG = re.compile(r"""</?[a-zA-Z](?:"[^"]*"|'[^']*'|[^'"<>])*>|<[!?][^<>]*>""")
_NAME = re.compile(r"<(/?)([a-zA-Z][^\s/<>]*)(?=[\s/>])")  # where a tag begins
_VOID = "area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr"  # elements without an end
_KEPT = re.compile(
    rf"""<(?:!--|(script|style|code|pre|textarea)(?=[\s/>])
    |(?!(?:{_VOID})\s)([a-z][^\s/<>]*)\s(?:[^<>]*\s)?translate=["']?no(?=["'\s/>]))""",
    re.IGNORECASE | re.VERBOSE,
)
_RAW = ("script", "style", "textarea")  # elements that hold no others


class Layout:
    """A text that gets its sentences back translated.

    Lines, empty ones among them, and white space around them stay. Of HTML, tags, comments, all of script, style, code,
    pre and textarea, and elements with translate="no" stay, too; text between two tags is translated by itself.

    Args:
        text: plain or HTML
        source, target: languages
        is_html: which of them it is

    Attributes:
        sentences: to be translated
    """

    def __init__(self, text: str, source: str, target: str, is_html: bool = False) -> None:
        self.sentences: list[str] = []
        self._parts: list[str | int] = []  # what stays, and the places of sentences
        self._source, self._is_html = source, is_html
        self._between = "" if target in UNSPACED else " "
        for part, is_text in _markup(text) if is_html else _lines(text):
            if is_text:
                self._add(_unescaped(part) if is_html else part)
            else:
                self._parts.append(part)

    def _add(self, part: str) -> None:
        found = sentences(part, self._source)
        if not found:
            self._parts.append(self._written(part))
            return
        self._parts.append(self._written(part[: len(part) - len(part.lstrip())]))
        for sentence in found:
            if sentence is not found[0]:
                self._parts.append(self._between)
            self._parts.append(len(self.sentences))
            self.sentences.append(sentence)
        self._parts.append(self._written(part[len(part.rstrip()) :]))

    def _written(self, text: str) -> str:
        return html.escape(text, quote=False) if self._is_html else text

    def filled(self, translations: Sequence[str]) -> str:
        """The text with a translation in the place of every sentence."""
        return "".join(part if isinstance(part, str) else self._written(translations[part]) for part in self._parts)


def without_markup(text: str) -> str:
    """The text of HTML, as far as it is to be translated."""
    return " ".join(_unescaped(part) for part, is_text in _markup(text) if is_text)


def _unescaped(part: str) -> str:
    return html.unescape(_HUGE_NUMBER.sub("\ufffd", part))


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Lines and their ends, each with whether it is to be translated."""
    for place, part in enumerate(_LINE_END.split(text)):
        yield part, place % 2 == 0


def _markup(text: str) -> Iterator[tuple[str, bool]]:
    """The parts of HTML, each with whether it is to be translated. What is opened and never closed stays as it is."""
    begin = 0
    for opening in _KEPT.finditer(text):
        if opening.start() < begin:
            continue
        yield from _tags(text[begin : opening.start()])
        begin = _end(text, opening.end(), opening[1] or opening[2])
        yield text[opening.start() : begin], False
    yield from _tags(text[begin:])


def _end(text: str, begin: int, name: str | None) -> int:
    """Where an element is closed, others of its name within it not counted; or a comment, which has no name."""
    if name is None:
        end = text.find("-->", begin)
        return len(text) if end < 0 else end + len("-->")
    name, depth = name.lower(), 1
    for tag in _NAME.finditer(text, begin):
        if tag[2].lower() == name:
            depth += -1 if tag[1] else name not in _RAW
            if not depth:
                return tag.start()
    return len(text)


def _tags(text: str) -> Iterator[tuple[str, bool]]:
    begin = 0
    for tag in _TAG.finditer(text):
        yield text[begin : tag.start()], True
        yield tag[0], False
        begin = tag.end()
    yield text[begin:], True

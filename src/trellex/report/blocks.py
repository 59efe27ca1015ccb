"""The blocks that a page is made of: tables, headings, paragraphs and pictures, as Markdown and as HTML."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from trellex.evaluation.result import slug

FIGURES = "figures"  # the folder beside the pages
Emphasis = Literal["", "bold", "italic"]
_STARS = {"": "", "bold": "**", "italic": "*"}
_TAGS = {"": ("", ""), "bold": ("<strong>", "</strong>"), "italic": ("<em>", "</em>")}


class Block(Protocol):
    """A piece of a page."""

    def markdown(self) -> str: ...

    def html(self) -> str: ...


class Cell(NamedTuple):
    """A text in a table."""

    text: str
    emphasis: Emphasis = ""

    def markdown(self) -> str:
        stars = _STARS[self.emphasis]
        return f"{stars}{markdown_escape(self.text)}{stars}"

    def html(self) -> str:
        opening, closing = _TAGS[self.emphasis]
        return f"{opening}{html.escape(self.text)}{closing}"


@dataclass
class Table:
    """Rows of cells under headings. The first column names the row and stands left, all others right."""

    caption: str
    headings: Sequence[str]
    rows: list[list[Cell]] = field(default_factory=list)
    notes: Sequence[str] = ()

    def add(self, *cells: str | Cell) -> None:
        if len(cells) != len(self.headings):
            raise ValueError(f"{self.caption}: {len(cells)} cells under {len(self.headings)} headings")
        self.rows.append([cell if isinstance(cell, Cell) else Cell(cell) for cell in cells])

    def markdown(self) -> str:
        lines = [[markdown_escape(heading) for heading in self.headings]]
        lines.append([":---"] + ["---:"] * (len(self.headings) - 1))
        lines += [[cell.markdown() for cell in row] for row in self.rows]
        table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return "\n\n".join([f"**{markdown_escape(self.caption)}**", table, *map(markdown_escape, self.notes)])

    def html(self) -> str:
        head = "".join(f'<th scope="col">{html.escape(heading)}</th>' for heading in self.headings)
        rows = "\n".join(
            "<tr>"
            + f'<th scope="row">{row[0].html()}</th>'
            + "".join(f"<td>{cell.html()}</td>" for cell in row[1:])
            + "</tr>"
            for row in self.rows
        )
        notes = "".join(f'\n<p class="note">{html.escape(note)}</p>' for note in self.notes)
        return (
            f'<div class="wide"><table>\n<caption>{html.escape(self.caption)}</caption>\n'
            f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table></div>{notes}"
        )


class Heading(NamedTuple):
    """A heading of level 2 or 3."""

    level: int
    text: str

    @property
    def anchor(self) -> str:
        return slug(self.text)

    def markdown(self) -> str:
        return f"{'#' * self.level} {markdown_escape(self.text)}"

    def html(self) -> str:
        anchor = f' id="{self.anchor}"' if self.level == 2 else ""
        return f"<h{self.level}{anchor}>{html.escape(self.text)}</h{self.level}>"

    def link(self) -> str:
        """A link to it in HTML, where it is of level 2."""
        return f'<a href="#{self.anchor}">{html.escape(self.text)}</a>'


class Paragraph(NamedTuple):
    """A paragraph of plain text."""

    text: str

    def markdown(self) -> str:
        return markdown_escape(self.text)

    def html(self) -> str:
        return f"<p>{html.escape(self.text)}</p>"


class Picture(NamedTuple):
    """A figure: its files are called `name`, and its title tells what it shows to those who do not see it."""

    name: str
    title: str
    svg: bytes
    png: bytes

    @property
    def files(self) -> dict[str, bytes]:
        """Contents by path, relative to the pages."""
        return {f"{FIGURES}/{self.name}.svg": self.svg, f"{FIGURES}/{self.name}.png": self.png}

    def markdown(self) -> str:
        return f"![{markdown_escape(self.title)}]({FIGURES}/{self.name}.svg)"

    def html(self) -> str:
        """With the SVG inside; the names of its groups are left out, since they are the same in all figures."""
        svg = self.svg.decode()
        svg = re.sub(r'<g id="[^"]*">', "<g>", svg[svg.index("<svg") :]).strip()
        svg = svg.replace("<svg ", f'<svg role="img" aria-label="{html.escape(self.title)}" ', 1)
        return f'<figure class="wide">\n{svg}\n</figure>'


def best_two(values: Sequence[float | None]) -> list[Emphasis]:
    """Bold for the best of at least two values, as they are printed, and italic for the second."""
    printed = [None if value is None else round(value, 2) for value in values]
    places = sorted({value for value in printed if value is not None}, reverse=True)
    if len(places) < 2:
        return [""] * len(printed)
    return ["bold" if value == places[0] else "italic" if value == places[1] else "" for value in printed]


def markdown_escape(text: str) -> str:
    """Plain text in Markdown, in a table or out of it."""
    return re.sub(r"([\\`*_\[\]<>|~&$])", r"\\\1", text)

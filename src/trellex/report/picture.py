"""A drawn figure, and its place on a page."""

from __future__ import annotations

import html
import re
from typing import NamedTuple

from trellex.report.table import markdown_escape

FOLDER = "figures"  # beside the pages


class Picture(NamedTuple):
    """A figure: its files are called `name`, and its title tells what it shows to those who do not see it."""

    name: str
    title: str
    svg: bytes
    png: bytes

    @property
    def files(self) -> dict[str, bytes]:
        """Contents by path, relative to the pages."""
        return {f"{FOLDER}/{self.name}.svg": self.svg, f"{FOLDER}/{self.name}.png": self.png}

    def markdown(self) -> str:
        return f"![{markdown_escape(self.title)}]({FOLDER}/{self.name}.svg)"

    def html(self) -> str:
        """With the SVG inside; the names of its groups are left out, since they are the same in all figures."""
        svg = self.svg.decode()
        svg = re.sub(r'<g id="[^"]*">', "<g>", svg[svg.index("<svg") :]).strip()
        svg = svg.replace("<svg ", f'<svg role="img" aria-label="{html.escape(self.title)}" ', 1)
        return f'<figure class="wide">\n{svg}\n</figure>'

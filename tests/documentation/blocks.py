"""The fenced blocks of the documentation, and the commands in them."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ELSEWHERE = ("make ", "git clone ", "pip install ", ". .venv/bin/activate")  # lines that other checks run


class Block(NamedTuple):
    """A fenced block: bash is run, python too; no language is what something printed."""

    language: str
    text: str

    @property
    def downloads(self) -> bool:
        """Whether it brings what is not here."""
        return self.language == "bash" and "curl " in self.text

    def lines(self) -> list[str]:
        """The lines of a bash block, with those that go on joined."""
        return [line for line in self.text.replace("\\\n", " ").splitlines() if line.strip()]


def blocks(page: Path) -> list[Block]:
    return [Block(*found) for found in FENCE.findall(page.read_text(encoding="utf-8"))]


def trellex_commands(line: str) -> list[list[str]]:
    """The arguments of every `trellex …` in a line of bash, such as one behind a pipe."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    found: list[list[str]] = []
    inside = False
    for word in lexer:
        if set(word) <= set("|&;<>()"):
            inside = False
        elif inside:
            found[-1].append(word)
        elif word == "trellex":
            inside = True
            found.append([])
    return [command for command in found if command]  # `cd trellex` has no verb

"""The style of every method: the same colour, line and marker in all figures of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Literal, NamedTuple

from trellex.heads.spec import HeadSpec

Line = Literal["-", "--", ":", "-."] | tuple[float, Sequence[float]]

# The colours of Okabe and Ito, which the colour-blind can tell apart.
SOFTMAX_COLOR = "#000000"
COLORS = ("#D55E00", "#0072B2", "#009E73", "#E69F00", "#CC79A7", "#56B4E9")
PLAIN: tuple[Line, str] = ("--", "s")
CORRECTED: tuple[Line, str] = ("-", "o")
VARIANTS: tuple[tuple[Line, str], ...] = ((":", "^"), ("-.", "D"), ((0, (5, 1, 1, 1, 1, 1)), "v"), ((0, (1, 3)), "P"))


class Style(NamedTuple):
    """How a method is drawn: the colour tells its output layer, line and marker tell correction and variant."""

    color: str
    line: Line
    marker: str


def method_styles(heads: Mapping[str, HeadSpec]) -> dict[str, Style]:
    """A style for the method of each head, which come in the order of tables."""
    bases = dict.fromkeys(head.base for head in heads.values() if head.base != "softmax")
    colors = {base: COLORS[place % len(COLORS)] for place, base in enumerate(bases)} | {"softmax": SOFTMAX_COLOR}
    variants = {base: cycle(VARIANTS) for base in colors}
    styles = {}
    for name, head in heads.items():
        plain = CORRECTED if head.is_corrected or head.base == "softmax" else PLAIN
        is_variant = head.variant or name != head.label
        styles[name] = Style(colors[head.base], *(next(variants[head.base]) if is_variant else plain))
    return styles

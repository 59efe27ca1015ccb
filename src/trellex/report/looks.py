"""The look of every method: the same colour, line and marker in all figures of a report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from trellex.report.method import MethodName

Line = Literal["-", "--", ":", "-."] | tuple[float, Sequence[float]]

# The colours of Okabe and Ito, which the colour-blind can tell apart.
SOFTMAX_COLOR = "#000000"
COLORS = ("#D55E00", "#0072B2", "#009E73", "#E69F00", "#CC79A7", "#56B4E9")
PLAIN: tuple[Line, str] = ("--", "s")
CORRECTED: tuple[Line, str] = ("-", "o")
VARIANTS: tuple[tuple[Line, str], ...] = ((":", "^"), ("-.", "D"), ((0, (5, 1, 1, 1, 1, 1)), "v"), ((0, (1, 3)), "P"))


class Look(NamedTuple):
    """How a method is drawn: the colour tells its output layer, line and marker tell correction and variant."""

    color: str
    line: Line
    marker: str


def looks(methods: Sequence[str]) -> dict[str, Look]:
    """A look for each of the methods, which come in the order of tables."""
    names = {method: MethodName.parse(method) for method in methods}
    bases = dict.fromkeys(name.base for name in names.values() if name.base != "softmax")
    colors = {base: COLORS[place % len(COLORS)] for place, base in enumerate(bases)} | {"softmax": SOFTMAX_COLOR}
    variants: dict[str, int] = dict.fromkeys(colors, 0)
    found = {}
    for method, name in names.items():
        if name.variant:
            style = VARIANTS[variants[name.base] % len(VARIANTS)]
            variants[name.base] += 1
        else:
            style = CORRECTED if name.corrected or name.base == "softmax" else PLAIN
        found[method] = Look(colors[name.base], *style)
    return found

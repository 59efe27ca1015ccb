"""The README's picture, from what `benchmarks/cpu --json` wrote: `make picture`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib.style
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from trellex.report.figures import RC_PARAMS

STYLES = {"softmax": ("#b3402e", "s"), "shelves": ("#2a6f97", "D"), "binary-ec": ("#2d8a4e", "o")}


def draw(numbers: dict, path: Path) -> None:
    """Milliseconds a sentence in int8 against V, a line a method with its name at the end."""
    with matplotlib.style.context([RC_PARAMS | {"svg.hashsalt": "trellex"}]):
        figure = Figure(figsize=(7.2, 3.6), layout="constrained")
        axes = figure.add_subplot()
        for method, (colour, marker) in STYLES.items():
            cells = [cell for cell in numbers["sweep"] if (cell["method"], cell["precision"]) == (method, "int8")]
            if not cells:
                continue
            sizes, times = [2 ** cell["exponent"] for cell in cells], [cell["total"] * 1e3 for cell in cells]
            axes.plot(sizes, times, color=colour, marker=marker)
            above = method != "binary-ec"
            axes.annotate(
                f"{method}  {times[-1]:,.0f} ms" if times[-1] >= 20 else f"{method}  {times[-1]:.1f} ms",
                (sizes[-1], times[-1]),
                (-4, 7 if above else -8),
                textcoords="offset points",
                ha="right",
                va="bottom" if above else "top",
                color=colour,
                fontweight="bold",
            )
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        axes.set(xlabel="target words", ylabel="ms a sentence of 30 words")
        axes.set_title("Translating on one CPU thread, int8, encoder included")
        axes.xaxis.set_major_locator(FixedLocator(sorted({2 ** cell["exponent"] for cell in numbers["sweep"]})))
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.yaxis.set_major_locator(FixedLocator([3, 10, 30, 100, 300, 1000]))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.yaxis.set_minor_locator(NullLocator())
        axes.set_ylim(2.5, 3000)
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    draw(json.loads(source.read_text(encoding="utf-8")), target)

"""The tables and the plot of `benchmarks/cpu`."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from cells import NOTHING, PRECISIONS, SWEPT, Cell, Memory, Sizes, ratio
from random_models import OTHER_SHARE

ABSENT = "–"


def print_table(title: str, headings: Sequence[str], rows: Iterable[Sequence[str]], width: int = 11) -> None:
    """Aligned text."""
    print(f"\n{title:36}" + "".join(f"{heading:>{width}}" for heading in headings))
    for name, *values in rows:
        print(f"  {name:34}" + "".join(f"{value:>{width}}" for value in values))


def print_methods(cells: list[Cell], length: int) -> None:
    """Times, tokens a second and ratios, a table for every precision and batch."""
    for precision, batch in dict.fromkeys((cell.precision, cell.batch) for cell in cells):
        table = {cell.method: cell for cell in cells if (cell.precision, cell.batch) == (precision, batch)}
        softmax, nothing = table["softmax"], table[NOTHING]
        rows = []
        for cell in table.values():
            row = [cell.method]
            for name in ("loops", "totals"):
                own, of_softmax, of_nothing = (getattr(each, name) for each in (cell, softmax, nothing))
                seconds = statistics.median(own)
                row += [significant(seconds * 1e3), f"{length / seconds:,.0f}"]
                row += [f"{ratio(of_softmax, own):.2f}", f"{ratio(own, of_nothing):.2f}"]
            rows.append([*row, "" if cell.rare is None else f"{cell.rare:.1%}"])
        group = ["tokens/s", "softmax :", ": nothing"]
        title = f"{precision}, batch {batch}, 2^{softmax.exponent} words"
        print_table(title, ["loop ms", *group, "all ms", *group, "rare"], rows)
    print(
        "\n  ms a sentence; all: with the encoder; softmax : how many times the speed of softmax; : nothing, how many"
    )
    print(
        "  times the time without output layer, both medians of the rounds' ratios; "
        f"rare: words from the bits, {OTHER_SHARE:.0%} intended"
    )


def print_sweep(cells: list[Cell]) -> None:
    """Milliseconds a sentence against V, and the growth."""
    exponents = sorted({cell.exponent for cell in cells})
    headings = [*(f"2^{exponent}" for exponent in exponents), f"2^{exponents[-1]}:2^{exponents[0]}"]
    for title, name in (("loop, ms a sentence, batch 1", "loops"), ("with encoder", "totals")):
        rows = []
        for precision in PRECISIONS:
            for method in SWEPT:
                of_row = [cell for cell in cells if (cell.method, cell.precision) == (method, precision)]
                found = {cell.exponent: getattr(cell, name) for cell in of_row}
                times = [significant(statistics.median(found[e]) * 1e3) if e in found else ABSENT for e in exponents]
                first, last = found.get(exponents[0]), found.get(exponents[-1])
                growth = f"{ratio(last, first):.2f}" if first and last else ABSENT
                rows.append([f"{method}, {precision}", *times, growth])
        print_table(title, headings, rows, 12)


def print_engines(cells: list[Cell], parameters: dict[str, int], sizes: Sizes) -> None:
    for batch in sizes.batches:
        table = [cell for cell in cells if cell.batch == batch]
        best = next(cell for cell in table if (cell.section, cell.method) == ("trellex", "binary-ec"))
        rows = []
        for cell in table:
            numbers = significant(cell.total * 1e3), f"{sizes.length / cell.total:,.0f}"
            size = f"{parameters[cell.method] / 1e6:,.1f} M"
            name, times = f"{cell.section}: {cell.method}, {cell.precision}", ratio(cell.totals, best.totals)
            rows.append([name, *numbers, f"{times:.2f}", size])
        print_table(
            f"engines, batch {batch}, 2^{sizes.exponent} words", ["all ms", "tokens/s", ": first", "parameters"], rows
        )
    size = sizes.transformer
    print(
        f"\n  The architectures differ: the Transformer has {size.layers} + {size.layers} layers, d = {size.width}, "
        f"{size.heads} heads, FFN {size.hidden} and a softmax;\n  the others are one LSTM layer on either side, "
        f"H = {sizes.hidden}, with attention.  : first, how many times the time of trellex's binary-ec"
    )


def print_budget(found: dict[str, float]) -> None:
    names = [
        ("one turn of the loop", "loop"),
        ("  step", "step"),
        ("    decoder session", "decoder session"),
        ("    embedding lookup", "embedding lookup"),
        ("    rest", "rest of step"),
        ("  best", "best"),
        ("  the benchmark's wrapper", "the benchmark's wrapper"),
        ("  search bookkeeping", "search bookkeeping"),
    ]
    rows = [[label, f"{found[key] * 1e6:.1f}", f"{found[key] / found['loop']:.1%}"] for label, key in names]
    print_table("a token of binary-ec, int8, batch 1", ["µs", "share"], rows)


def print_memory(rows: list[Memory]) -> None:
    table = [
        [
            f"{row.engine}: {row.method}, {row.precision}",
            *(megabytes(size) for size in (row.disk, row.imports, row.peak, row.peak - row.imports, row.own)),
        ]
        for row in rows
    ]
    print_table("memory, MB", ["on disk", "imports", "peak", "above", "anonymous"], table)
    print("  imports: resident before a model is loaded; anonymous: at the end, without what is mapped from files")


def significant(value: float) -> str:
    """Three digits, but all those before the point."""
    return f"{value:,.{max(0, 2 - math.floor(math.log10(value)))}f}"


def megabytes(size: int | None) -> str:
    return ABSENT if size is None else f"{size / 1e6:,.1f}"


def plot(methods: list[Cell], sweep: list[Cell], rows: list[Memory], path: Path) -> None:
    """Time of every method, time against V, and memory."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(18, 5), layout="constrained")
    bars, lines, memories = (figure.add_subplot(1, 3, place) for place in (1, 2, 3))
    names = list(dict.fromkeys(cell.method for cell in methods))
    for place, precision in enumerate(PRECISIONS):
        heights = {cell.method: cell.total * 1e3 for cell in methods if (cell.precision, cell.batch) == (precision, 1)}
        bars.bar(np.arange(len(names)) + 0.4 * place - 0.2, [heights[name] for name in names], 0.4, label=precision)
        for method in SWEPT:
            line = [cell for cell in sweep if (cell.method, cell.precision) == (method, precision)]
            style = ("o" if method == "binary-ec" else "s") + ("-" if precision == "int8" else "--")
            lines.loglog(
                [2**cell.exponent for cell in line],
                [cell.total * 1e3 for cell in line],
                style,
                label=f"{method}, {precision}",
            )
    bars.set(yscale="log", ylabel="ms a sentence", title=f"2^{methods[0].exponent} words, batch 1")
    bars.set_xticks(range(len(names)), names, rotation=30, ha="right")
    lines.set(xlabel="V", ylabel="ms a sentence", title="against the vocabulary, batch 1")
    lines.set_xscale("log", base=2)
    labels = [f"{row.engine}: {row.method}, {row.precision}" for row in rows]
    memories.barh(labels, [row.peak / 1e6 for row in rows], label="peak")
    memories.barh(labels, [row.imports / 1e6 for row in rows], label="imports alone")
    memories.set(xlabel="resident, MB", title="memory")
    memories.invert_yaxis()
    for axes in (bars, lines, memories):
        axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)

"""The figures: training curves, BLEU against N, size and time, and BLEU of frequent and rare words."""

from __future__ import annotations

import io
from collections.abc import Sequence
from statistics import fmean
from typing import Any, Protocol

try:
    import matplotlib.style
except ModuleNotFoundError as error:
    raise ImportError("figures are drawn by matplotlib, which is missing: pip install 'trellex[report]'") from error
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from trellex.evaluation.result import slug
from trellex.heads.code_spec import HybridSpec
from trellex.report.annotations import Point, annotate_points
from trellex.report.bands import Bands, bleu_by_rarest_word, word_f1
from trellex.report.blocks import Picture
from trellex.report.output_layers import int8_milliseconds
from trellex.report.result_set import GREEDY, Direction
from trellex.report.styles import Style
from trellex.report.systems import pareto_front, systems

RC_PARAMS: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "sans-serif"],  # Verdana is as wide, where a reader lacks the first
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#555555",
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
    "lines.markersize": 5.5,
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "text.parse_math": False,  # a name may have a $
    "svg.fonttype": "none",  # text stays text: small, and found by a search
}
BLEU = {True: "Test BLEU (mean of 5 evaluations), %", False: "Test BLEU (best checkpoint), %"}  # by is_averaged
THOUSANDS = FuncFormatter(lambda value, _: f"{value:,.0f}")

Styles = dict[str, Style]


class Plot(Protocol):
    """A kind of figure: draws a direction, or gives none if there is nothing to show."""

    __name__: str

    def __call__(self, direction: Direction, styles: Styles, /) -> Figure | None: ...


def draw(plot: Plot, direction: Direction, styles: Styles) -> Picture | None:
    """Draw one of the figures below, the same bytes whenever it is drawn; none if there is nothing to show."""
    name = slug(f"{plot.__name__.replace('_', ' ')} {direction.title}")
    with matplotlib.style.context(["default", RC_PARAMS | {"svg.hashsalt": name}]):
        figure = plot(direction, styles)
        if figure is None:
            return None
        svg, png = io.BytesIO(), io.BytesIO()
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
        figure.savefig(png, format="png", metadata={"Software": None})
    return Picture(name, figure.axes[0].get_title(loc="left"), svg.getvalue(), png.getvalue())


def curves(direction: Direction, styles: Styles) -> Figure:
    """Test BLEU against training steps, a line for each training."""
    figure, axes = _figure(f"{direction.title}: training curves")
    for name, method in direction.methods.items():
        width = 1.6 if len(method.results) == 1 else 0.9
        for result in method.results:
            steps, scores = zip(*((evaluation.step, evaluation.test) for evaluation in result.curve), strict=True)
            axes.plot(steps, scores, linewidth=width, **_line(styles[name]))
    axes.set(xlabel="Training steps (batches)", ylabel="Test BLEU (tokens, greedy), %")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(THOUSANDS)
    _legend(figure, [Line2D([], [], label=name, **_line(styles[name])) for name in direction.methods])
    return figure


def hybrid_sizes(direction: Direction, styles: Styles) -> Figure | None:
    """BLEU against the number N of words in a hybrid's softmax, between softmax and binary codes alone."""
    methods = direction.methods.items()
    hybrids = {
        name: each
        for name, each in methods
        if isinstance(each.head, HybridSpec) and not each.head.variant and name == each.head.label
    }
    sizes = sorted({method.head.size for method in hybrids.values()})
    if len(sizes) < 2:
        return None
    figure, axes = _figure(f"{direction.title}: BLEU against N")
    handles = []
    for name in ("softmax", "binary", "binary-ec"):
        if name in direction.methods:
            height = fmean(direction.test_bleu(name))
            handles.append(axes.axhline(height, label=name, linewidth=1.4, **_line(styles[name])))
    for is_corrected, label, line_style in ((False, "hybrid-N", "--"), (True, "hybrid-N-ec", "-")):
        members = {name: each for name, each in hybrids.items() if each.head.is_corrected == is_corrected}
        if members:
            points = [(method.head.size, fmean(direction.test_bleu(name))) for name, method in members.items()]
            handles += axes.plot(*zip(*points, strict=True), color="#777777", linestyle=line_style, label=label)
        for name, method in members.items():
            _point(axes, method.head.size, direction.test_bleu(name), styles[name])
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(THOUSANDS)
    axes.margins(x=0.12)
    axes.set(xlabel="N, words in the softmax part of a hybrid (log scale)", ylabel=BLEU[direction.is_averaged])
    _legend(figure, handles)
    return figure


def output_size(direction: Direction, styles: Styles) -> Figure:
    """BLEU against the parameters of the output layer, a labelled point for each method."""
    figure, axes = _figure(f"{direction.title}: BLEU against the size of the output layer")
    points = []
    for name, method in direction.methods.items():
        size, scores = method.first.size.output_parameters, direction.test_bleu(name)
        points.append(Point(size, fmean(scores), name, styles[name].color))
        _point(axes, size, scores, styles[name])
    axes.set_xscale("log")
    axes.margins(x=0.16, y=0.14)
    axes.set(xlabel="Parameters of the output layer (log scale)", ylabel=BLEU[direction.is_averaged])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    annotate_points(figure, axes, points)
    return figure


def cpu_time(direction: Direction, styles: Styles) -> Figure | None:
    """BLEU of text against time on a CPU, a point for each system; a line joins those that no other beats.

    Points are numbered from the best on, for there may be too many to name. Time is that of greedy search, and so is
    BLEU. None if nothing was timed in int8.
    """
    found = {name: (int8_milliseconds(each), each.text_bleu(GREEDY)) for name, each in systems(direction).items()}
    timed = {name: (fmean(times), scores) for name, (times, scores) in found.items() if times and scores}
    if not timed:
        return None
    figure, axes = _figure(f"{direction.title}: BLEU against time on a CPU", (11, 6.4))
    front = pareto_front((time, fmean(scores)) for time, scores in timed.values())
    axes.plot(*zip(*front, strict=True), color="#bbbbbb", linewidth=1.4, zorder=1)
    points, handles = [], []
    best_first = sorted(timed, key=lambda name: (-fmean(timed[name][1]), timed[name][0]))
    for number, name in enumerate(best_first, 1):
        time, scores = timed[name]
        points.append(Point(time, fmean(scores), str(number), styles[name].color))
        _point(axes, time, scores, styles[name])
        handles.append(Line2D([], [], label=f"{number}  {name}", **_marked(styles[name]) | {"linestyle": ""}))
    axes.set_xscale("log")
    axes.margins(x=0.06, y=0.06)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_minor_locator(NullLocator())
    bleu = f"Test BLEU (text as {direction.text_unit}, greedy), %"
    axes.set(xlabel="Milliseconds a sentence in int8 on one CPU thread (log scale)", ylabel=bleu)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    _legend(figure, handles)
    annotate_points(figure, axes, points)
    return figure


def frequency_bands(direction: Direction, styles: Styles) -> Figure | None:
    """BLEU of sentences by their rarest word, and F1 of words, both by rank; none if no method has words."""
    bleu, f1 = bleu_by_rarest_word(direction), word_f1(direction)
    if bleu is None or f1 is None:
        return None
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_bands(left, bleu, styles)
    left.set_title(f"{direction.title}: BLEU by rarest word")
    left.set(xlabel="Rank of the sentence's rarest reference word", ylabel="Test BLEU (tokens, greedy), %")
    _draw_bands(right, f1, styles)
    right.set_title(f"{direction.title}: F1 of words")
    right.set(xlabel="Rank of the word by frequency in training", ylabel="F1 of words, %")
    _legend(figure, [Line2D([], [], label=name, **_marked(styles[name])) for name in direction.methods])
    return figure


def _figure(title: str, size: tuple[float, float] = (8.4, 4.4)) -> tuple[Figure, Axes]:
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    axes.set_title(title)
    return figure, axes


def _draw_bands(axes: Axes, bands: Bands, styles: Styles) -> None:
    places = range(len(bands.groups))
    for name, by_seed in bands.values.items():
        heights = [fmean(values) for values in zip(*by_seed, strict=True)]
        axes.plot(places, heights, linewidth=1.4, **_marked(styles[name]))
    axes.set_xticks(places, [group.label.replace("–", "–\n").replace(" or ", "\nor ") for group in bands.groups])
    axes.tick_params(axis="x", labelsize=9)
    axes.margins(x=0.08)
    axes.set_ylim(bottom=0)


def _point(axes: Axes, x: float, values: Sequence[float], style: Style) -> None:
    """The mean of the seeds, and a bar from the lowest to the highest of several."""
    if len(values) > 1:
        axes.plot([x, x], [min(values), max(values)], "-_", color=style.color, linewidth=1.2, markersize=9)
    axes.plot(x, fmean(values), style.marker, color=style.color, markersize=7)


def _line(style: Style) -> dict[str, Any]:
    return {"color": style.color, "linestyle": style.line}


def _marked(style: Style) -> dict[str, Any]:
    return _line(style) | {"marker": style.marker}


def _legend(figure: Figure, handles: Sequence[Line2D]) -> None:
    figure.legend(handles=handles, loc="outside right upper", handlelength=2.8)


def _short(value: float) -> str:
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"

"""The figures: training curves, BLEU against N and against size, and BLEU of frequent and rare words."""

from __future__ import annotations

import io
from statistics import fmean
from typing import Any, Protocol

try:
    from matplotlib import style
except ModuleNotFoundError as error:
    raise ImportError("figures are drawn by matplotlib, which is missing: pip install 'trellex[report]'") from error
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from trellex.experiment.result import slug
from trellex.report.bands import Bands, bleu_by_rarest_word, word_f1
from trellex.report.labels import Point, label_points
from trellex.report.looks import Look
from trellex.report.method import MethodName
from trellex.report.picture import Picture
from trellex.report.study import Direction, Method

STYLE: dict[str, Any] = {
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
AVERAGED = "Test BLEU (mean of 5 evaluations), %"
THOUSANDS = FuncFormatter(lambda value, _: f"{value:,.0f}")

Looks = dict[str, Look]


class Plot(Protocol):
    """A kind of figure: draws a direction, or gives none if there is nothing to show."""

    __name__: str

    def __call__(self, direction: Direction, looks: Looks, /) -> Figure | None: ...


def draw(plot: Plot, direction: Direction, looks: Looks) -> Picture | None:
    """Draw one of the figures below, the same bytes whenever it is drawn; none if there is nothing to show."""
    name = slug(f"{plot.__name__.replace('_', ' ')} {direction.title}")
    with style.context(["default", STYLE | {"svg.hashsalt": name}]):
        figure = plot(direction, looks)
        if figure is None:
            return None
        svg, png = io.BytesIO(), io.BytesIO()
        figure.savefig(svg, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
        figure.savefig(png, format="png", metadata={"Software": None})
    return Picture(name, figure.axes[0].get_title(loc="left"), svg.getvalue(), png.getvalue())


def curves(direction: Direction, looks: Looks) -> Figure:
    """Test BLEU against training steps, a line for each training."""
    figure, axes = _figure(f"{direction.title}: training curves")
    for name, method in direction.methods.items():
        look = looks[name]
        for result in method.results:
            axes.plot(
                [evaluation.step for evaluation in result.curve],
                [evaluation.test for evaluation in result.curve],
                color=look.color,
                linestyle=look.line,
                linewidth=1.6 if len(method.results) == 1 else 0.9,
            )
    axes.set(xlabel="Training steps (batches)", ylabel="Test BLEU (tokens, greedy), %")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    axes.xaxis.set_major_formatter(THOUSANDS)
    handles = [_handle(name, looks[name], marker=False) for name in direction.methods]
    figure.legend(handles=handles, loc="outside right upper", handlelength=2.8)
    return figure


def hybrid_sizes(direction: Direction, looks: Looks) -> Figure | None:
    """BLEU against the number N of words in a hybrid's softmax, between softmax and binary codes alone."""
    names = {name: MethodName.parse(name) for name in direction.methods}
    hybrids = {
        corrected: [
            name for name, each in names.items() if each.size and each.corrected == corrected and not each.variant
        ]
        for corrected in (False, True)
    }
    sizes = sorted({names[name].size for members in hybrids.values() for name in members})
    if len(sizes) < 2:
        return None
    figure, axes = _figure(f"{direction.title}: BLEU against N")
    handles = []
    for bound in ("softmax", "binary", "binary-ec"):
        if bound in direction.methods:
            look = looks[bound]
            line = axes.axhline(
                _averaged(direction.methods[bound]), color=look.color, linestyle=look.line, linewidth=1.4
            )
            line.set_label(bound)
            handles.append(line)
    for corrected, members in hybrids.items():
        if members:
            label, line_style = ("hybrid-N-ec", "-") if corrected else ("hybrid-N", "--")
            heights = [_averaged(direction.methods[name]) for name in members]
            (line,) = axes.plot([names[name].size for name in members], heights, color="#777777", linestyle=line_style)
            line.set_label(label)
            handles.append(line)
        for name in members:
            _point(axes, names[name].size, direction.methods[name], looks[name])
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_locator(FixedLocator(sizes))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(THOUSANDS)
    axes.margins(x=0.12)
    axes.set(xlabel="N, words in the softmax part of a hybrid (log scale)", ylabel=AVERAGED)
    figure.legend(handles=handles, loc="outside right upper", handlelength=2.8)
    return figure


def output_size(direction: Direction, looks: Looks) -> Figure:
    """BLEU against the parameters of the output layer, a labelled point for each method."""
    figure, axes = _figure(f"{direction.title}: BLEU against the size of the output layer")
    points = []
    for name, method in direction.methods.items():
        size = method.first.size.output_parameters
        points.append(Point(size, _averaged(method), name, looks[name].color))
        _point(axes, size, method, looks[name])
    axes.set_xscale("log")
    axes.margins(x=0.16, y=0.14)
    axes.set(xlabel="Parameters of the output layer (log scale)", ylabel=AVERAGED)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    label_points(figure, axes, points)
    return figure


def frequency_bands(direction: Direction, looks: Looks) -> Figure:
    """BLEU of sentences by their rarest word, and F1 of words, both by rank."""
    figure = Figure(figsize=(11, 4.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    _draw_bands(left, bleu_by_rarest_word(direction), looks)
    left.set_title(f"{direction.title}: BLEU by rarest word")
    left.set(xlabel="Rank of the sentence's rarest reference word", ylabel="Test BLEU (tokens, greedy), %")
    _draw_bands(right, word_f1(direction), looks)
    right.set_title(f"{direction.title}: F1 of words")
    right.set(xlabel="Rank of the word by frequency in training", ylabel="F1 of words, %")
    figure.legend(
        handles=[_handle(name, looks[name]) for name in direction.methods], loc="outside right upper", handlelength=2.8
    )
    return figure


def _figure(title: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(8.4, 4.4), layout="constrained")
    axes = figure.subplots()
    axes.set_title(title)
    return figure, axes


def _draw_bands(axes: Axes, bands: Bands, looks: Looks) -> None:
    places = range(len(bands.groups))
    for name, by_seed in bands.values.items():
        look = looks[name]
        heights = [fmean(values) for values in zip(*by_seed, strict=True)]
        axes.plot(places, heights, color=look.color, linestyle=look.line, marker=look.marker, linewidth=1.4)
    axes.set_xticks(places, [group.label.replace("–", "–\n").replace(" or ", "\nor ") for group in bands.groups])
    axes.tick_params(axis="x", labelsize=9)
    axes.margins(x=0.08)
    axes.set_ylim(bottom=0)


def _point(axes: Axes, x: float, method: Method, look: Look) -> None:
    """The mean of the seeds, and a bar from the lowest to the highest of several."""
    values = [result.averaged_test_bleu for result in method.results]
    if len(values) > 1:
        axes.plot([x, x], [min(values), max(values)], "-_", color=look.color, linewidth=1.2, markersize=9)
    axes.plot(x, fmean(values), look.marker, color=look.color, markersize=7)


def _averaged(method: Method) -> float:
    return fmean(result.averaged_test_bleu for result in method.results)


def _handle(name: str, look: Look, marker: bool = True) -> Line2D:
    return Line2D([], [], color=look.color, linestyle=look.line, marker=look.marker if marker else "", label=name)


def _short(value: float) -> str:
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= size:
            return f"{value / size:g}{unit}"
    return f"{value:g}"

"""Labels beside points, placed so that they cover neither each other nor the points as far as that is possible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

ANGLES = (0, 180, 90, 270, 45, 315, 135, 225)  # preferred first
DISTANCES = (9, 16, 26, 38, 52)  # points
NEAR = 16  # points; a label farther away has a line to its point
POINT_SIZE = 5  # half the side of the square around a point that labels keep away from
FONT_SIZE = 9


class Point(NamedTuple):
    """A point to label, in data, and the colour of the line to its label."""

    x: float
    y: float
    label: str
    color: str


class Place(NamedTuple):
    """Where a label may go: its cost, its box in pixels, how far from its point and which way."""

    cost: float
    box: Bbox
    distance: int
    across: float
    up: float


def annotate_points(figure: Figure, axes: Axes, points: Sequence[Point]) -> None:
    """Write the label of each point beside it. Fixes the layout of the figure."""
    FigureCanvasAgg(figure)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    scale = figure.dpi / 72
    for point, centre, place in _best_places(axes, points, scale):
        offset = (place.box.x0 - centre[0]) / scale, (place.box.y0 - centre[1]) / scale
        towards = (0.5 - place.across / 2, 0.5 - place.up / 2)
        line = {"arrowstyle": "-", "color": point.color, "lw": 0.6, "shrinkA": 1, "shrinkB": 4, "relpos": towards}
        axes.annotate(
            point.label,
            (point.x, point.y),
            xytext=offset,
            textcoords="offset points",
            va="bottom",
            fontsize=FONT_SIZE,
            arrowprops=line if place.distance > NEAR else None,
        )


def _best_places(axes: Axes, points: Sequence[Point], scale: float) -> list[tuple[Point, tuple[float, float], Place]]:
    """A place for each point, from the order of placing them one by one that costs least."""
    centres = [tuple(map(float, axes.transData.transform((point.x, point.y)))) for point in points]
    sizes = [_text_size(axes, point.label) for point in points]
    radius = POINT_SIZE * scale
    squares = [Bbox.from_extents(x - radius, y - radius, x + radius, y + radius) for x, y in centres]
    inside = axes.get_window_extent()
    found: list[list[tuple[int, Place]]] = []
    for axis, sign in ((1, -1), (1, 1), (0, 1), (0, -1)):  # from the top, the bottom, the left, the right
        taken, places = list(squares), []
        for number in sorted(range(len(points)), key=lambda each: (sign * centres[each][axis], each)):
            place = min(_places(centres[number], sizes[number], scale, taken, inside), key=lambda each: each.cost)
            taken.append(place.box)
            places.append((number, place))
        found.append(places)
    cheapest = min(found, key=lambda places: sum(place.cost for _, place in places))
    return [(points[number], (centres[number][0], centres[number][1]), place) for number, place in cheapest]


def _places(
    centre: tuple[float, ...], size: tuple[float, float], scale: float, taken: Sequence[Bbox], inside: Bbox
) -> list[Place]:
    """All places of a label; what it covers costs most, then its distance, then its direction."""
    places = []
    for distance in DISTANCES:
        for rank, angle in enumerate(ANGLES):
            across, up = math.cos(math.radians(angle)), math.sin(math.radians(angle))
            x = centre[0] + distance * scale * across + (across - 1) / 2 * size[0]
            y = centre[1] + distance * scale * up + (up - 1) / 2 * size[1]
            box = Bbox.from_extents(x, y, x + size[0], y + size[1])
            covered = sum(_overlap(box, other) for other in taken) + size[0] * size[1] - _overlap(box, inside)
            places.append(Place(100 * round(covered) + 10 * distance + rank, box, distance, across, up))
    return places


def _text_size(axes: Axes, label: str) -> tuple[float, float]:
    """Width and height in pixels."""
    text = axes.annotate(label, (0, 0), xycoords="axes fraction", fontsize=FONT_SIZE)
    extent = text.get_window_extent()
    text.remove()
    return extent.width, extent.height


def _overlap(one: Bbox, other: Bbox) -> float:
    """The area that two boxes share."""
    width = min(one.x1, other.x1) - max(one.x0, other.x0)
    height = min(one.y1, other.y1) - max(one.y0, other.y0)
    return max(width, 0.0) * max(height, 0.0)

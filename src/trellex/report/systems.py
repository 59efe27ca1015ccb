"""The systems of a direction: what one can choose to translate with, and which of them no other beats."""

from __future__ import annotations

from collections.abc import Iterable

from trellex.evaluation.result import Result
from trellex.heads.spec import HeadSpec
from trellex.report.result_set import Direction, Method


def systems(direction: Direction) -> dict[str, Method]:
    """All methods by name and, behind each softmax that was tried with a shortlist, that as a method of its own."""
    found: dict[str, Method] = {}
    for name, method in direction.methods.items():
        found[name] = method
        listed = tuple(_listed(result) for result in method.results if result.selection)
        if listed:
            found[listed[0].cell.listed_method] = Method(method.head, listed)
    return found


def spelled_too(direction: Direction) -> dict[str, Method]:
    """All methods by name and, behind each that can read unknown source words by their spelling, that it does."""
    found: dict[str, Method] = {}
    for name, method in direction.methods.items():
        found[name] = method
        spelled = tuple(_as_spelled(result) for result in method.results if result.spelled)
        if spelled:
            found[spelled[0].cell.spelled_method] = Method(method.head, spelled)
    return found


def listed_methods(results: Iterable[Result]) -> dict[str, HeadSpec]:
    """The heads of those with a shortlist by name."""
    cells = (result.cell for result in results if result.selection)
    return {cell.listed_method: cell.head for cell in cells}


def pareto_front(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """Those that no other beats by less time or higher quality without being worse in the other. (time, quality)"""
    front: list[tuple[float, float]] = []
    for time, quality in sorted(points, key=lambda point: (point[0], -point[1])):
        if not front or quality > front[-1][1]:
            front.append((time, quality))
    return front


def _as_spelled(result: Result) -> Result:
    """What a result tells of its model when that reads unknown words by their spelling."""
    return result.model_copy(update={"scores": result.spelled, "bands": result.spelled_bands or []})


def _listed(result: Result) -> Result:
    """What a result tells of its softmax with a shortlist: fewer outputs, and no perplexity over all words."""
    assert result.selection is not None
    size = result.size.model_copy(
        update={"outputs": round(result.selection.list_words), "multiply_adds": None},
    )
    timing = result.timing and result.timing.model_copy(update={"int8": result.timing.listed, "compact": None})
    changes = {"scores": result.selection.scores, "perplexity": None, "size": size, "timing": timing}
    return result.model_copy(update=changes)

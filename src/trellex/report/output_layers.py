"""Which output layer: the quality, size and time of all systems of a direction in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import attrgetter
from statistics import fmean

from trellex.evaluation.result import Pace, Timing
from trellex.report.blocks import Table
from trellex.report.formatting import mean, significant, spread
from trellex.report.paper_table import how_timed, seeds
from trellex.report.result_set import BEAM, GREEDY, Direction, Method
from trellex.report.systems import systems

INT8, COMPACT = attrgetter("int8"), attrgetter("compact")  # exports that were timed
MILLISECONDS = attrgetter("sentence")


def output_layers(direction: Direction) -> Table | None:
    """A row for every method and every softmax with a shortlist; none of results without times in int8.

    The last columns have the sizes of exports, and times of compact ones, where any are known.
    """
    rows = systems(direction)
    if not any(map(int8_milliseconds, rows.values())):
        return None
    text = f"text BLEU ({direction.text_unit})"
    headings = ["method", "BLEU, greedy", "BLEU, beam 5", f"{text}, greedy", f"{text}, beam 5", "perplexity, dev"]
    headings += ["#out", "output parameters", "all parameters", "train, ms a batch", "CPU int8, ms a sentence"]
    headings.append("steps a sentence")
    exports = {title: figure for title, figure in EXPORTS.items() if any(map(figure, rows.values()))}
    headings += exports
    notes = [*_list_notes(rows), *how_timed(direction), *_apart_note(direction)]
    table = Table(f"{direction.title}: output layers ({seeds(direction)})", headings, notes=notes)
    for name, method in rows.items():
        size = method.first.size
        table.add(
            name,
            spread(method.token_bleu(GREEDY)),
            spread(method.token_bleu(BEAM)),
            spread(method.text_bleu(GREEDY)),
            spread(method.text_bleu(BEAM)),
            spread(method.values(lambda result: result.perplexity)),
            f"{size.outputs:,}",
            f"{size.output_parameters:,}",
            f"{size.all_parameters:,}",
            significant(mean(_timed(method, lambda timing: timing.train_batch))),
            significant(mean(int8_milliseconds(method))),
            significant(mean(_paces(method, lambda pace: pace.steps))),
            *(significant(mean(figure(method))) for figure in exports.values()),
        )
    return table


def int8_milliseconds(method: Method) -> list[float]:
    """What a sentence takes in int8 on a CPU, of each seed that was timed so."""
    return _paces(method, MILLISECONDS)


def _timed(method: Method, figure: Callable[[Timing], float | None]) -> list[float]:
    return method.values(lambda result: figure(result.timing) if result.timing else None)


def _paces(
    method: Method, figure: Callable[[Pace], float | None], export: Callable[[Timing], Pace | None] = INT8
) -> list[float]:
    def of_export(timing: Timing) -> float | None:
        pace = export(timing)
        return figure(pace) if pace else None

    return _timed(method, of_export)


def _megabytes(pace: Pace) -> float | None:
    return None if pace.bytes is None else pace.bytes / 1e6


EXPORTS: dict[str, Callable[[Method], list[float]]] = {
    "int8, MB": lambda method: _paces(method, _megabytes),
    "compact, MB": lambda method: _paces(method, _megabytes, COMPACT),
    "compact, ms a sentence": lambda method: _paces(method, MILLISECONDS, COMPACT),
}


def _apart_note(direction: Direction) -> list[str]:
    """That not all were timed in turns, if so."""
    begun = {result.timing.begun for result in direction.results if result.timing and result.timing.int8}
    return ["Not all systems took turns: they were timed on several occasions."] if len(begun) > 1 else []


def _list_notes(rows: Mapping[str, Method]) -> list[str]:
    """What lists have, a note for all systems with the same."""
    names: dict[str, list[str]] = {}
    for name, method in rows.items():
        selections = [result.selection for result in method.results if result.selection]
        if selections and name == method.first.cell.listed_method:
            words, recall = fmean(each.list_words for each in selections), fmean(each.recall for each in selections)
            told = f"lists of {words:,.0f} tokens on average have {100 * recall:.2f} % of the references' known tokens"
            names.setdefault(told, []).append(name)
    return [f"{', '.join(own)}: {told}." for told, own in names.items()]

"""Tables of quality beyond the paper's: intervals, beams, wrong bits, frequent and rare words."""

from __future__ import annotations

import numpy as np

from trellex.evaluation.bootstrap import bootstrap
from trellex.evaluation.result import Score
from trellex.report.bands import (
    Bands,
    bleu_by_length,
    bleu_by_rarest_word,
    bleu_by_unknown_words,
    spelled_word_f1,
    word_f1,
)
from trellex.report.blocks import Table
from trellex.report.comparisons import cells, compared
from trellex.report.formatting import ABSENT, spread
from trellex.report.paper_table import seeds
from trellex.report.result_set import BEAM, GREEDY, Direction, Method


def scores(direction: Direction) -> Table:
    """BLEU by greedy and beam search with the best checkpoint, and how sure the differences to softmax are."""
    headings = [
        "method",
        "dev, best",
        "test, greedy",
        "95 % interval",
        "test, beam 5",
        f"text ({direction.text_unit}), beam 5",
    ]
    headings += ["length, beam 5", "to softmax, beam 5", "95 % interval", "p"]
    scores = [score for result in direction.results for score in result.scores.values()]
    used = sorted({signature for score in scores for signature in score.signatures})
    notes = [f"sacreBLEU signatures: {', '.join(used)}."]
    table = Table(f"{direction.title}: BLEU of the best checkpoint ({seeds(direction)})", headings, notes=notes)
    for name, method in direction.methods.items():
        table.add(
            name,
            spread(method.values(lambda result: result.best.dev)),
            spread(method.token_bleu(GREEDY)),
            _interval(method),
            spread(method.token_bleu(BEAM)),
            spread(method.text_bleu(BEAM)),
            spread(method.of_scores(BEAM, _length)),
            *cells(compared(method, direction.methods.get(direction.softmax_of(name)), BEAM)),
        )
    return table


def bit_errors(direction: Direction) -> Table | None:
    """Wrong bits before and after correction; none if no method has bits."""
    headings = ["method", "before", "after", "wrong words", "predictions"]
    table = Table(f"{direction.title}: wrong bits, % ({seeds(direction)})", headings)
    for name, method in direction.methods.items():
        found = [result.bit_errors for result in method.results if result.bit_errors]
        if found:
            figures = ([x.before for x in found], [x.after for x in found], [x.words for x in found])
            shares = [spread([100 * value for value in values]) for values in figures]
            table.add(name, *shares, f"{found[0].predictions:,}")
    return table if table.rows else None


def bleu_bands(direction: Direction) -> Table | None:
    """BLEU of sentences by their rarest word; none if no method has words."""
    bands = bleu_by_rarest_word(direction)
    caption = f"{direction.title}: BLEU by the rank of the rarest word ({seeds(direction)})"
    return bands and _bands(caption, bands, "sentences")


def unknown_bands(direction: Direction) -> Table | None:
    """BLEU of sentences by whether their source has unknown words; none if there are none."""
    bands = bleu_by_unknown_words(direction)
    caption = f"{direction.title}: BLEU by unknown words of the source ({seeds(direction)})"
    return bands and _bands(caption, bands, "sentences")


def length_bands(direction: Direction) -> Table | None:
    """BLEU of sentences by the length of their references; none without beam search."""
    bands = bleu_by_length(direction, BEAM)
    caption = f"{direction.title}: BLEU with beam 5 by length of the reference ({seeds(direction)})"
    return bands and _bands(caption, bands, "sentences")


def f1_bands(direction: Direction) -> Table | None:
    """F1 of words by frequency; none if no method has words."""
    bands = word_f1(direction)
    return bands and _bands(f"{direction.title}: F1 of words by rank, % ({seeds(direction)})", bands, "words")


def spelled_f1_bands(direction: Direction) -> Table | None:
    """The same with and without reading unknown source words by their spelling; none if no method can."""
    bands = spelled_word_f1(direction)
    caption = f"{direction.title}: F1 of words by rank, with and without spelling, % ({seeds(direction)})"
    return bands and _bands(caption, bands, "words")


def _bands(caption: str, bands: Bands, unit: str) -> Table:
    table = Table(caption, ["method", *(f"{group.label} ({group.size:,} {unit})" for group in bands.groups)])
    for name, by_seed in bands.values.items():
        table.add(name, *(spread(values) for values in zip(*by_seed, strict=True)))
    return table


def _length(score: Score) -> float:
    """Tokens of the translations in percent of those of the references."""
    translations, references = np.array(score.sentences)[:, :2].sum(0)
    return float(100 * translations / max(references, 1))


def _interval(method: Method) -> str:
    """Of the first seed."""
    score = method.first.scores.get(GREEDY)
    if score is None:
        return ABSENT
    low, high = bootstrap(score.sentences)
    return f"{low:.2f}–{high:.2f}"

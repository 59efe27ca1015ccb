"""Tables of quality beyond the paper's: intervals, beams, wrong bits, frequent and rare words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from trellex.evaluation.bootstrap import bootstrap, paired_bootstrap
from trellex.evaluation.result import Result, Score
from trellex.report.bands import Bands, bleu_by_length, bleu_by_rarest_word, word_f1
from trellex.report.blocks import Table
from trellex.report.formatting import ABSENT, signed, spread
from trellex.report.paper_table import seeds
from trellex.report.result_set import Direction, Method

GREEDY, BEAM = "greedy", "beam 5"


def scores(direction: Direction) -> Table:
    """BLEU by greedy and beam search with the best checkpoint, and how sure the differences to softmax are."""
    unit = "characters" if direction.name.endswith(("-ja", "-ko", "-zh")) else "13a"
    headings = ["method", "dev, best", "test, greedy", "95 % interval", "test, beam 5", f"text ({unit}), beam 5"]
    headings += ["length, beam 5", "to softmax, beam 5", "95 % interval", "p"]
    scores = [score for result in direction.results for score in result.scores.values()]
    used = sorted({signature for score in scores for signature in score.signatures})
    notes = [f"sacreBLEU signatures: {', '.join(used)}."]
    table = Table(f"{direction.title}: BLEU of the best checkpoint ({seeds(direction)})", headings, notes=notes)
    softmax = direction.methods.get("softmax")
    for name, method in direction.methods.items():
        table.add(
            name,
            spread(method.values(lambda result: result.best.dev)),
            spread(_bleu(method, GREEDY)),
            _interval(method),
            spread(_bleu(method, BEAM)),
            spread(method.values(lambda result: _score(result, BEAM, lambda score: score.text_bleu))),
            spread(method.values(lambda result: _score(result, BEAM, _length))),
            *_to_softmax(method, softmax),
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


def bleu_bands(direction: Direction) -> Table:
    """BLEU of sentences by their rarest word."""
    caption = f"{direction.title}: BLEU by the rank of the rarest word ({seeds(direction)})"
    return _bands(caption, bleu_by_rarest_word(direction), "sentences")


def length_bands(direction: Direction) -> Table | None:
    """BLEU of sentences by the length of their references; none without beam search."""
    bands = bleu_by_length(direction, BEAM)
    caption = f"{direction.title}: BLEU with beam 5 by length of the reference ({seeds(direction)})"
    return bands and _bands(caption, bands, "sentences")


def f1_bands(direction: Direction) -> Table:
    """F1 of words by frequency."""
    return _bands(f"{direction.title}: F1 of words by rank, % ({seeds(direction)})", word_f1(direction), "words")


def _bands(caption: str, bands: Bands, unit: str) -> Table:
    table = Table(caption, ["method", *(f"{group.label} ({group.size:,} {unit})" for group in bands.groups)])
    for name, by_seed in bands.values.items():
        table.add(name, *(spread(values) for values in zip(*by_seed, strict=True)))
    return table


def _score(result: Result, search: str, figure: Callable[[Score], float]) -> float | None:
    return figure(result.scores[search]) if search in result.scores else None


def _length(score: Score) -> float:
    """Tokens of the translations in percent of those of the references."""
    translations, references = np.array(score.sentences)[:, :2].sum(0)
    return float(100 * translations / max(references, 1))


def _bleu(method: Method, search: str) -> list[float]:
    return method.values(lambda result: _score(result, search, lambda score: score.token_bleu))


def _statistics(method: Method, search: str) -> NDArray[np.int64] | None:
    """Of the first seed. -> [S, 10]"""
    score: Score | None = method.first.scores.get(search)
    return None if score is None else np.array(score.sentences, np.int64)


def _interval(method: Method) -> str:
    statistics = _statistics(method, GREEDY)
    if statistics is None:
        return ABSENT
    low, high = bootstrap(statistics)
    return f"{low:.2f}–{high:.2f}"


def _to_softmax(method: Method, softmax: Method | None) -> tuple[str, str, str]:
    """Difference, interval and p."""
    ours = _statistics(method, BEAM)
    theirs = None if softmax is None or method is softmax else _statistics(softmax, BEAM)
    if ours is None or theirs is None:
        return ABSENT, ABSENT, ABSENT
    found = paired_bootstrap(ours, theirs)
    return signed(found.difference), f"{signed(found.low)} to {signed(found.high)}", f"{found.p_value:.3f}"

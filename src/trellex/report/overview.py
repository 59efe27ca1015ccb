"""The overview of a direction: what every output layer costs, and how well it translates, in one table."""

from __future__ import annotations

from trellex.evaluation.result import Result
from trellex.report.blocks import Table
from trellex.report.formatting import ABSENT, share, spread
from trellex.report.paper_table import seeds
from trellex.report.result_set import BEAM, GREEDY, Direction

RARE = 10_000  # the rank from which on words are rare


def overview(direction: Direction) -> Table | None:
    """Parameters, multiply-adds, perplexity, BLEU and F1 of rare words; none of results older than perplexity."""
    if all(result.perplexity is None for result in direction.results):
        return None
    headings = ["method", "output parameters", "of softmax's", "multiply-adds", "of softmax's", "perplexity, dev"]
    headings += ["dev, best", "test, greedy", "test, beam 5", f"F1 of words from rank {RARE:,} on"]
    table = Table(f"{direction.title}: cost and quality ({seeds(direction)})", headings)
    for name, method in direction.methods.items():
        size = next((each.size for each in method.results if each.size.multiply_adds), method.first.size)
        table.add(
            name,
            f"{size.output_parameters:,}",
            share(size.times_smaller),
            ABSENT if size.multiply_adds is None else f"{size.multiply_adds:,}",
            share(size.times_fewer_multiply_adds),
            spread(method.values(lambda result: result.perplexity)),
            spread(method.values(lambda result: result.best.dev)),
            spread(method.token_bleu(GREEDY)),
            spread(method.token_bleu(BEAM)),
            spread(method.values(_rare_f1)),
        )
    return table


def _rare_f1(result: Result) -> float | None:
    """Of known words; none if the vocabulary has no such ranks."""
    found = (band.f1 for band in result.bands if RARE == band.first_rank < result.size.vocabulary)
    return next(found, None)

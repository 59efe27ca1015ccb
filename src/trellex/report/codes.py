"""Codes of words: how well output layers translate that differ in nothing but where their codes come from."""

from __future__ import annotations

from trellex.evaluation.bit_errors import BitErrors
from trellex.heads.free_spec import FreeSpec
from trellex.heads.spec import CodedSpec, HeadSpec
from trellex.report.blocks import Table
from trellex.report.formatting import spread
from trellex.report.paper_table import seeds
from trellex.report.result_set import BEAM, GREEDY, Direction, Method


def codes(direction: Direction) -> Table | None:
    """BLEU, perplexity and wrong bits, a row a code, those of one output layer together; none if no layer has two.

    Free codes, which have a layer of their own, come last.
    """
    layers: dict[str, list[Method]] = {}
    for method in direction.methods.values():
        if isinstance(method.head, CodedSpec) and method.head.has_code:
            layers.setdefault(_without_code(method.head), []).append(method)
    compared = {layer: methods for layer, methods in layers.items() if len(set(map(_code_of, methods))) > 1}
    if not compared:
        return None
    free = [method for method in direction.methods.values() if isinstance(method.head, FreeSpec)]
    headings = ["output layer", "code", "dev, best", "test, greedy", "test, beam 5", "perplexity, dev"]
    headings += ["wrong bits, %", "after correction", "wrong words"]
    table = Table(f"{direction.title}: codes of words ({seeds(direction)})", headings)
    for layer, methods in [*compared.items(), ("free", free)]:
        for method in methods:
            errors = [result.bit_errors for result in method.results if result.bit_errors]
            table.add(
                layer,
                ", ".join(part for part in (_code_of(method), method.first.cell.variant) if part),
                spread(method.values(lambda result: result.best.dev)),
                spread(method.token_bleu(GREEDY)),
                spread(method.token_bleu(BEAM)),
                spread(method.values(lambda result: result.perplexity)),
                *(_percent(errors, figure) for figure in ("before", "after", "words")),
            )
    return table


def _without_code(head: HeadSpec) -> str:
    """What an output layer is but for its code."""
    return HeadSpec.parse({name: value for name, value in head.options().items() if name != "code"}).label


def _code_of(method: Method) -> str:
    if isinstance(method.head, FreeSpec):
        return f"{method.head.bits} bits that learn"
    assert isinstance(method.head, CodedSpec)
    return method.head.code if isinstance(method.head.code, str) else "of a file"


def _percent(errors: list[BitErrors], figure: str) -> str:
    return spread([100 * getattr(each, figure) for each in errors])

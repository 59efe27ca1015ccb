"""Codes of words: how well output layers translate that differ in nothing but where their codes come from."""

from __future__ import annotations

from collections.abc import Sequence

from trellex.evaluation.bit_errors import BitErrors
from trellex.heads.coded_spec import CodedSpec
from trellex.heads.free_spec import FreeSpec
from trellex.heads.spec import HeadSpec
from trellex.report.blocks import Table
from trellex.report.formatting import spread
from trellex.report.paper_table import seeds
from trellex.report.result_set import BEAM, GREEDY, Direction, Method

WRONG = {"wrong bits, %": "before", "after correction": "after", "wrong words": "words"}


def codes(direction: Direction) -> Table | None:
    """BLEU, perplexity and wrong bits, a row a code, those of one output layer together; none if no layer has two.

    Free codes, which have a layer of their own, come last. Where no bits are read one by one, none can be wrong.
    """
    layers: dict[str, list[Method]] = {}
    free: dict[str, list[Method]] = {}
    for method in direction.methods.values():
        if isinstance(method.head, CodedSpec) and method.head.has_code:
            layers.setdefault(_named(_without_code(method.head), method.first.cell.cut), []).append(method)
        elif isinstance(method.head, FreeSpec):
            free.setdefault(_named("free", method.first.cell.cut), []).append(method)
    compared = {layer: methods for layer, methods in layers.items() if _has_two_codes(methods)}
    if not compared:
        return None
    rows = [(layer, method) for layer, methods in (compared | free).items() for method in methods]
    wrong = {
        heading: figure
        for heading, figure in WRONG.items()
        if any(result.bit_errors for _, method in rows for result in method.results)
    }
    headings = ["output layer", "code", "dev, best", "test, greedy", "test, beam 5", "perplexity, dev", *wrong]
    table = Table(f"{direction.title}: codes of words ({seeds(direction)})", headings)
    for layer, method in rows:
        errors = [result.bit_errors for result in method.results if result.bit_errors]
        table.add(
            layer,
            _named(_code_of(method), method.first.cell.variant),
            spread(method.values(lambda result: result.best.dev)),
            spread(method.token_bleu(GREEDY)),
            spread(method.token_bleu(BEAM)),
            spread(method.values(lambda result: result.perplexity)),
            *(_percent(errors, figure) for figure in wrong.values()),
        )
    return table


def _named(name: str, what: str | None) -> str:
    return f"{name}, {what}" if what else name


def _has_two_codes(methods: Sequence[Method]) -> bool:
    """Whether some of these differ in nothing else."""
    codes: dict[str | None, set[str]] = {}
    for method in methods:
        codes.setdefault(method.first.cell.variant, set()).add(_code_of(method))
    return max(map(len, codes.values())) > 1


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

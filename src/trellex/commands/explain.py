"""Show how a translation came about."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Annotated

import typer

from trellex.terminal import Json, Model, Verify, errors_explained, examples

if TYPE_CHECKING:
    from rich.text import Text

    from trellex.explanation import ExplainedWord, Explanation
    from trellex.heads.evidence import Reading

CORRECTED = "⓪①"  # bits that the network alone would have read otherwise


@examples('trellex explain phrasebook.int8 "where is the nearest museum ?" --beam 5')
def explain(
    model: Model,
    line: Annotated[str, typer.Argument(help="A sentence.")],
    beam: Annotated[int, typer.Option(min=1, help="Hypotheses; 1 is greedy search.")] = 1,
    sample: Annotated[bool, typer.Option("--sample", help="Draw a translation at random.")] = False,
    temperature: Annotated[float, typer.Option(help="Of sampling.")] = 1.0,
    seed: Annotated[int | None, typer.Option(min=0, help="Of sampling.")] = None,
    best: Annotated[int, typer.Option(min=1, max=20, help="How many of the best words to tell of every place.")] = 3,
    verify: Verify = True,
    as_json: Json = False,
) -> None:
    """A translation word by word: its probability, the bits it was read from, and the best words in its place.

    Bits in circles are those that the network alone would have read otherwise: the trellis corrected them. Words of
    a softmax have no bits; those on shelves, the bits of their shelf.
    """
    with errors_explained():
        from trellex.explanation import explain as explanation_of
        from trellex.search import SearchSettings
        from trellex.translator import load

        if not line.strip():
            raise ValueError("line: is empty; give a sentence")
        settings = SearchSettings(beam=beam, sample=sample, temperature=temperature)
        translator = load(model, verify=verify)
        explanation_of(translator, line, settings, best, seed)  # the first time, code is compiled or loaded
        found = explanation_of(translator, line, settings, best, seed)
        if as_json:
            print(json.dumps(found.facts(), ensure_ascii=False))
        else:
            _show(found)


def _show(found: Explanation) -> None:
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table("word", "P", "bits", "best", "looked at", box=None, header_style="bold", pad_edge=False)
    table.columns[2].min_width = max((len(_bits(word)) for word in found.words), default=0)
    for word in found.words:
        rivals = ", ".join(f"{found.name(each.word)} {_percent(each.log_prob)}" for each in word.evidence.best)
        looked_at = found.source[word.attention.index(max(word.attention))] if word.attention else ""
        table.add_row(escape(word.token), _percent(word.log_prob), _bits(word), escape(rivals), escape(looked_at))
    console = Console()
    console.print(found.text, markup=False, highlight=False)
    console.print()
    console.print(table)
    console.print()
    spent = (f"{part.replace('_', ' ')} {value:.2f} ms" for part, value in found.milliseconds.items())
    console.print(", ".join(spent), highlight=False)


def _bits(word: ExplainedWord) -> Text:
    from rich.text import Text

    reading: Reading | None = word.evidence.reading
    if reading is None:
        return Text("softmax", style="dim")
    told, corrected = Text(), set(reading.corrected)
    for place, bit in enumerate(reading.code_word or reading.bits):
        told.append(CORRECTED[bit] if place in corrected else str(bit), "bold cyan" if place in corrected else "")
    if word.evidence.shelves is not None:
        told.append(f" shelf {reading.number:,}", "dim")
    return told


def _percent(log_prob: float) -> str:
    return f"{100 * math.exp(log_prob):.1f}%"

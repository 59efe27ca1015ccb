"""Prepare a corpus."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from trellex.terminal import Json, errors_explained, examples, stderr, warn, with_options_of
from trellex.text import Manifest, PrepareSettings
from trellex.text import prepare as prepare_corpus
from trellex.text.doubts import doubts
from trellex.text.manifest import SIDES, SideFacts

BothTokenizers = Annotated[
    str | None, typer.Option(help="What cuts a side that has no tokenizer of its own, such as whitespace or bpe.")
]
FILES = (
    "--train-source train.en --train-target train.ja --dev-source dev.en --dev-target dev.ja "
    "--source-language en --target-language ja"
)


@examples(
    f"trellex prepare data {FILES}",
    f"trellex prepare data {FILES} --tokenizer whitespace",
    f"trellex prepare data {FILES} --tokenizer bpe --target-vocab-size 16000",
)
@with_options_of(PrepareSettings)
def prepare(
    folder: Annotated[Path, typer.Argument(help="Where to put the prepared corpus.")],
    *,
    tokenizer: BothTokenizers = None,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Turn line-aligned text into a folder of word ids that training reads, and tell what is in it.

    Does nothing if nothing changed.
    """
    with errors_explained():
        facts = prepare_and_tell(folder, tokenizer, options, as_json)
        if as_json:
            print(json.dumps(facts, ensure_ascii=False))


def prepare_and_tell(folder: Path, tokenizer: str | None, options: dict[str, Any], quiet: bool) -> dict[str, Any]:
    """Prepare a corpus, and warn of what looks wrong; returns what is in it, and prints that unless told not to."""
    given = dict.fromkeys((f"{side}_tokenizer" for side in SIDES), tokenizer) if tokenizer else {}
    given |= {name: value for name, value in options.items() if value is not None}
    settings = PrepareSettings(**given)
    columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,}"), TimeElapsedColumn()
    with Progress(*columns, console=stderr, disable=not stderr.is_terminal) as progress:
        tasks: dict[str, Any] = {}

        def report(stage: str, done: int, total: int | None) -> None:
            if stage not in tasks:
                tasks[stage] = progress.add_task(stage, total=total)
            progress.update(tasks[stage], completed=done, total=total)

        manifest = prepare_corpus(settings, folder, report)
    found = doubts(manifest)
    if not quiet:
        Console().print(_table(folder, manifest))
    for doubt in found:
        warn(doubt)
    return _facts(folder, manifest) | {"warnings": found}


def _facts(folder: Path, manifest: Manifest) -> dict[str, Any]:
    facts: dict[str, Any] = {"folder": str(folder)}
    facts |= {f"{name} pairs": split.pairs for name, split in manifest.splits.items()}
    facts |= {"source words": manifest.source_vocabulary, "target words": manifest.target_vocabulary}
    for side in SIDES:
        settings = ("language", "tokenizer", "lowercase")
        facts[side] = {name: getattr(manifest.settings, f"{side}_{name}") for name in settings}
        facts[side]["min_count"] = getattr(manifest, f"{side}_min_count")
    return facts | {"splits": {name: split.model_dump() for name, split in manifest.splits.items()}}


def _table(folder: Path, manifest: Manifest) -> Table:
    """A column for each split; rows for the pairs, and for each side. What only training has stands in its column."""
    splits, settings = manifest.splits, manifest.settings
    table = Table("", *splits, title=escape(str(folder)), title_justify="left", box=None)
    for column in table.columns[1:]:
        column.justify = "right"

    def row(name: str, values: Sequence[float | None], form: str = ",") -> None:
        if any(value is not None for value in values):  # corpora of older versions know less
            table.add_row(name, *("" if value is None else format(value, form) for value in values))

    row("pairs", [split.pairs for split in splits.values()])
    row("left out as too short", [splits["train"].dropped_short])
    row("left out as too long", [splits["train"].dropped_long])
    row("in train, too", [split.in_train for split in splits.values()])
    for side in SIDES:
        facts: list[SideFacts] = [getattr(split, side) for split in splits.values()]
        language, tokenizer = getattr(settings, f"{side}_language"), getattr(settings, f"{side}_tokenizer")
        table.add_row()
        table.add_row(f"[bold]{side}: {escape(language)}, {tokenizer}[/]")
        row("vocabulary", [getattr(manifest, f"{side}_vocabulary")])
        row("min count", [getattr(manifest, f"{side}_min_count")])
        row("tokens it covers", [1 - facts[0].unknown_rate], ".2%")
        row("types", [facts[0].types])
        row("tokens", [each.tokens for each in facts])
        row("unknown tokens", [each.unknown_rate for each in facts], ".2%")
        row("length, mean", [each.mean_length for each in facts], ".1f")
        row("length of 95 %, at most", [each.length_95 for each in facts])
        row("length, greatest", [each.max_length for each in facts])
    return table

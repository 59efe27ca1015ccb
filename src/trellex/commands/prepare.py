"""Prepare a corpus."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from trellex.terminal import Json, errors_explained, examples, show, stderr, with_options_of
from trellex.text import PrepareSettings
from trellex.text import prepare as prepare_corpus


@examples(
    "trellex prepare data --train-source train.en --train-target train.ja --dev-source dev.en "
    "--dev-target dev.ja --source-language en --target-language ja --target-tokenizer whitespace"
)
@with_options_of(PrepareSettings)
def prepare(
    folder: Annotated[Path, typer.Argument(help="Where to put the prepared corpus.")],
    *,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Turn line-aligned text into a folder of word ids that training reads. Does nothing if nothing changed."""
    with errors_explained():
        settings = PrepareSettings(**options)
        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,}"), TimeElapsedColumn()
        with Progress(*columns, console=stderr, disable=not stderr.is_terminal) as progress:
            tasks: dict[str, Any] = {}

            def report(stage: str, done: int, total: int | None) -> None:
                if stage not in tasks:
                    tasks[stage] = progress.add_task(stage, total=total)
                progress.update(tasks[stage], completed=done, total=total)

            manifest = prepare_corpus(settings, folder, report)
        result: dict[str, Any] = {"folder": str(folder)}
        for name, split in manifest.splits.items():
            result[f"{name} pairs"] = split.pairs
        result |= {"source words": manifest.source_vocabulary, "target words": manifest.target_vocabulary}
        show(result, as_json)

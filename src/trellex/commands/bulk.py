"""What `trellex translate` does with `--shard` or `--ray`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from trellex.terminal import complain, stderr, tell, warn

if TYPE_CHECKING:
    from trellex.bulk.job import Job
    from trellex.bulk.shard import Finished


def check_for_ray(ray: bool, **options: object) -> None:
    """Raises ValueError that names an option which is for Ray alone, without that."""
    _check_none(options, not ray, "is for --ray; add that, or leave it out")


def check_for_shards(is_bulk: bool, **options: object) -> None:
    """The same for those of Parquet."""
    _check_none(options, not is_bulk, "is of Parquet, which is translated in shards; add --shard all")


def check_for_lines(is_bulk: bool, **options: object) -> None:
    """The same for those that shards have no place for."""
    _check_none(options, is_bulk, "shards go into a folder, which is the last argument; leave the option out")


def bulk_job(
    model: Path,
    texts: Sequence[Path],
    column: str | None,
    new_column: str | None,
    how: dict[str, Any],
    **run: Any,
) -> Job:
    """What is asked for. Raises ValueError if some of it does not go together.

    how, run: the settings of all shards, and of this process
    """
    from trellex.bulk.job import Job, Settings
    from trellex.bulk.sources import find_sources, kind_of

    if len(texts) != 2:
        given = " ".join(map(str, texts)) or "nothing"
        raise ValueError(f"shard: give text, a file or a folder, and a folder for translations: IN OUT; got {given}")
    place, output = texts
    kind = kind_of(list(find_sources(place)))
    if kind == "lines" and (column is not None or new_column is not None):
        raise ValueError(f"column: {place} has lines, no columns; leave it out, or name it .parquet if it is that")
    if kind == "parquet" and how["scores"]:
        raise ValueError("json: of Parquet the best translation is a column; leave --json and --nbest out")
    if how["sample"] and how["seed"] is None:
        raise ValueError("seed: a shard that begins again is to become the same; add --seed")
    names = {"column": column or "text", "new_column": new_column or "translation"}
    settings = Settings(**how, **(names if kind == "parquet" else {}))
    return Job(model=model, texts=place, output=output, settings=settings, **run)


def translate_bulk(job: Job, shard: str, ray: bool, ray_address: str | None, workers: int | None) -> None:
    """Translate one shard or all, those that are finished aside, and tell what came of it."""
    from trellex.bulk.division import parse_shard
    from trellex.bulk.plan import open_plan
    from trellex.bulk.shard import finished
    from trellex.line_progress import LineProgress

    number, shards = parse_shard(shard)
    plan = open_plan(
        job,
        shards,
        lambda: tell(f"{job.output}: waiting for another process that divides the text"),
        lambda: tell(f"{job.texts}: reading all of it once, to divide it into shards"),
    )
    wanted = range(1, plan.shards + 1) if number is None else [number]
    records = {each: finished(job, plan, each) for each in wanted}
    left = [each for each, record in records.items() if record is None]
    if len(left) < len(records):
        tell(f"{len(records) - len(left):,} of {len(records):,} shards are finished already")
    rows = sum(plan.rows_of(each) for each in left)
    with LineProgress(stderr, (), stderr.is_terminal and bool(left), rows) as progress:
        found: Iterator[tuple[int, Finished]] = iter(())
        if ray and left:
            from trellex.bulk.ray_workers import translate_by_ray

            found = translate_by_ray(job, plan, left, warn, ray_address, workers)
        elif left:
            from trellex.bulk.here import translate_here

            found = translate_here(job, plan, left, progress.add_count, waits=number is None)
        for each, record in found:
            records[each] = record
            for problem in record.problems:
                complain(problem)
            if ray:
                progress.add_count(record.rows)
    untranslated = sum(record.untranslated for record in records.values() if record is not None)
    done = sum(plan.rows_of(each) for each in wanted)
    if untranslated:
        tell(f"{untranslated:,} of {done:,} lines could not be translated and are empty; --strict stops at one")
        raise typer.Exit(1)


def _check_none(options: dict[str, object], is_wrong: bool, problem: str) -> None:
    given = next((name for name, value in options.items() if value is not None), None)
    if is_wrong and given is not None:
        raise ValueError(f"{given}: {problem}")

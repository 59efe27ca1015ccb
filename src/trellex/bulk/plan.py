"""The plan of a bulk translation: what is translated, by which model and how, and where shards begin.

Whoever comes first writes it into the output folder; all others must ask for the same.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from trellex.bulk.division import MOST_SHARDS, Piece, pieces, rows_of, usual_shards
from trellex.bulk.job import Job, Settings
from trellex.bulk.sources import Kind, Mark, Source, check_unchanged, find_sources, kind_of, measure, measure_lines
from trellex.checksums import sha256
from trellex.files import check_writable, resolved
from trellex.kinds import CHECKPOINT_FILE, EXPORT_FILE
from trellex.locks import exclusive
from trellex.models import find_model
from trellex.records import Sealed
from trellex.runtime.folder import is_export
from trellex.temporaries import make_folder, sweep

STATE = "_trellex"  # what is not output; readers of folders of Parquet leave such names out
FILE = "plan.json"
WHAT, REMEDY = "the plan of a bulk translation", "choose another output folder"


class Plan(Sealed):
    """The file that makes a folder the output of a bulk translation."""

    format: Literal["trellex-bulk"] = "trellex-bulk"
    version: Literal[1] = 1
    kind: Kind
    shards: int = Field(ge=1, le=MOST_SHARDS)
    model: str  # SHA-256 of the file that has those of its others
    settings: Settings
    sources: list[Source]
    marks: list[Mark] = Field([])  # of files that are not packed: for each shard, where in its first file to begin

    @model_validator(mode="after")
    def _has_a_mark_for_each_shard(self) -> Self:
        if self.marks and len(self.marks) != self.shards:
            raise ValueError(f"marks: expected {self.shards}, got {len(self.marks)}")
        return self

    @cached_property
    def ends(self) -> list[int]:
        """How many rows there are up to the end of each file."""
        return list(accumulate(source.rows for source in self.sources))

    @property
    def rows(self) -> int:
        return self.ends[-1] if self.ends else 0

    def rows_of(self, number: int) -> int:
        rows = rows_of(number, self.shards, self.rows)
        return rows.stop - rows.start  # which `len` cannot tell of very many

    def pieces(self, number: int) -> Iterator[tuple[Piece, Mark]]:
        """Those of a shard, each with where in its file to begin."""
        mark = self.marks[number - 1] if self.marks else Mark()
        for piece in pieces(self.ends, rows_of(number, self.shards, self.rows)):
            yield piece, mark
            mark = Mark()

    def output(self, folder: Path, number: int) -> Path:
        """The file of a shard."""
        ending = "parquet" if self.kind == "parquet" else "jsonl" if self.settings.scores else "txt"
        return folder / f"shard-{number:05}-of-{self.shards:05}.{ending}"


def open_plan(job: Job, shards: int | None, wait: Callable[[], None], begin: Callable[[], None]) -> Plan:
    """The plan in the output folder, made if there is none. Raises ValueError that names what differs from the job.

    Args:
        job: what is asked for
        shards: how many, or None for as many as there are, or as usual
        wait: called before waiting for another process that makes the plan
        begin: called before all text is read once
    """
    _check_place(job)
    state = job.output / STATE
    path = state / FILE
    if not path.exists():
        check_writable(job.output)
        model, found = fingerprint(job.model), _found_sources(job)
        make_folder(state)
        with exclusive(state, wait):
            if not path.exists():
                begin()
                plan = _new_plan(job.settings, model, found, shards)
                plan.save_json(path)
                return plan
    plan = Plan.load_json(path, WHAT, f"remove {job.output}, or {REMEDY}")
    _check_same(plan, job, shards)
    sweep(job.output)
    return plan


def fingerprint(model: Path) -> str:
    """What tells a model from any other: the checksum of the file that has the checksums of the others."""
    folder = find_model(model)
    if is_export(folder):
        return sha256(folder / EXPORT_FILE)
    from trellex.training.checkpoint import model_folder

    return sha256(model_folder(folder) / CHECKPOINT_FILE)


def _found_sources(job: Job) -> dict[str, Path]:
    """The files of text by name. Raises ValueError or OSError if there are none, or such as cannot be translated."""
    found = find_sources(job.texts)
    if kind_of(list(found)) == "parquet":
        from trellex.bulk.parquet import check_schemas

        check_schemas(list(found.values()), job.settings)
    return found


def _new_plan(settings: Settings, model: str, found: dict[str, Path], shards: int | None) -> Plan:
    """Reads all text once."""
    kind = kind_of(list(found))
    marks: list[list[Mark]] = []
    sources = []
    if kind == "parquet":
        from trellex.bulk.parquet import rows_in

        sources = [measure(path, name, rows_in(path)) for name, path in found.items()]
    else:
        for name, path in found.items():
            source, places = measure_lines(path, name)
            sources.append(source)
            marks.append(places)
    shards = shards or usual_shards(sum(source.rows for source in sources))
    plan = Plan(kind=kind, shards=shards, model=model, settings=settings, sources=sources)
    plan.marks = [_mark(plan, number, marks) for number in range(1, shards + 1)] if marks else []
    return plan


def _mark(plan: Plan, number: int, marks: Sequence[Sequence[Mark]]) -> Mark:
    """The last one before the first row of a shard."""
    first = next((piece for piece, _ in plan.pieces(number)), None)
    if first is None:
        return Mark()
    places = marks[first.source]
    return places[bisect_right(places, first.first, key=lambda mark: mark.rows) - 1]


def _check_place(job: Job) -> None:
    """Raises ValueError or OSError if this cannot be the output folder."""
    output, texts = resolved(job.output), resolved(job.texts)
    if output.exists() and not output.is_dir():
        raise NotADirectoryError(f"{job.output}: is a file; shards are written into a folder, give another name")
    if texts.is_dir() and (output == texts or texts in output.parents):
        raise ValueError(f"{job.output}: lies in {job.texts}, so that translations would be text; {REMEDY}")
    if output.is_dir() and not (output / STATE).exists():
        other = next((path.name for path in output.iterdir() if not path.name.startswith(".")), None)
        if other is not None:
            raise ValueError(f"{job.output}: holds other files, such as {other}; {REMEDY}")


def _check_same(plan: Plan, job: Job, shards: int | None) -> None:
    """Raises ValueError that names what differs between what was begun and what is asked for."""
    where = f"{job.output}: was begun with"
    if shards is not None and shards != plan.shards:
        raise ValueError(f"{where} {plan.shards} shards, asked for are {shards}; give that number, or {REMEDY}")
    for name, (before, now) in plan.settings.differences(job.settings).items():
        option = "--" + name.replace("_", "-")
        raise ValueError(f"{where} another {option}: {before!r}, not {now!r}; give the same, or {REMEDY}")
    if fingerprint(job.model) != plan.model:
        raise ValueError(f"{where} another model than {job.model}; give that one, or {REMEDY}")
    remedy = f"{job.output} was begun before that: put back what there was, or {REMEDY}"
    check_unchanged(find_sources(job.texts), plan.sources, remedy)

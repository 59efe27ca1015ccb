"""A shard: translated into one file that appears whole or not at all, and a record of it once it is finished."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
from pydantic import Field

from trellex.bulk.chunks import Chunk, LineOutput, Output, read_lines
from trellex.bulk.job import Job
from trellex.bulk.plan import STATE, Plan
from trellex.checksums import sha256
from trellex.files import atomic_writer
from trellex.locks import Lock
from trellex.output_line import output_line
from trellex.records import Sealed
from trellex.text.lines import Line
from trellex.translator import Translation, Translator

TOLD = 100  # problems that a record tells in full


class Finished(Sealed):
    """What came of a shard; the file of it is written last."""

    rows: int = Field(ge=0)
    untranslated: int = Field(ge=0)  # rows that are left empty since they are no text or too long
    problems: list[str] = Field([])  # the first of them, with their places
    size: int = Field(ge=0)  # bytes of the output
    sha256: str
    seconds: float = Field(ge=0)  # that it took, for plans of more
    cpu_seconds: float = Field(ge=0)  # of all threads


def finished(job: Job, plan: Plan, number: int) -> Finished | None:
    """The record of a shard that is whole; None if it is still to be translated, since one of its files is missing.

    Raises ValueError if its output is not what was written.
    """
    path, output = _record(job, number), plan.output(job.output, number)
    if not path.exists() or not output.exists():
        return None
    again = f"remove {output} to translate it again"
    record = Finished.load_json(path, "the record of a shard", again)
    if output.stat().st_size != record.size or sha256(output) != record.sha256:
        raise ValueError(f"{output}: differs from what was written there; {again}")
    return record


def translate_shard(
    job: Job, plan: Plan, number: int, translator: Translator, advance: Callable[[int], None]
) -> Finished | None:
    """Translate a shard unless it is finished; None if another process does so at this moment.

    advance: called with how many more rows are done
    """
    lock = Lock.take_file(job.output / STATE / f"{number:05}.lock")
    if lock is None:
        return None
    try:
        record = finished(job, plan, number)
        if record is not None:
            advance(record.rows)
            return record
        _record(job, number).unlink(missing_ok=True)  # of an output that was removed: the new one may differ
        record = _translated(job, plan, number, translator, advance)
        record.save_json(_record(job, number))
        return record
    finally:
        lock.release()


def _translated(job: Job, plan: Plan, number: int, translator: Translator, advance: Callable[[int], None]) -> Finished:
    settings, output = plan.settings, plan.output(job.output, number)
    random = np.random.default_rng(None if settings.seed is None else [settings.seed, number])
    rows, untranslated, problems = 0, 0, list[str]()
    began, cpu_began = time.perf_counter(), time.process_time()
    with _output_to(job, plan, output) as file:
        for chunk in _chunks(job, plan, number):
            texts = [line.text for line in chunk.lines]
            wants = settings.search(), settings.batch_tokens, random, settings.scores, False, settings.replace_unknown
            answers = []
            for line, found in zip(chunk.lines, translator.search(texts, *wants), strict=True):
                answer, problem = _answer(plan, line, found)
                if problem is not None and job.strict:
                    raise ValueError(problem)
                if problem is not None:
                    untranslated += 1
                    problems += [problem] if untranslated <= TOLD else []
                answers.append(answer)
            file.write(chunk, answers)
            rows += len(answers)
            advance(len(answers))
        if rows != plan.rows_of(number):
            raise ValueError(
                f"{job.texts}: shard {number} has {rows:,} rows instead of {plan.rows_of(number):,}; "
                "it was changed, or is damaged: put back what there was"
            )
    return Finished(
        rows=rows,
        untranslated=untranslated,
        problems=problems,
        size=output.stat().st_size,
        sha256=sha256(output),
        seconds=round(time.perf_counter() - began, 3),
        cpu_seconds=round(time.process_time() - cpu_began, 3),
    )


def _answer(plan: Plan, line: Line, found: list[Translation] | str) -> tuple[str | None, str | None]:
    """What to write for a line, None for what Parquet has no text for; and the problem with its place, or None."""
    problem = line.problem or (found if isinstance(found, str) else None)
    if problem and plan.kind == "parquet":
        return None, f"{line.place}: {problem}"
    translations = [] if isinstance(found, str) else found
    text = output_line(translations, plan.settings.tokens, plan.settings.scores, problem)
    return text, f"{line.place}: {problem}" if problem else None


def _chunks(job: Job, plan: Plan, number: int) -> Iterator[Chunk]:
    for piece, mark in plan.pieces(number):
        path = _source(job, plan, piece.source)
        if plan.kind == "lines":
            yield from read_lines(path, piece, mark)
        else:
            from trellex.bulk.parquet import read_chunks

            yield from read_chunks(path, piece, plan.settings)


@contextmanager
def _output_to(job: Job, plan: Plan, path: Path) -> Iterator[Output]:
    """The file of a shard, which takes its place at the end of the block."""
    if plan.kind == "lines":
        with atomic_writer(path) as file:
            yield LineOutput(file)
        return
    from trellex.bulk.parquet import ParquetOutput

    with (
        atomic_writer(path, "wb") as file,
        closing(ParquetOutput(file, _source(job, plan, 0), plan.settings)) as output,
    ):
        yield output


def _source(job: Job, plan: Plan, source: int) -> Path:
    return job.texts / plan.sources[source].name if job.texts.is_dir() else job.texts


def _record(job: Job, number: int) -> Path:
    return job.output / STATE / f"{number:05}.json"

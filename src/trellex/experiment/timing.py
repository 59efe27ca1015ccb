"""Timing: how long finished cells take to train on a batch and, in turns, to translate a sentence."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import mean, median
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from trellex.evaluation.result import Pace, Result, Timing
from trellex.experiment.job import Job
from trellex.experiment.machine import OtherProcesses, cpu_name
from trellex.experiment.shortlists import shortlist_file, shortlist_of
from trellex.loaded import LoadedModel
from trellex.nmt.model import TranslationModel
from trellex.runtime.export import export
from trellex.runtime.model import load_export
from trellex.search import Hypothesis, Model, greedy
from trellex.shortlist.model import ListedModel
from trellex.text.corpus import Corpus
from trellex.training.display import Display
from trellex.training.loading import load_checkpoint
from trellex.training.processes import choose_device
from trellex.training.trainer import Trainer

WARM_UP_BATCHES, BATCHES = 3, 15
WARM_UP_SENTENCES, SENTENCES, ROUNDS = 2, 20, 5

Sources = Sequence[NDArray[Any]]  # sentences, the ids of each


def time_cells(jobs: Sequence[Job]) -> None:
    """Measure cells of one corpus, direction and device, and put the figures into their results."""
    results = [_result(job) for job in jobs]
    for job, result, timing in zip(jobs, results, measure(jobs), strict=True):
        result.timing = timing
        result.save(job.result_file)


def _result(job: Job) -> Result:
    result = job.result()
    if result is None:
        raise FileNotFoundError(f"{job.result_file}: there is no such result; train and score the cell first")
    return result


def measure(jobs: Sequence[Job]) -> list[Timing]:
    """What training takes and, by whatever is to be timed, translating."""
    begun, others = datetime.now(UTC).isoformat(timespec="seconds"), OtherProcesses()
    device = choose_device(jobs[0].recipe.training.device)
    batches, loaded = [], []
    for job in jobs:
        with _named(job):
            batches.append(_time_batch(job))
            loaded.append(load_checkpoint(job.run, device))
    samples = {job.recipe.data: _sample(job) for job in jobs}  # the same sentences, cut as each is
    sources = [samples[job.recipe.data] for job in jobs]
    timed, where = jobs[0].timed, jobs[0].run.parent
    nothing: Sequence[None] = [None] * len(jobs)
    on_gpu: Sequence[float | None] = nothing
    on_cpu: Sequence[float | None] = nothing
    int8: Sequence[Pace | None] = nothing
    compact: Sequence[Pace | None] = nothing
    listed: dict[str, Pace] = {}
    if "gpu" in timed and device == "cuda":
        on_gpu = time_in_turns([each.model for each in loaded], sources)
    if "cpu" in timed:
        with exported(loaded, "fp32", where) as exports:
            on_cpu = time_in_turns([load_export(path, threads=1).model for path in exports], sources)
    if "int8" in timed:
        with exported(loaded, "int8", where) as exports:
            int8, listed = _paces(jobs, exports, sources, with_lists=True)
    if "compact" in timed:
        with exported(loaded, "compact", where) as exports:
            compact, _ = _paces(jobs, exports, sources)
    other_cores = others.cores()
    return [
        Timing(
            begun=begun,
            train_batch=batch.milliseconds,
            batch_sentences=batch.sentences,
            batch_tokens=batch.tokens,
            gpu_sentence=gpu_sentence,
            cpu_sentence=cpu_sentence,
            int8=small,
            compact=smaller,
            listed=listed.get(job.name),
            sentences=len(own),
            other_cores=other_cores,
            gpu=torch.cuda.get_device_name() if device == "cuda" else None,
            cpu=cpu_name(),
        )
        for job, own, batch, gpu_sentence, cpu_sentence, small, smaller in zip(
            jobs, sources, batches, on_gpu, on_cpu, int8, compact, strict=True
        )
    ]


@contextmanager
def _named(job: Job) -> Iterator[None]:
    """Errors within say which cell they are of."""
    try:
        yield
    except Exception as error:
        raise RuntimeError(f"{job.name}: {error}") from error


class _Batch(NamedTuple):
    milliseconds: float
    sentences: int
    tokens: int


def _time_batch(job: Job) -> _Batch:
    """Training steps on the batch of median size of the first epoch, from the first weights on."""
    gc.collect()  # frees the trainer before
    trainer = Trainer(job.recipe, Display(job.name, quiet=True))
    trainer.model.train()
    in_order = sorted(trainer.feed.epoch(0), key=trainer.feed.tokens_of)
    rows = in_order[len(in_order) // 2]
    device = trainer.processes.device

    def step() -> None:
        trainer.train_on(rows)
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    for _ in range(WARM_UP_BATCHES):
        step()
    milliseconds = median(_milliseconds(step) for _ in range(BATCHES))
    return _Batch(milliseconds, len(rows), trainer.feed.tokens_of(rows))


def _sample(job: Job) -> list[NDArray[np.int64]]:
    """Sentences at equal distances over the test set, those without words left out."""
    test = Corpus.open(job.recipe.data).split("test")
    rows = np.flatnonzero(test.source_lengths)
    places = np.linspace(0, len(rows) - 1, min(SENTENCES, len(rows))).round().astype(int)
    return [test.source(int(rows[place])) for place in places]


@contextmanager
def exported(loaded: Sequence[LoadedModel[TranslationModel]], precision: str, where: Path) -> Iterator[list[Path]]:
    """The same models as exports in a folder there, which is removed in the end."""
    folder = where / "timing"
    shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed
    folder.mkdir()
    try:
        exports = [folder / str(number) for number in range(len(loaded))]
        for each, path in zip(loaded, exports, strict=True):
            export(each, path, precision)
        yield exports
    finally:
        shutil.rmtree(folder)


def _paces(
    jobs: Sequence[Job], exports: Sequence[Path], sources: Sequence[Sources], with_lists: bool = False
) -> tuple[list[Pace], dict[str, Pace]]:
    """Those of all exports and, by name, of those with a shortlist whose jobs ask for one, all of them in turns."""
    models: list[Model] = [load_export(path, threads=1).model for path in exports]
    listed = [place for place, job in enumerate(jobs) if with_lists and job.shortlist]
    for place in listed:
        by_rows = load_export(exports[place], threads=1, by_rows=True)
        models.append(ListedModel(by_rows, shortlist_of(jobs[place])))
    sources = [*sources, *(sources[place] for place in listed)]
    steps = [mean(len(found.log_probs) for found in _translations(*each)) for each in zip(models, sources, strict=True)]
    milliseconds = time_in_turns(models, sources)
    sizes = [*map(_size, exports)]
    sizes += [sizes[place] + shortlist_file(jobs[place]).stat().st_size for place in listed]
    figures = zip(milliseconds, steps, sizes, strict=True)
    paces = [Pace(sentence=time, steps=number, bytes=size) for time, number, size in figures]
    names = (jobs[place].name for place in listed)
    return paces[: len(jobs)], dict(zip(names, paces[len(jobs) :], strict=True))


def _translations(model: Model, sources: Sources) -> list[Hypothesis]:
    """By greedy search one by one, as they are timed."""
    with model.inference():
        return [greedy(model, [source], scores=False)[0] for source in sources]


def _size(export: Path) -> int:
    """Bytes of its files."""
    return sum(file.stat().st_size for file in export.iterdir())


def time_in_turns(models: Sequence[Model], sources: Sequence[Sources]) -> list[float]:
    """Milliseconds a sentence of each model, by greedy search one by one: the mean of each one's median over rounds.

    In every round each model has its turn, another one first, so that a machine that becomes slower does so for all.

    sources: what each model translates  [models]
    """
    rounds: list[list[list[float]]] = [[] for _ in models]
    for number in range(ROUNDS):
        for turn in range(len(models)):
            place = (turn + number) % len(models)
            search = partial(greedy, models[place], scores=False)
            with models[place].inference():
                for source in sources[place][:WARM_UP_SENTENCES]:
                    search([source])
                rounds[place].append([_milliseconds(partial(search, [source])) for source in sources[place]])
    return [mean(map(median, zip(*of_model, strict=True))) for of_model in rounds]


def _milliseconds(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return 1000 * (perf_counter() - started)

"""Timing: how long a finished cell takes to train on a batch and to translate a sentence, alone on the machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from trellex.experiment.job import Job
from trellex.experiment.machine import cpu_name
from trellex.experiment.result import Timing
from trellex.runtime.export import export
from trellex.runtime.loading import load_export
from trellex.search import greedy
from trellex.text.corpus import Corpus
from trellex.training.display import Display
from trellex.training.loading import Loaded, load_model
from trellex.training.processes import choose_device
from trellex.training.trainer import Trainer
from trellex.translator import InferenceModel, Translator

WARM_UP_BATCHES, BATCHES = 3, 15
WARM_UP_SENTENCES, SENTENCES, ROUNDS = 2, 20, 3


def time_cell(job: Job) -> None:
    """Measure, and put the figures into the cell's result."""
    result = job.result()
    if result is None:
        raise FileNotFoundError(f"{job.result_file}: there is no such result; train and score the cell first")
    result.timing = measure(job)
    result.save(job.result_file)


def measure(job: Job) -> Timing:
    """What training and translating take, on the device of training and on the CPU."""
    device = choose_device(job.recipe.training.device)
    on_gpu = device == "cuda"
    batch = _time_batch(job)
    sources = _sample(job)
    loaded = load_model(job.run, device)
    return Timing(
        train_batch=batch.milliseconds,
        batch_sentences=batch.sentences,
        batch_tokens=batch.tokens,
        peak_memory=batch.peak_memory,
        gpu_sentence=_time_sentences(loaded.model, sources) if on_gpu else None,
        cpu_sentence=_time_exported(loaded, sources),
        sentences=len(sources),
        gpu=torch.cuda.get_device_name() if on_gpu else None,
        cpu=cpu_name(),
    )


class _Batch(NamedTuple):
    milliseconds: float
    sentences: int
    tokens: int
    peak_memory: int | None


def _time_batch(job: Job) -> _Batch:
    """Training steps on the batch of median size of the first epoch, from the first weights on."""
    trainer = Trainer(job.recipe, Display(job.name, quiet=True))
    trainer.model.train()
    in_order = sorted(trainer.epoch(0), key=trainer.tokens_of)
    rows = in_order[len(in_order) // 2]
    device = trainer.processes.device

    def step() -> None:
        trainer.train_on(rows)
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    for _ in range(WARM_UP_BATCHES):
        step()
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    milliseconds = median(_milliseconds(step) for _ in range(BATCHES))
    peak_memory = torch.cuda.max_memory_allocated(device) if device.type == "cuda" else None
    return _Batch(milliseconds, len(rows), trainer.tokens_of(rows), peak_memory)


def _sample(job: Job) -> list[NDArray[np.int64]]:
    """Sentences at equal distances over the test set, those without words left out."""
    test = Corpus.open(job.recipe.data).split("test")
    rows = np.flatnonzero(test.source_lengths)
    places = np.linspace(0, len(rows) - 1, min(SENTENCES, len(rows))).round().astype(int)
    return [test.source(int(rows[place])) for place in places]


def _time_exported(loaded: Loaded, sources: Sequence[NDArray[Any]]) -> float:
    """The same model exported, in single precision on one thread."""
    whitespace = {"source_tokenizer": "whitespace", "target_tokenizer": "whitespace"}  # ids go in, no text
    translator = Translator(*loaded._replace(text=loaded.text.model_copy(update=whitespace)))
    with TemporaryDirectory() as folder:
        export(translator, Path(folder) / "model", "fp32")
        return _time_sentences(load_export(Path(folder) / "model", threads=1).model, sources)


def _time_sentences(model: InferenceModel, sources: Sequence[NDArray[Any]]) -> float:
    """Milliseconds a sentence, by greedy search one by one: each sentence's median over rounds, their mean."""
    with model.inference():
        for source in sources[:WARM_UP_SENTENCES]:
            greedy(model, [source], scores=False)
        rounds = [
            [_milliseconds(partial(greedy, model, [source], scores=False)) for source in sources] for _ in range(ROUNDS)
        ]
    return mean(map(median, zip(*rounds, strict=True)))


def _milliseconds(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return 1000 * (perf_counter() - started)

"""The pace of training: what a recipe takes on this machine, measured on real batches."""

from __future__ import annotations

import gc
import os
import time
from itertools import cycle
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from trellex.training.display import Display
from trellex.training.processes import choose_device
from trellex.training.recipe import Recipe
from trellex.training.trainer import Trainer

WARM_UP_BATCHES, FEWEST_BATCHES, SECONDS = 2, 3, 5.0


def seconds_of_token(recipe: Recipe) -> float:
    """The seconds that training on a target token takes: of some seconds of steps apart from any run."""
    gc.collect()  # frees the trainer before
    with TemporaryDirectory() as nowhere:
        trainer = Trainer(recipe.model_copy(update={"output": Path(nowhere)}), Display("pace", quiet=True))
        trainer.model.train()
        remaining = cycle(trainer.feed.epoch(0))
        for _ in range(WARM_UP_BATCHES):
            trainer.train_on(next(remaining))
        _wait(trainer)
        started, tokens, done = time.perf_counter(), 0, 0
        while done < FEWEST_BATCHES or time.perf_counter() < started + SECONDS:
            rows = next(remaining)
            trainer.train_on(rows)
            _wait(trainer)
            tokens, done = tokens + trainer.feed.tokens_of(rows), done + 1
        return (time.perf_counter() - started) / tokens


def machine() -> str:
    """What trains here, in words."""
    if has_gpu():
        return torch.cuda.get_device_name()
    threads = torch.get_num_threads()
    return f"{threads} CPU thread{'s' if threads > 1 else ''}"


def has_gpu() -> bool:
    return choose_device("auto") == "cuda"


def is_busy() -> bool:
    """Whether more is to be done here than there are CPUs, as far as the system tells; this process counts, too."""
    return hasattr(os, "getloadavg") and os.getloadavg()[0] > (os.cpu_count() or 1) + 1


def _wait(trainer: Trainer) -> None:
    """For a GPU to have done what it was told."""
    if trainer.processes.device.type == "cuda":
        torch.cuda.synchronize(trainer.processes.device)

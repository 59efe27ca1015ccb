"""Trained models on a GPU, and whether they translate as on the CPU: `benchmarks/gpu_models.py DATA RUN [RUN …]`.

Greedy search in single precision over the test set of a prepared corpus. Milliseconds a sentence, one by one and in
batches: models take turns, round after round, and a figure is the median of the rounds. Then all sentences are
translated once more by the CPU, and compared word for word.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, median
from typing import Any

import torch

from trellex.nmt.model import TranslationModel
from trellex.search import greedy
from trellex.text.corpus import Corpus
from trellex.training.loading import load_checkpoint

WARM_UP = 4  # rounds, in which kernels are compiled and steps recorded


def translated(model: TranslationModel, sources: Sequence[Any], batch: int) -> list[list[int]]:
    """By greedy search, so many sentences side by side."""
    with model.inference():
        parts = [sources[first : first + batch] for first in range(0, len(sources), batch)]
        return [found.words for part in parts for found in greedy(model, part, scores=False)]


def seconds(model: TranslationModel, sources: Sequence[Any], batch: int) -> float:
    begin = time.perf_counter()
    translated(model, sources, batch)
    return time.perf_counter() - begin


def milliseconds(
    models: dict[str, TranslationModel], sources: Sequence[Any], batch: int, rounds: int
) -> dict[str, float]:
    """A sentence's, by model."""
    times: dict[str, list[float]] = {name: [] for name in models}
    for number in range(WARM_UP + rounds):
        for name, model in models.items():
            took = seconds(model, sources, batch)
            if number >= WARM_UP:
                times[name].append(1000 * took / len(sources))
    return {name: median(each) for name, each in times.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="a folder that `trellex prepare` made, with a test set")
    parser.add_argument("runs", type=Path, nargs="+", help="what `trellex train` left")
    parser.add_argument("--sentences", type=int, default=1000, help="of the test set, at most (default: 1000)")
    parser.add_argument("--batch", type=int, default=512, help="sentences side by side (default: 512)")
    parser.add_argument("--alone", type=int, default=20, help="sentences that are timed one by one (default: 20)")
    parser.add_argument("--rounds", type=int, default=5, help="how often everything is timed (default: 5)")
    parser.add_argument("--json", type=Path, help="write all numbers there")
    arguments = parser.parse_args()
    test = Corpus.open(arguments.data).split("test")
    sources = [each for each in map(test.source, range(len(test))) if len(each)][: arguments.sentences]
    few = sources[:: max(1, len(sources) // arguments.alone)][: arguments.alone]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    models = {run.name: load_checkpoint(run, device).model for run in arguments.runs}
    print(f"{torch.cuda.get_device_name() if device == 'cuda' else 'CPU'}, torch {torch.__version__}")
    alone = milliseconds(models, few, 1, arguments.rounds)
    together = milliseconds(models, sources, arguments.batch, arguments.rounds)
    rows = []
    print(f"{'greedy search, ms a sentence':60}{'alone':>8}{f'by {arguments.batch}':>9}{'words':>7}  as the CPU")
    for run in arguments.runs:
        found = translated(models[run.name], sources, arguments.batch)
        expected = translated(load_checkpoint(run, "cpu").model, sources, 64)
        equal = sum(mine == theirs for mine, theirs in zip(found, expected, strict=True))
        words = mean(map(len, found))
        rows.append({"run": run.name, "alone": alone[run.name], "together": together[run.name], "words": words})
        rows[-1] |= {"equal": equal, "sentences": len(sources)}
        figures = f"{alone[run.name]:8.2f}{together[run.name]:9.4f}{words:7.1f}"
        print(f"{run.name:60}{figures}  {equal:,} of {len(sources):,}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

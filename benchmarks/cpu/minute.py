"""The methods side by side on this CPU, in less than a minute: `make demo`.

Exported models of random weights in int8, made as for `make bench-cpu`, which measures more and longer; one sentence
at a time on one thread. Methods take turns, and a figure is the median of its rounds.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from pathlib import Path
from statistics import median

os.environ["OMP_NUM_THREADS"] = "1"  # before any library starts threads

import torch
from rich.console import Console
from rich.table import Table

import trellex
from cells import QUICK, Sizes, ratio
from forced import Forced, make_sources, translate
from random_models import RandomModels

METHODS = ("softmax", "hybrid-2048-ec", "shelves", "binary-ec")
ROUNDS = 9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    console, sizes = Console(), QUICK if parser.parse_args().quick else Sizes()
    torch.set_num_threads(1)
    random_models = RandomModels(sizes.source_words, 1 << sizes.exponent, sizes.hidden)
    sources = make_sources(ROUNDS, sizes.source_length, sizes.source_words)
    console.rule(f"and what they cost: {1 << sizes.exponent:,} words to choose from")
    models, parameters = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for method in METHODS:
            with console.status(f"making a model with {method}"):
                random_models.export(method, Path(folder) / method, "int8", sources, sizes.length)
            parameters[method] = random_models.model(method).head.cost().parameters
            models[method] = Forced(trellex.load(Path(folder) / method).model)
        times: dict[str, list[float]] = {method: [] for method in METHODS}
        with console.status("translating"):
            for source in sources:
                for method, model in models.items():
                    translate(model, [source], sizes.length)  # so that its own weights are in the caches
                    times[method].append(translate(model, [source], sizes.length)[0])
    table = Table("output layer", "parameters", "of softmax's", "ms a sentence", "times as fast")
    for column in table.columns[1:]:
        column.justify = "right"
    for method in METHODS:
        own, softmax = parameters[method], parameters["softmax"]
        faster = ratio(times["softmax"], times[method])
        table.add_row(
            method,
            f"{own:,}",
            f"1/{softmax / own:,.0f}",
            f"{1e3 * median(times[method]):.1f}",
            f"{faster:.1f}",
        )
    console.print(table)
    console.print(
        f"Sentences of {sizes.source_length} words into {sizes.length}, greedy, random weights of the paper's sizes, "
        "int8, one thread of this CPU.",
        style="dim",
    )


if __name__ == "__main__":
    main()

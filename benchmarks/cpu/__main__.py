"""Translation on a CPU, all output layers side by side: `make bench-cpu`.

One thread. Exported models of random weights, scaled so that activations are of the size that training gives; H = 512
is also the size of word vectors, the source has 8,192 words. Sentences of 25 words are translated greedily into
exactly 30, all by the same search (`trellex.search.greedy`). Code heads are those of the loss "trellis": decoding is
exact, rare words are numbered apart. Those with a complete trellis are named so; shelves hold 64 words each, and 16 are
visited, or as many as the name says. A shortlist has about 500 random words for every sentence, which the softmax then
scores alone; to make it belongs to the start. A hybrid's softmax is biased so that OTHER wins 15 % of the words, about
as in a real corpus; "rare" is how many words came from the bits in this run.

All models of a table are visited round after round, in changing order, and a cell is the median of its rounds, so that
a passing load slows all of them alike. What is fast is run twice and timed the second time, so that it matters little
what ran before. "loop" is the time from the first state on, without encoder; "no output layer" is the same decoder with
words that are drawn beforehand.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from unittest import mock

os.environ["OMP_NUM_THREADS"] = "1"  # before any library starts threads

import ctranslate2
import numpy as np
import onnxruntime
import torch

import trellex
from cells import (
    COMPARED,
    FEW_ROUNDS,
    METHODS,
    NOTHING,
    PRECISIONS,
    QUICK,
    SLOW,
    SWEPT,
    Cell,
    Memory,
    Sizes,
    measure,
    progress,
)
from ctranslate import Transformer
from forced import Forced, Ints, Timed, Wordless, check_lengths, endless, make_sources, translate
from random_lists import save_shortlist
from random_models import RandomModels
from random_transformer import save_transformer
from tables import plot, print_budget, print_engines, print_memory, print_methods, print_sweep

TOO_LARGE = 1 << 31  # bytes of a matrix that ONNX cannot write, for protobuf cannot
DRAWN = 10_000  # words for the row without output layer: as others, it looks up some that are in no cache
LISTED = " shortlist"  # at the end of a method's name
MEMORY_SHARE = 0.8  # of what is available, the most that making a model may take
# ---- models ----


class Models:
    """Exported folders, made when first asked for, in a folder that may outlive the run."""

    def __init__(self, folder: Path, sizes: Sizes) -> None:
        self.folder, self.sizes = folder, sizes

    def path(self, method: str, exponent: int, precision: str) -> Path:
        method = method.removesuffix(LISTED)  # which is the same model
        return self.folder / f"{method}-2^{exponent}-{self.sizes.hidden}-{precision}"

    def make(self, methods: Iterable[str], exponent: int) -> None:
        """Write those that are not there yet, as far as the memory allows."""
        random_models = RandomModels(self.sizes.source_words, 1 << exponent, self.sizes.hidden)
        sources = make_sources(32, self.sizes.source_length, self.sizes.source_words)
        vectors = 4 * self.sizes.hidden << exponent  # bytes
        for method in methods:
            is_softmax = method.startswith("softmax")
            needed = (5 if is_softmax else 3) * vectors  # at the peak, while it is exported
            folders = {precision: self.path(method, exponent, precision) for precision in PRECISIONS}
            if is_softmax and vectors >= TOO_LARGE:
                del folders["fp32"]
            missing = {precision: folder for precision, folder in folders.items() if not folder.exists()}
            if missing and needed < MEMORY_SHARE * available_bytes():
                progress(f"making {method}, 2^{exponent} words")
                for precision, folder in missing.items():
                    random_models.export(method, folder, precision, sources, self.sizes.length)

    def load(self, method: str, exponent: int, precision: str) -> Forced | None:
        """None if it could not be made."""
        path = self.path(method, exponent, precision)
        return Forced(trellex.load(path, shortlist=self.lists(method, path)).model) if path.exists() else None

    def lists(self, method: str, path: Path) -> Path | None:
        """The shortlist of a method that has one, for the model in a folder."""
        if not method.endswith(LISTED):
            return None
        lists = path.with_suffix(".shortlist")
        if not lists.exists():
            save_shortlist(lists, path, self.sizes.source_length)
        return lists

    def transformer(self) -> tuple[Path, int]:
        """The folder of the Transformer, and how many parameters it has."""
        path = self.folder / f"transformer-2^{self.sizes.exponent}"
        count = path / "parameters.json"
        if not count.exists():
            progress("making a Transformer")
            words = self.sizes.source_words, 1 << self.sizes.exponent
            count.write_text(json.dumps(save_transformer(path, self.sizes.transformer, *words)))
        return path, json.loads(count.read_text())


def available_bytes() -> int:
    """Memory that is free for use."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable"))


# ---- time ----


def search_job(model: Forced, turns: list[list[list[Ints]]], length: int) -> Callable[[int], Any]:
    """The batches of a turn, one after the other, by the search of trellex."""

    def job(turn: int) -> tuple[float, float, list[list[int]]]:
        results = [translate(model, batch, length) for batch in turns[turn % len(turns)]]
        totals, loops, words = zip(*results, strict=True)
        return sum(totals), sum(loops), [sentence for of_batch in words for sentence in of_batch]

    return job


def transformer_job(transformer: Transformer, turns: list[list[list[Ints]]], length: int) -> Callable[[int], Any]:
    """The same by CTranslate2, which does not tell the loop apart."""
    texts = [[[[f"w{word - 3}" for word in source] for source in batch] for batch in turn] for turn in turns]

    def job(turn: int) -> tuple[float, None, list[list[int]]]:
        begin = time.perf_counter()
        found = [list(transformer(batch)) for batch in texts[turn % len(texts)]]
        seconds = time.perf_counter() - begin
        for of_batch in found:
            check_lengths(of_batch, length)
        return seconds, None, []

    return job


class Bench:
    """Everything that is measured in one run."""

    def __init__(self, models: Models, rounds: int, sentences: int) -> None:
        self.models, self.sizes, self.rounds, self.sentences = models, models.sizes, rounds, sentences

    def turns(self, batch: int, sentences: int) -> list[list[list[Ints]]]:
        """The batches of each turn: one, or so many sentences one by one, others in every turn."""
        number, turns = (sentences, self.rounds) if batch == 1 else (1, 1)
        sources = iter(make_sources(turns * number * batch, self.sizes.source_length, self.sizes.source_words))
        return [[[next(sources) for _ in range(batch)] for _ in range(number)] for _ in range(turns)]

    def cell(self, section: str, method: str, precision: str, batch: int, exponent: int, model: Any) -> Cell:
        turns = self.turns(batch, 1 if (section, method) == ("sweep", "softmax") else self.sentences)
        make_job = transformer_job if isinstance(model, Transformer) else search_job
        job = make_job(model, turns, self.sizes.length)
        return Cell(section, method, precision, batch, exponent, job, batch * len(turns[0]))

    def methods(self) -> list[Cell]:
        """All methods at one V, and none."""
        exponent, cells = self.sizes.exponent, []
        self.models.make(METHODS, exponent)
        for precision in PRECISIONS:
            models = {method: self.models.load(method, exponent, precision) for method in METHODS}
            held = {method: model for method, model in models.items() if model}
            for batch in self.sizes.batches:
                words = np.random.default_rng(0).integers(3, 1 << exponent, size=(DRAWN, batch))
                every = held | {NOTHING: Wordless(held["binary-ec"].model, words)}
                of_batch = [self.cell("methods", name, precision, batch, exponent, every[name]) for name in every]
                measure(of_batch, self.rounds)
                cells += of_batch
        return cells

    def sweep(self) -> list[Cell]:
        """Some methods against V, batch 1."""
        for exponent in self.sizes.sweep:
            self.models.make(SWEPT, exponent)
        cells = []
        for precision in PRECISIONS:
            of_precision = []
            for exponent in self.sizes.sweep:
                for method in SWEPT:
                    if model := self.models.load(method, exponent, precision):
                        of_precision.append(self.cell("sweep", method, precision, 1, exponent, model))
            measure(of_precision, self.rounds)
            cells += of_precision
        return cells

    def engines(self) -> tuple[list[Cell], dict[str, int]]:
        """Trellex, its torch model and CTranslate2, in turn; and how many parameters models have."""
        exponent = self.sizes.exponent
        folder, size = self.models.transformer()
        transformer = Transformer(folder, self.sizes.length)
        parameters, cells, eager = {"Transformer": size}, [], {}
        for method in COMPARED:
            model = RandomModels(self.sizes.source_words, 1 << exponent, self.sizes.hidden).model(method)
            eager[method] = Forced(model)
            parameters[method] = sum(parameter.numel() for parameter in model.parameters())
        for batch in self.sizes.batches:
            of_batch = []
            for method in COMPARED:
                runtime = self.models.load(method, exponent, "int8")
                assert runtime is not None
                of_batch.append(self.cell("trellex", method, "int8", batch, exponent, runtime))
                of_batch.append(self.cell("PyTorch eager", method, "fp32", batch, exponent, eager[method]))
            of_batch.append(self.cell("CTranslate2", "Transformer", "int8", batch, exponent, transformer))
            measure(of_batch, self.rounds)
            cells += of_batch
        return cells, parameters


# ---- the budget of a token ----


def budget(models: Models, rounds: int, repeats: int = 100) -> dict[str, float]:
    """Where the time of a token goes: binary-ec, batch 1, int8. Seconds by name.

    `step` and `best`, which is one compiled call, are timed in the loop; the parts of the former apart from it, but
    each right after a run of the decoder, which leaves little else in the caches.
    """
    sizes, folder = models.sizes, models.path("binary-ec", models.sizes.exponent, "int8")
    model = Timed(trellex.load(folder).model)
    sources = make_sources(8, sizes.source_length, sizes.source_words)
    pieces = pieces_of_a_token(model.model.network, sources[:1])
    times: dict[str, list[float]] = {name: [] for name in ("loop", "step", "best", *pieces)}
    for _ in range(rounds):
        for source in sources:
            loop = translate(model, [source], sizes.length)[1]
            for name, seconds in (("loop", loop), ("step", model.step_seconds), ("best", model.best_seconds)):
                times[name].append(seconds / sizes.length)
        for name, piece in pieces.items():
            for _ in range(repeats):
                pieces["decoder session"]()
                begin = time.perf_counter()
                piece()
                times[name].append(time.perf_counter() - begin)
    found = {name: statistics.median(values) for name, values in times.items()}
    for name in ("embedding lookup", "decoder session"):
        found[name] *= (sizes.length - 1) / sizes.length  # the first step is the start's
    found["rest of step"] = found["step"] - found["embedding lookup"] - found["decoder session"]
    found["search bookkeeping"] = found["loop"] - found["step"] - found["best"] - found["the benchmark's wrapper"]
    return found


def pieces_of_a_token(network: Any, sources: list[Ints]) -> dict[str, Callable[[], object]]:
    """The parts of `step`, as it calls them, and what the benchmark adds."""
    word = np.array([1000])
    with mock.patch.object(network.decoder, "run", wraps=network.decoder.run) as spy:
        network.start(sources)
    session, arguments = network.decoder, spy.call_args.args
    return {
        "embedding lookup": lambda: network.target_vectors(word),
        "decoder session": lambda: session.run(*arguments),
        "the benchmark's wrapper": lambda: endless(word),
    }


# ---- memory ----


def memory(models: Models) -> list[Memory]:
    """Every model in a fresh process."""
    sizes, rows = models.sizes, []
    sources = make_sources(sizes.memory_sentences, sizes.source_length, sizes.source_words)
    with tempfile.TemporaryDirectory() as temporary:
        path = Path(temporary) / "sources.json"
        path.write_text(json.dumps([source.tolist() for source in sources]))

        def add(engine: str, method: str, precision: str, folder: Path | str, lists: Path | None = None) -> None:
            progress(f"memory: {engine}, {method}, {precision}")
            command = [sys.executable, str(Path(__file__).with_name("resident.py")), engine, str(folder)]
            command += [str(path), str(sizes.length), *([] if lists is None else [str(lists)])]
            found = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
            disk = sum(file.stat().st_size for file in folder.iterdir()) if isinstance(folder, Path) else None
            rows.append(Memory(engine, method, precision, **found, disk=disk))

        for precision in PRECISIONS:
            for method in sizes.in_memory:
                folder = models.path(method, sizes.exponent, precision)
                add("trellex", method, precision, folder, models.lists(method, folder))
        for method in set(COMPARED) & set(sizes.in_memory):
            add("torch", method, "fp32", f"{method}:{sizes.source_words}:{1 << sizes.exponent}:{sizes.hidden}")
        add("ctranslate2", "Transformer", "int8", models.transformer()[0])
    return rows


# ---- the whole ----


def methods_section(bench: Bench) -> list[Cell]:
    cells = bench.methods()
    print_methods(cells, bench.sizes.length)
    return cells


def budget_section(bench: Bench) -> dict[str, float]:
    bench.models.make(["binary-ec"], bench.sizes.exponent)
    found = budget(bench.models, bench.rounds)
    print_budget(found)
    return found


def engines_section(bench: Bench) -> dict[str, Any]:
    bench.models.make(COMPARED, bench.sizes.exponent)
    cells, parameters = bench.engines()
    print_engines(cells, parameters, bench.sizes)
    return {"cells": cells, "parameters": parameters}


def memory_section(bench: Bench) -> list[Memory]:
    bench.models.make(bench.sizes.in_memory, bench.sizes.exponent)
    rows = memory(bench.models)
    print_memory(rows)
    return rows


def sweep_section(bench: Bench) -> list[Cell]:
    cells = bench.sweep()
    print_sweep(cells)
    return cells


SECTIONS: dict[str, Callable[[Bench], Any]] = {
    "methods": methods_section,
    "budget": budget_section,
    "engines": engines_section,
    "memory": memory_section,
    "sweep": sweep_section,
}


def machine() -> str:
    """What all this was measured on."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.machine())
    versions = (
        f"onnxruntime {onnxruntime.__version__}, torch {torch.__version__}, ctranslate2 {ctranslate2.__version__}"
    )
    return f"{cpu}, {os.cpu_count()} CPUs, {versions}"


def load_average() -> str:
    return f"load average {os.getloadavg()[0]:.1f}"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=25, help="how often everything is timed (default: 25)")
    parser.add_argument("--sentences", type=int, default=4, help="translated one by one in a round (default: 4)")
    parser.add_argument("--quick", action="store_true", help="tiny sizes and one round: does it run at all?")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, help="these parts alone")
    parser.add_argument("--cache", metavar="DIR", type=Path, help="keep the models there, and use those of before")
    parser.add_argument("--json", metavar="PATH", type=Path, help="write all numbers there")
    parser.add_argument("--plot", metavar="PATH.png", type=Path, help="draw the main numbers there")
    arguments = parser.parse_args()
    if arguments.plot and arguments.only:
        parser.error("--plot draws all parts: leave --only out")
    return arguments


def main() -> None:
    arguments = parse_arguments()
    torch.set_num_threads(1)
    sizes, rounds = (QUICK, 1) if arguments.quick else (Sizes(), arguments.rounds)
    print(f"{machine()}, one thread, {load_average()}")
    print(f"median of {rounds} rounds, of {FEW_ROUNDS} for what takes more than {SLOW} s")
    with tempfile.TemporaryDirectory() as temporary:
        models = Models(arguments.cache or Path(temporary), sizes)
        bench = Bench(models, rounds, arguments.sentences)
        numbers: dict[str, Any] = {"machine": machine()}
        for section in arguments.only or SECTIONS:
            numbers[section] = SECTIONS[section](bench)
    print(f"\n{load_average()}")
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(numbers, indent=1, default=lambda row: row.as_dict()) + "\n")
    if arguments.plot:
        plot(numbers["methods"], numbers["sweep"], numbers["memory"], arguments.plot)


if __name__ == "__main__":
    main()

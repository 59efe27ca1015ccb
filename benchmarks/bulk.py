"""Lines a second of `trellex translate --shard`: one process and several, and workers of Ray on this machine.

python benchmarks/bulk.py --workers 1 --workers 2

A model of random weights translates lines of as many words as real ones have. Each way translates all shards into a
folder of its own; ways take turns, round after round, and figures are medians, so that a passing load slows all of them
alike. The speed is that of the shards behind the first of each worker, by the times of their records; "with the start"
counts from the command to its end: imports, the model and, of Ray, a cluster. Random models do not end sentences, so
that words, not lines, are what to compare with other models. Lines a CPU second, of the records, tell what a core does
where nothing else runs, also on a machine where something does.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "cpu"))

from forced import names  # noqa: E402
from random_models import RandomModels  # noqa: E402

RANDOM = 0  # seed of the text


@dataclass
class Way:
    """A way to translate all shards, and what its rounds gave: lines a second, of CPU time, and with the start."""

    name: str
    workers: int
    is_ray: bool
    speeds: list[float] = field(default_factory=list)
    cpu_speeds: list[float] = field(default_factory=list)
    wholes: list[float] = field(default_factory=list)

    def run(self, model: Path, text: Path, folder: Path, shards: int, lines: int) -> None:
        command = [sys.executable, "-m", "trellex", "translate", model, text, folder, "--shard", f"all/{shards}"]
        options = ["--ray", "--workers", str(self.workers)] if self.is_ray else []
        began = time.perf_counter()
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        running = [
            subprocess.Popen([*command, *options], env=environment, stderr=subprocess.PIPE)
            for _ in range(1 if self.is_ray else self.workers)
        ]
        for process in running:
            _, told = process.communicate()
            if process.returncode:
                raise SystemExit(told.decode())
        self.wholes.append(lines / (time.perf_counter() - began))
        records = list((folder / "_trellex").glob("0*.json"))
        ended = sorted(path.stat().st_mtime_ns for path in records)
        self.cpu_speeds.append(lines / sum(json.loads(path.read_bytes())["cpu_seconds"] for path in records))
        behind = lines * (shards - self.workers) / shards
        self.speeds.append(behind / (ended[-1] - ended[self.workers - 1]) * 1e9)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, action="append", help="how many; 1 and 2 unless given")
    parser.add_argument("--method", default="hybrid-2048-ec")
    parser.add_argument("--hidden", type=int, default=512)
    parser.add_argument("--words", type=int, default=1 << 16, help="of the target; the source has 2^13 at most")
    parser.add_argument("--lines", type=int, default=4096)
    parser.add_argument("--length", type=int, default=25, help="words of a line")
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-ray", action="store_true")
    parser.add_argument("--json", type=Path, help="write all figures here")
    options = parser.parse_args()
    workers = options.workers or [1, 2]
    if max(workers) >= options.shards:
        parser.error(f"--shards: {options.shards} are too few for {max(workers)} workers, whose first do not count")
    ways = [Way(f"{count} process{'es' * (count > 1)}", count, False) for count in workers]
    if not options.no_ray:
        ways += [Way(f"Ray, {count} worker{'s' * (count > 1)}", count, True) for count in workers]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        model, text = prepared(folder, options)
        for number in range(options.rounds + 1):  # the first compiles and reads files for the first time
            for way in ways if number else ways[:1]:
                way.run(model, text, folder / f"{number}-{way.name}", options.shards, options.lines)
            if not number:
                ways[0].speeds, ways[0].cpu_speeds, ways[0].wholes = [], [], []
        first = sorted((folder / f"1-{ways[0].name}").glob("shard-*"))
        words = sum(len(path.read_text(encoding="utf-8").split()) for path in first) / options.lines
    show(ways, words, options)


def prepared(folder: Path, options: argparse.Namespace) -> tuple[Path, Path]:
    """A model and a text whose lines are between half and one and a half times as long as asked for."""
    source_words = min(1 << 13, options.words)
    random = np.random.default_rng(RANDOM)
    lengths = random.integers(max(1, options.length // 2), options.length * 3 // 2 + 1, options.lines)
    known = names(source_words)
    text = folder / "text"
    with text.open("w", encoding="utf-8") as file:
        file.writelines(" ".join(random.choice(known, length)) + "\n" for length in lengths)
    models = RandomModels(source_words, options.words, options.hidden)
    sources = [random.integers(3, source_words, options.length) for _ in range(32)]
    models.export(options.method, folder / "model", "int8", sources, 30)
    return folder / "model", text


def show(ways: list[Way], words: float, options: argparse.Namespace) -> None:
    table = Table("", "lines/s", "words/s", "of the first", "with the start, lines/s", "lines/CPU s", "words/CPU s")
    for column in table.columns[1:]:
        column.justify = "right"
    for way in ways:
        speed = statistics.median(way.speeds)
        ratio = statistics.median(ours / first for ours, first in zip(way.speeds, ways[0].speeds, strict=True))
        whole = statistics.median(way.wholes)
        cpu = statistics.median(way.cpu_speeds)
        walls = f"{speed:,.1f}", f"{speed * words:,.0f}", f"{ratio:.2f}", f"{whole:,.1f}"
        table.add_row(way.name, *walls, f"{cpu:,.1f}", f"{cpu * words:,.0f}")
    about = f"{options.method}, int8, H = {options.hidden}, {options.words:,} words; {options.lines:,} lines"
    print(f"{about} in {options.shards} shards, {words:.1f} words out a line; {options.rounds} rounds")
    Console(width=120).print(table)
    if options.json:
        found = {
            way.name: {"lines/s": way.speeds, "lines/CPU s": way.cpu_speeds, "with the start": way.wholes}
            for way in ways
        }
        options.json.write_text(json.dumps({"words a line": words, "ways": found}, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()

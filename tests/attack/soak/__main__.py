"""Kill commands again and again, and compare what they leave with what they leave undisturbed.

python tests/attack/soak --minutes 60
"""

from __future__ import annotations

import argparse
import json
import os
import random
import selectors
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rounds import work
from victims import VICTIMS, prepare_arguments, recipe

BUILD = Path("build/soak")
COLUMNS = ("kills", "at any time", "at a change", "while starting", "beside a twin", "rounds", "findings")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=5, help="how long")
    parser.add_argument("--workers", type=int, default=2, help="side by side")
    parser.add_argument("--seed", type=int, help="of the moments; unless given, a new one, which is printed")
    parser.add_argument("--only", action="append", choices=[victim.name for victim in VICTIMS], help="may be repeated")
    parser.add_argument("--build", type=Path, default=BUILD, help="a folder for the work, which is emptied first")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.only = options.only or [victim.name for victim in VICTIMS]
    if options.worker:
        work(options.build, options.worker, options.minutes, options.only)
        return 0
    seed = random.randrange(10**6) if options.seed is None else options.seed
    shutil.rmtree(options.build, ignore_errors=True)
    make_shared(options.build / "shared")
    print(f"seed {seed}, {options.minutes:g} minutes, {options.workers} side by side, in {options.build}")
    counts: dict[str, Counter[str]] = {name: Counter() for name in options.only}
    findings = []
    with workers(options, seed) as processes, Live(table(counts), console=Console(stderr=True), transient=True) as live:
        try:
            for line in lines(processes):
                report = json.loads(line)
                counts[report["victim"]].update(report["counts"])
                if "finding" in report:
                    findings.append(f"{report['victim']}: {report['finding']}")
                live.update(table(counts))
        except KeyboardInterrupt:
            findings.append("stopped before its time")
    Console(width=120).print(table(counts))
    for finding in findings:
        print(finding)
    if any(process.returncode for process in processes):
        print("a worker ended before its time")
    return 1 if findings or any(process.returncode for process in processes) else 0


def table(counts: dict[str, Counter[str]]) -> Table:
    shown = Table("command", *COLUMNS)
    for column in shown.columns[1:]:
        column.justify = "right"
    for name, counted in counts.items():
        shown.add_row(name, *(f"{counted[column]:,}" for column in COLUMNS))
    total = sum(counts.values(), Counter())
    shown.add_row("all", *(f"{total[column]:,}" for column in COLUMNS), style="bold")
    return shown


@contextmanager
def workers(options: argparse.Namespace, seed: int) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Processes of this program that are gone at the end of the block."""
    chosen = [part for name in options.only for part in ("--only", name)]
    command = [sys.executable, Path(__file__).parent, "--minutes", options.minutes, "--build", options.build, *chosen]
    processes = [
        subprocess.Popen(
            [*map(str, command), "--worker", f"{seed}-{number}"], stdout=subprocess.PIPE, start_new_session=True
        )
        for number in range(options.workers)
    ]
    try:
        yield processes
    finally:
        for process in processes:
            process.terminate()
            process.wait()


def lines(processes: list[subprocess.Popen[bytes]]) -> Iterator[bytes]:
    """What the processes print, line by line, until all have ended."""
    with selectors.DefaultSelector() as selector:
        for process in processes:
            selector.register(process.stdout, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                line = key.fileobj.readline()
                if line:
                    yield line
                else:
                    selector.unregister(key.fileobj)
    for process in processes:
        process.wait()


def make_shared(shared: Path) -> None:
    """What the victims read: text, a corpus, a run that kept all its checkpoints, a model, recipes."""
    shared.mkdir(parents=True)
    sizes = ("--train", "300", "--dev", "12", "--test", "12")
    subprocess.run([sys.executable, "-m", "trellex.phrasebook", shared / "text", *sizes], check=True, stdout=-3)
    (shared / "recipe.yaml").write_text(
        recipe(shared.resolve(), max_steps=40, save_every=3, keep_checkpoints=2, average=2), encoding="utf-8"
    )
    (shared / "grid-recipe.yaml").write_text(recipe(shared.resolve(), max_steps=24, save_every=4), encoding="utf-8")
    trellex = [sys.executable, "-m", "trellex"]
    run(*trellex, *prepare_arguments(shared, shared / "data", 200))
    all_steps = ("--set", "training.keep_checkpoints=1000", "--set", "training.save_every=1")
    run(*trellex, "train", shared / "recipe.yaml", "--quiet", *all_steps)
    run(*trellex, "export", shared / "run", shared / "model")


def run(*command: object) -> None:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed: {done.stderr}")


if __name__ == "__main__":
    os.environ["OMP_NUM_THREADS"] = "1"
    sys.exit(main())

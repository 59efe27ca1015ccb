"""How long `echo … | trellex translate MODEL` takes: with checksums, without, and with another source tree.

python benchmarks/startup.py MODEL --other SRC

One thread; the ways take turns, round after round, and a figure is the median of its rounds, so that a passing load
slows all of them alike. Files are warm: the first rounds do not count.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

WARM_UP = 2  # rounds
HERE = Path(__file__).resolve().parents[1] / "src"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="+", type=Path, metavar="MODEL", help="exported models")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--other", type=Path, help="the folder src of another version, to compare with")
    options = parser.parse_args()
    ways = {"with checksums": (HERE, []), "--no-verify": (HERE, ["--no-verify"])}
    if options.other:
        ways["the other version"] = (options.other.resolve(), [])
    table = Table("model", "MB", *(f"{name}, s" for name in ways), *(f"of {name}" for name in list(ways)[1:]))
    for model in options.models:
        times: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(WARM_UP + options.rounds):
            for name, (source, arguments) in ways.items():
                times[name].append(seconds(model, source, arguments))
        medians = [statistics.median(found[WARM_UP:]) for found in times.values()]
        size = sum(path.stat().st_size for path in model.iterdir()) / 1e6
        ratios = (f"{medians[0] / median:.3f}" for median in medians[1:])
        table.add_row(model.name, f"{size:,.1f}", *(f"{median:.3f}" for median in medians), *ratios)
    Console(width=120).print(table)


def seconds(model: Path, source: Path, arguments: list[str]) -> float:
    """Of one whole command."""
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "trellex", "translate", model, *arguments],
        input=b"where is the nearest museum ?\n",
        env=os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"},
        check=True,
        capture_output=True,
    )
    return time.perf_counter() - began


if __name__ == "__main__":
    main()

"""Give damaged files and folders to every reader of Trellex: python tests/attack/fuzz.py --minutes 5

A reader may refuse them with a ValueError or an OSError, or take them as if they were whole. Anything else is a
finding: another error, other translations, more than 1 GB, more than 20 seconds. Findings lie in build/fuzz then, each
with the command that shows it again.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import workspace
from all_targets import TARGETS
from attempt import Finding, attempt
from findings import inputs, shortened
from rich.console import Console
from rich.live import Live
from rich.table import Table
from watch import Watch

FOUND = Path("build/fuzz")
AT_ONCE = 2


def table(watches: list[Watch]) -> Table:
    """How far each target is."""
    shown = Table(caption="* led by coverage", caption_justify="left")
    shown.add_column("target", no_wrap=True)
    for column in ("inputs", "refused", "accepted", "findings", "memory", "seconds"):
        shown.add_column(column, justify="right")
    for watch in watches:
        counts = (watch.tried, watch.refused, watch.accepted, watch.findings)
        shown.add_row(
            watch.target.name + " *" * watch.is_guided,
            *map("{:,}".format, counts),
            f"{watch.peak / 1e6:.0f} MB",
            {"waits": "", "runs": f"{watch.spent:.0f} …", "done": f"{watch.spent:.0f}"}[watch.state],
            style="red" if watch.findings else None,
        )
    return shown


def run(names: list[str], minutes: float, seed: int) -> int:
    """Attack these targets, two at a time; the exit status."""
    console = Console()
    seconds = minutes * 60 * min(AT_ONCE, len(names)) / len(names)
    console.print(f"seed {seed}; {len(names)} targets, {seconds:.0f} seconds each, {AT_ONCE} at a time")
    shutil.rmtree(FOUND, ignore_errors=True)
    with tempfile.TemporaryDirectory() as place:
        work = Path(place) / "work"
        with console.status("making a corpus, a run and an export to damage"):
            subprocess.run([sys.executable, workspace.__file__, str(work)], check=True)
        watches = [Watch(name, work, FOUND, seed, seconds) for name in names]
        try:
            with Live(table(watches), console=console, refresh_per_second=1) as live:
                while any(watch.state != "done" for watch in watches):
                    running = [watch for watch in watches if watch.state == "runs"]
                    waiting = [watch for watch in watches if watch.state == "waits"]
                    for watch in waiting[: AT_ONCE - len(running)]:
                        watch.start()
                    time.sleep(0.1)
                    for watch in running:
                        watch.look()
                    live.update(table(watches))
                    for watch in running if not console.is_terminal else ():
                        if watch.state == "done":
                            print(f"{watch.target.name}: {watch.tried:,} inputs, {watch.findings} findings", flush=True)
        except KeyboardInterrupt:
            console.print("stopped")
        finally:
            for watch in watches:
                watch.stop()
    console.print()
    found = [path for name in names for path in inputs(FOUND, name)]
    for path in found:
        console.print(path.with_suffix(".report").read_text().splitlines()[0], highlight=False)
        console.print(f"    python tests/attack/fuzz.py --repeat {path}", highlight=False, soft_wrap=True)
    return 1 if found else 0


def repeat(path: Path, is_shortened: bool) -> int:
    """Give one input to its target, which the folder is named after; the exit status."""
    target = TARGETS[path.resolve().parent.name]
    with tempfile.TemporaryDirectory() as place:
        workspace.make(Path(place) / "work")
        target.begin(Path(place) / "work")
        outcome = attempt(target.read, path.read_bytes())
        if is_shortened and isinstance(outcome, Finding):
            path.write_bytes(shortened(target, path.read_bytes(), outcome))
    print(outcome.report if isinstance(outcome, Finding) else f"{target.name}: {outcome}")
    return 1 if isinstance(outcome, Finding) else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5.0, help="for all targets together (default: 5)")
    parser.add_argument("--target", action="append", choices=sorted(TARGETS), metavar="NAME", help=", ".join(TARGETS))
    parser.add_argument("--seed", type=int, help="of what is random; another each time unless given")
    parser.add_argument("--repeat", type=Path, metavar="FILE", help="give a finding to its target again")
    parser.add_argument("--shorten", action="store_true", help="and leave out of it what can be left out")
    given = parser.parse_args()
    if given.repeat:
        return repeat(given.repeat, given.shorten)
    seed = time.time_ns() % 2**31 if given.seed is None else given.seed
    return run(given.target or list(TARGETS), given.minutes, seed)


if __name__ == "__main__":
    sys.exit(main())

"""The child: gives inputs to one target, one after another, until its time is over."""

from __future__ import annotations

import argparse
import os
import struct
import sys
import tempfile
import time
from pathlib import Path
from random import Random

from attempt import ACCEPTED, MEMORY, REFUSED, Finding, attempt, peak_memory

TOO_LARGE = 77  # the exit status of a process that grew too large
COMPILED = (
    "trellis.kernels",
    "trellis.fused",
    "runtime.pruned_argmax",
    "runtime.row_products",
    "runtime.code",
)  # not by Python

HEADER = struct.Struct("<QQQQQ")  # inputs tried, refused and accepted, peak memory; length of the present input


class Board:
    """A file that the parent reads: how far the child is, and what it is reading."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT)
        self.tried, self.outcomes = 0, {REFUSED: 0, ACCEPTED: 0}

    def write(self, data: bytes) -> None:
        facts = self.tried, self.outcomes[REFUSED], self.outcomes[ACCEPTED], peak_memory(), len(data)
        os.pwrite(self._file, HEADER.pack(*facts) + data, 0)


def read_board(path: Path) -> tuple[int, int, int, int, bytes]:
    """Inputs tried, refused and accepted, peak memory, and the present input."""
    content = path.read_bytes() if path.exists() else b""
    if len(content) < HEADER.size:
        return 0, 0, 0, 0, b""
    *facts, length = HEADER.unpack_from(content)
    return *facts, content[HEADER.size : HEADER.size + length]


class Child:
    """One target, with all that is counted and found."""

    def __init__(self, target, board: Board, found: Path) -> None:
        self.target, self.board, self.found = target, board, found

    def try_input(self, data: bytes) -> None:
        self.board.tried += 1
        self.board.write(data)
        outcome = attempt(self.target.read, data)
        if not isinstance(outcome, Finding):
            self.board.outcomes[outcome] += 1
            self.board.write(data)
            return
        from findings import save

        save(self.found, self.target, data, outcome)
        self.board.write(data)
        if peak_memory() > MEMORY:
            os._exit(TOO_LARGE)

    def begin(self) -> None:
        """What is whole, and what is known to be hostile."""
        for data in (*self.target.seeds(), *self.target.traps()):
            self.try_input(data)

    def by_chance(self, seed: int, seconds: float) -> None:
        random, end = Random(seed), time.monotonic() + seconds
        while time.monotonic() < end:
            self.try_input(self.target.draw(random))

    def by_coverage(self, seed: int, seconds: float, work: Path) -> None:
        """Inputs that reach new lines of Trellex are changed further."""
        import atheris
        from mutations import mutate

        def change(data: bytes, max_size: int, seed: int) -> bytes:
            random = Random(seed)
            if random.random() < 0.3:
                return self.target.draw(random)[:max_size]
            if random.random() < 0.5:
                return mutate(f"x{self.target.suffix}", data, random)[:max_size]
            return atheris.Mutate(data, max_size)

        corpus = Path(tempfile.mkdtemp(dir=work))
        for number, data in enumerate(self.target.seeds()):
            (corpus / str(number)).write_bytes(data)
        options = ["-timeout=0", "-rss_limit_mb=0", "-max_len=65536", f"-seed={seed % 2**31 + 1}"]
        options += [f"-max_total_time={max(1, int(seconds))}", f"-artifact_prefix={corpus}/", str(corpus)]
        atheris.Setup([sys.argv[0], *options], self.try_input, custom_mutator=change)
        atheris.Fuzz()  # ends the process


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("target", "work", "board", "found"):
        parser.add_argument(name)
    for name in ("seed", "seconds"):
        parser.add_argument(name, type=float)
    parser.add_argument("--is-first", action="store_true", help="begin with the traps")
    parser.add_argument("--guided", action="store_true", help="by coverage")
    given = parser.parse_args()
    begun = time.monotonic()
    if given.guided:
        import atheris

        atheris.instrument_imports(include=["trellex"], exclude=[f"trellex.{name}" for name in COMPILED]).__enter__()
    from all_targets import TARGETS

    target = TARGETS[given.target]
    target.begin(Path(given.work))
    child = Child(target, Board(Path(given.board)), Path(given.found))
    if given.is_first:
        child.begin()
    seconds = given.seconds - (time.monotonic() - begun)
    if given.guided:
        child.by_coverage(int(given.seed), seconds, Path(given.work))
    else:
        child.by_chance(int(given.seed), seconds)


if __name__ == "__main__":
    main()

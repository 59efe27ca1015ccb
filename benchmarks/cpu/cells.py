"""What `benchmarks/cpu` measures, and the cells of its tables."""

from __future__ import annotations

import random
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from random_transformer import TransformerSize

METHODS = (
    *(
        "softmax",
        "softmax shortlist",
        "binary",
        "hybrid-512",
        "hybrid-2048",
        "binary-ec",
        "hybrid-512-ec",
        "hybrid-2048-ec",
    ),
    *("binary-ec complete", "hybrid-2048-ec complete", "shelves visit 1", "shelves", "shelves visit 32"),
)
SWEPT = ("softmax", "softmax shortlist", "shelves", "hybrid-2048-ec", "binary-ec")  # against V
COMPARED = ("softmax", "binary-ec")  # with other engines
PRECISIONS = ("fp32", "int8")
NOTHING = "no output layer"
SLOW, FEW_ROUNDS = 1.5, 3  # a cell that takes more seconds runs in so many rounds
FAST = 0.15  # one that takes less runs twice and is timed the second time, with its own weights in the caches


@dataclass(frozen=True)
class Sizes:
    """What is measured: full size, or small enough for a test."""

    hidden: int = 512
    source_words: int = 1 << 13
    exponent: int = 16  # V = 2^16 target words
    sweep: tuple[int, ...] = (12, 14, 16, 18, 20)
    batches: tuple[int, ...] = (1, 32)
    source_length: int = 25
    length: int = 30
    in_memory: tuple[str, ...] = METHODS
    memory_sentences: int = 20
    transformer: TransformerSize = field(default_factory=TransformerSize)


QUICK = Sizes(
    hidden=32,
    source_words=64,
    exponent=12,
    sweep=(12, 13),
    batches=(1, 3),
    source_length=5,
    length=6,
    in_memory=("binary-ec",),
    memory_sentences=2,
    transformer=TransformerSize(layers=1, width=32, heads=2, hidden=64),
)


@dataclass
class Cell:
    """One model that translates one kind of batch: times a sentence, one a round.

    Attributes:
        job: takes the number of the turn and translates one or more batches; returns seconds in all, seconds of the
            loop (None if unknown), and the words
        sentences: how many the job translates
        rare: the share of words that came from a hybrid's bits
    """

    section: str
    method: str
    precision: str
    batch: int
    exponent: int
    job: Callable[[int], tuple[float, float | None, list[list[int]]]] = field(repr=False)
    sentences: int
    totals: list[float] = field(default_factory=list)
    loops: list[float] = field(default_factory=list)
    words: list[list[int]] = field(default_factory=list, repr=False)
    rounds_left: int = -1
    is_fast: bool = False

    def warm_up(self, rounds: int) -> None:
        """Run unseen: reads files, compiles kernels, and tells how slow it is."""
        seconds, _, _ = self.job(0)
        if seconds < SLOW:
            seconds, _, _ = self.job(0)
        self.is_fast = seconds < FAST
        most = 1 if seconds > 10 * SLOW else FEW_ROUNDS if seconds > SLOW else rounds
        self.rounds_left = min(rounds, most)

    def run(self) -> None:
        self.rounds_left -= 1
        if self.is_fast:
            self.job(len(self.totals))
        total, loop, words = self.job(len(self.totals))
        self.words += words
        self.totals.append(total / self.sentences)
        if loop is not None:
            self.loops.append(loop / self.sentences)

    @property
    def rare(self) -> float | None:
        if not self.method.startswith("hybrid"):
            return None
        first_rare = int(self.method.split("-")[1]) - 1
        return float(np.mean(np.array(self.words) >= first_rare))

    @property
    def total(self) -> float:
        """Seconds a sentence, the encoder included."""
        return statistics.median(self.totals)

    @property
    def loop(self) -> float | None:
        """Seconds a sentence, from the first state on."""
        return statistics.median(self.loops) if self.loops else None

    def as_dict(self) -> dict[str, Any]:
        keys = ("section", "method", "precision", "batch", "exponent", "rare", "total", "loop", "totals", "loops")
        return {key: getattr(self, key) for key in keys}


def ratio(first: Sequence[float], second: Sequence[float]) -> float:
    """The median of the ratios that the rounds give: in one round both meet the same load."""
    return statistics.median(a / b for a, b in zip(first, second, strict=False))


def measure(cells: Sequence[Cell], rounds: int) -> None:
    """Visit all cells, round after round, in an order that changes: what ran before may slow down what comes after."""
    for cell in cells:
        progress(f"{cell.section}: warming up {cell.method}, {cell.precision}")
        cell.warm_up(rounds)
    order = random.Random(0)
    for number in range(rounds):
        progress(f"{cells[0].section}: round {number + 1} of {rounds}")
        for cell in order.sample(cells, len(cells)):
            if cell.rounds_left > 0:
                cell.run()


@dataclass
class Memory:
    """Resident bytes of a process that loads one model and translates, and its size on disk."""

    engine: str
    method: str
    precision: str
    imports: int  # resident before the model is loaded
    peak: int
    own: int  # resident at the end without what is mapped from files
    disk: int | None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def progress(line: str) -> None:
    """Say what is being done, in one line of the terminal that is written over; elsewhere nothing."""
    if sys.stderr.isatty():
        print(f"\r{line:100}", end="", file=sys.stderr, flush=True)

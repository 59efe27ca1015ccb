"""What an output layer costs against the size of the vocabulary: `make bench-heads`.

One thread, H = 512, through the public interface. Three jobs: loss and gradient (of hidden states and parameters) for
4,096 tokens whose ids follow Zipf's law, and the 5 best words at batch 1 and at batch 64. What is tied has an embedding
beside it, whose gradient counts; hidden states are random, so that rows share shelves by chance alone.

Time: all output layers are visited in turn, round after round, and a cell is the median of its rounds, so that a
passing load slows all of them alike. In every round a job runs untimed first, until caches are as warm as in steady
use, whether its head was held or has just been built. As steady translation reads other words at each step, a job goes
through many hidden states in turn, the same for all heads and sizes: 16 batches, and at batch 1 as many states as 16
batches of 64 have. So no head profits from vectors of words that one state has left in a cache.

Memory: every cell has a process of its own, forked from a fresh one that has done all imports and run every kernel;
what counts is how far the resident memory rises above what it was before the job, the parameters aside. Cells that
would take more than half of the memory available are not tried: "–".
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import math
import multiprocessing
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from trellex.heads import HeadSpec, build_head
from trellex.heads.shelves import ShelvesHead

HIDDEN = 512
EXPONENTS = (12, 16, 20, 24)
TINY = 3000  # words to warm up with: enough for every hybrid, and none of the sizes measured
K = 5
FLOAT = 4  # bytes
BIT_GAIN, WORD_GAIN = 10.0, 6.0  # of shelves: logits of the trellis and scores of words spread by some nats
FLAT = 1.6  # the growth from the smallest to the largest vocabulary up to which a code head counts as flat

MEMORY_SHARE = 0.5  # of what is available, the most that a cell may take
LARGE = 256 << 20  # bytes of parameters above which a head is built and freed in every round instead of held
SLOW, FEW_ROUNDS = 1.0, 3  # a cell that takes more seconds, or is of a large head, runs in so many rounds
FAST = 0.02  # seconds that a cell fills with repetitions, and before with untimed ones
BATCHES, STATES = 16, 1024  # of hidden states, that a job goes through in turn, at least
ABSENT = "–"


class AdaptiveSoftmax(nn.Module):
    """PyTorch's `AdaptiveLogSoftmaxWithLoss` (Grave et al. 2017) with the methods of a `Head` that are measured."""

    def __init__(self, hidden_size: int, vocab_size: int) -> None:
        super().__init__()
        self.softmax = nn.AdaptiveLogSoftmaxWithLoss(hidden_size, vocab_size, adaptive_cutoffs(vocab_size), 4.0)

    def loss(self, h: Tensor, target: Tensor) -> Tensor:
        """h [T, H], target [T] -> [T]"""
        return -self.softmax(h, target).output

    def topk(self, h: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """h [T, H] -> words, log_probs [T, k]"""
        log_probs, words = self.softmax.log_prob(h).topk(k)
        return words, log_probs


def adaptive_cutoffs(vocab: int) -> list[int]:
    """Where the clusters begin: after 2,048 words, V / 16 and V / 4."""
    first = min(2048, vocab // 2)
    return sorted({first} | {cutoff for cutoff in (vocab // 16, vocab // 4) if cutoff > first})


@dataclass(frozen=True)
class Contender:
    """An output layer to measure.

    Attributes:
        spec: what `build_head` takes, None for PyTorch's adaptive softmax
        size: of the word vectors, for what is tied to them; if they are small, their gradient is sparse
    """

    name: str
    spec: str | dict[str, Any] | None
    size: int = HIDDEN

    @property
    def is_code(self) -> bool:
        return isinstance(self.spec, dict) and self.spec["type"] != "softmax"

    def build(self, vocab: int, device: str = "cpu") -> nn.Module:
        with torch.device(device):
            if self.spec is None:
                return AdaptiveSoftmax(HIDDEN, vocab)
            if not HeadSpec.parse(self.spec).uses_embedding:
                return build_head(self.spec, hidden_size=HIDDEN, vocab=vocab)
            embedding = nn.Embedding(vocab, self.size, sparse=self.size < HIDDEN)
            head = build_head(self.spec, hidden_size=HIDDEN, vocab=vocab, embedding=embedding)
            head.add_module("embedding", embedding)  # in place of a decoder: it has a gradient, and takes memory
            if isinstance(head, ShelvesHead):
                sharpen(head)
            return head

    def suits(self, vocab: int) -> bool:
        """Whether the vocabulary has rare words enough for this hybrid."""
        kind = self.spec["type"].split("-") if isinstance(self.spec, dict) else ["", "0"]
        return kind[0] != "hybrid" or int(kind[1]) < vocab

    def parameter_bytes(self, vocab: int) -> int:
        """Of float32 parameters, without building any."""
        return sum(parameter.nbytes for parameter in self.build(vocab, "meta").parameters())

    def needed_bytes(self, vocab: int, job: Job) -> int:
        """An estimate of what a job takes, parameters and their gradient included; of code heads those alone."""
        parameters = self.parameter_bytes(vocab)
        if self.is_code:
            return parameters * (2 if job.is_loss else 1)
        if job.is_loss:  # the gradient of the parameters; scores, their log-softmax and its gradient
            return 2 * parameters + 3 * FLOAT * self._scores(vocab, job.rows)
        return parameters + 4 * FLOAT * job.rows * vocab

    def _scores(self, vocab: int, tokens: int) -> int:
        """How many scores the loss of tokens computes; of the adaptive softmax's clusters those that Zipf expects."""
        if self.spec is not None:
            return tokens * vocab
        first, *_ = bounds = [*adaptive_cutoffs(vocab), vocab]
        of_tokens = (zipf_share(begin, end, vocab) * (end - begin) for begin, end in pairwise(bounds))
        return int(tokens * (first + sum(of_tokens)))


def sharpen(head: ShelvesHead) -> None:
    """As sure of the shelf and of the word as training makes it: how many shelves are looked at depends on it."""
    with torch.no_grad():
        head.shelves.weight *= BIT_GAIN
        head.words.project.weight *= WORD_GAIN


CONTENDERS = (
    Contender("softmax", "softmax"),
    Contender("softmax, tied", {"type": "softmax", "tied": True}),
    Contender("adaptive softmax (PyTorch)", None),
    Contender("binary-ec, squared", {"type": "binary-ec", "loss": "squared"}),
    Contender("binary-ec, trellis", {"type": "binary-ec", "loss": "trellis"}),
    Contender("binary-ec, mixture of 4", {"type": "binary-ec", "mixtures": 4}),
    Contender("hybrid-512-ec, trellis", {"type": "hybrid-512-ec", "loss": "trellis"}),
    Contender("hybrid-2048-ec, trellis", {"type": "hybrid-2048-ec", "loss": "trellis"}),
    Contender("binary-ec, complete", {"type": "binary-ec", "generators": "complete"}),
    Contender("hybrid-2048-ec, complete", {"type": "hybrid-2048-ec", "generators": "complete"}),
    Contender("binary-ec, complete, memory 6", {"type": "binary-ec", "generators": "complete", "memory": 6}),
    Contender("hybrid-2048-ec, complete, memory 6", {"type": "hybrid-2048-ec", "generators": "complete", "memory": 6}),
    Contender("shelves", {"type": "shelves", "code": "frequency"}),
    Contender("shelves, vectors of 64", {"type": "shelves", "code": "frequency"}, 64),
)


@dataclass(frozen=True)
class Job:
    """Something to do with a head: loss and gradient, or the k best words, of so many rows."""

    is_loss: bool
    rows: int

    @property
    def name(self) -> str:
        if self.is_loss:
            return f"loss + gradient, {self.rows:,} " + ("token" if self.rows == 1 else "tokens")
        return f"topk({K}), batch {self.rows}"

    def prepared(self, head: nn.Module, vocab: int) -> Callable[[], object]:
        """The job as a function without arguments, on the device of the head; each call takes the next batch."""
        parameters, numbers = list(head.parameters()), count()
        batches = hidden_states(self.rows, parameters[0].device)
        if not self.is_loss:
            return torch.inference_mode()(lambda: head.topk(batches[next(numbers) % len(batches)], K))
        targets = zipf(len(batches) * self.rows, vocab, torch.Generator().manual_seed(1)).view(-1, self.rows)
        targets = targets.to(batches.device)

        def loss_and_gradient() -> object:
            number = next(numbers) % len(batches)
            h = batches[number].requires_grad_()
            # A cluster of the adaptive softmax may have no token, and its parameters no gradient then.
            return torch.autograd.grad(head.loss(h, targets[number]).sum(), (h, *parameters), allow_unused=True)

        return loss_and_gradient


@cache
def hidden_states(rows: int, device: torch.device) -> Tensor:
    """Random batches for jobs to go through, at least 16, and of 1,024 states at least. -> [batches, rows, H]"""
    batches = max(BATCHES, STATES // rows)
    return torch.randn(batches, rows, HIDDEN, generator=torch.Generator().manual_seed(0)).to(device)


def jobs_of(tokens: int) -> tuple[Job, ...]:
    return Job(True, tokens), Job(False, 1), Job(False, 64)


def zipf_share(begin: int, end: int, vocab: int) -> float:
    """The probability of the ids begin … end − 1 under the law that `zipf` draws from."""
    return math.log((end + 1) / (begin + 1)) / math.log(vocab + 1)


def zipf(tokens: int, vocab: int, generator: torch.Generator) -> Tensor:
    """Word ids whose probabilities fall as 1 / (id + 1), nearly. -> [tokens]"""
    uniform = torch.rand(tokens, generator=generator, dtype=torch.float64)
    return ((vocab + 1) ** uniform - 1).long().clamp(max=vocab - 1)


# ---- time ----


@dataclass
class Cell:
    """One job of one output layer at one V: a time a round, and its memory."""

    contender: Contender
    vocab: int
    job: Job
    device: str
    parameter_bytes: int
    times: list[float] = field(default_factory=list)
    job_bytes: int | None = None  # the peak beyond what was there before the job
    repeats: int = 0
    rounds_left: int = 0

    @property
    def seconds(self) -> float | None:
        return statistics.median(self.times) if self.times else None

    def build(self) -> nn.Module:
        return self.contender.build(self.vocab, self.device)

    def run(self, head: nn.Module, rounds: int) -> None:
        """Time the job, warm; the first time around, find out before how often it is to be repeated.

        What is to be compiled has been by then, since the memory was measured before.
        """
        job = self.job.prepared(head, self.vocab)
        estimate = self._warm_up(job)
        if not self.repeats:
            self.repeats = max(1, min(1000, int(FAST / estimate)))
            self.rounds_left = min(rounds, FEW_ROUNDS) if estimate > SLOW or self.parameter_bytes > LARGE else rounds
        self.times.append(self._time(job, self.repeats))
        self.rounds_left -= 1

    def _warm_up(self, job: Callable[[], object]) -> float:
        """Run the job once, and again until as much time has passed as is timed. Returns how long the last took."""
        end = time.perf_counter() + FAST
        while True:
            seconds = self._time(job, 1)
            if time.perf_counter() >= end:
                return seconds

    def _time(self, job: Callable[[], object], repeats: int) -> float:
        synchronize(self.device)
        start = time.perf_counter()
        for _ in range(repeats):
            job()
        synchronize(self.device)
        return (time.perf_counter() - start) / repeats

    def as_dict(self) -> dict[str, Any]:
        return {
            "device": self.device,
            "head": self.contender.name,
            "vocab": self.vocab,
            "job": self.job.name,
            "seconds": self.seconds,
            "rounds": len(self.times),
            "parameter_bytes": self.parameter_bytes,
            "job_bytes": self.job_bytes,
        }


def synchronize(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def cells_of(contenders: Iterable[Contender], device: str, vocabs: Iterable[int], jobs: Iterable[Job]) -> list[Cell]:
    """All cells that fit into the memory of a device."""
    limit = MEMORY_SHARE * available_bytes(device)
    contenders, jobs = tuple(contenders), tuple(jobs)
    return [
        Cell(contender, vocab, job, device, contender.parameter_bytes(vocab))
        for vocab in vocabs
        for contender in contenders
        if contender.suits(vocab)
        for job in jobs
        if contender.needed_bytes(vocab, job) <= limit
    ]


def measure_times(cells: list[Cell], rounds: int) -> None:
    """Visit all heads in turn, round after round, and time their jobs. Large heads live for a visit only."""
    visits: dict[tuple[str, int], list[Cell]] = {}
    for cell in cells:
        visits.setdefault((cell.contender.name, cell.vocab), []).append(cell)
    held: dict[tuple[str, int], nn.Module] = {}
    for number in range(rounds):
        for place, of_head in visits.items():
            due = [cell for cell in of_head if number == 0 or cell.rounds_left > 0]
            if not due:
                continue
            head = held.get(place) or due[0].build()
            for cell in due:
                cell.run(head, rounds)
            if due[0].parameter_bytes <= LARGE:
                held[place] = head
            del head
        progress(f"{cells[0].device}: round {number + 1} of {rounds}")


# ---- memory ----


def available_bytes(device: str) -> int:
    """Memory that is free for use."""
    if device == "cuda":
        return torch.cuda.mem_get_info()[0]
    try:
        return status_bytes("/proc/meminfo", "MemAvailable")
    except (OSError, LookupError):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def status_bytes(path: str, key: str) -> int:
    """A line such as `VmHWM: 123 kB` of a file in /proc."""
    fields = dict(line.split(":", 1) for line in Path(path).read_text().splitlines() if ":" in line)
    return int(fields[key].split()[0]) << 10


def measure_memory(cells: list[Cell], tokens: int) -> int:
    """Fill in the memory of all cells of one device. Returns how many bytes an array of 64 MiB is measured as."""
    if cells[0].device == "cuda":
        for cell in cells:
            with suppress(torch.OutOfMemoryError):
                cell.job_bytes = growth_in(cell)
        return growth_of_array("cuda")
    names = [option for name in names_of(cells) for option in ("--head", name)]
    command = [sys.executable, __file__, "--memory", "--tokens", str(tokens), *names, "--vocab"]
    command += [str(exponent) for exponent in sorted({cell.vocab.bit_length() - 1 for cell in cells})]
    # Without a GPU, since torch's autograd starts a thread for each, and a process with threads is not to be forked.
    environment = os.environ | {"CUDA_VISIBLE_DEVICES": ""}
    answer = json.loads(subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout)
    found = {(cell["head"], cell["vocab"], cell["job"]): cell["job_bytes"] for cell in answer["cells"]}
    for cell in cells:
        cell.job_bytes = found.get((cell.contender.name, cell.vocab, cell.job.name))
    return answer["check"]


def memory_process(contenders: Iterable[Contender], vocabs: list[int], tokens: int) -> None:
    """Measure the memory of all cells in main memory, each in a fork of this process, and print it as JSON."""
    contenders = tuple(contenders)
    for contender in contenders:
        for job in jobs_of(tokens):
            job.prepared(contender.build(TINY), TINY)()  # imports, compiled kernels
    cells = cells_of(contenders, "cpu", vocabs, jobs_of(tokens))
    for cell in cells:
        cell.job_bytes = in_a_fork(lambda cell=cell: growth_in(cell))
        progress(f"memory: {cell.contender.name}, {power(cell.vocab)} words, {cell.job.name}")
    check = in_a_fork(growth_of_array)
    print(json.dumps({"check": check, "cells": [cell.as_dict() for cell in cells]}))


def growth_in(cell: Cell) -> int:
    """What the job of a cell takes beyond a head that is built before.

    The same job on few words comes first, since a fork maps the code of libraries only as it comes to run; it is one
    word more than before the fork, so that a trellis is built once more.
    """
    cell.job.prepared(cell.contender.build(TINY + 1, cell.device), TINY + 1)()
    return growth_of(cell.job.prepared(cell.build(), cell.vocab), cell.device)


def growth_of_array(device: str = "cpu") -> int:
    """To check the measurement: 64 MiB are filled and freed, after twice as much was."""
    torch.ones(128 << 18, device=device)
    return growth_of(lambda: torch.ones(64 << 18, device=device), device)


def growth_of(job: Callable[[], object], device: str) -> int:
    """How many bytes the memory in use rises during a job, at its peak, above what it was before."""
    gc.collect()
    if device == "cuda":
        synchronize(device)
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        job()
        return torch.cuda.max_memory_allocated() - before
    release_free_memory()
    before = reset_peak()
    job()
    return max(0, peak_bytes() - before)


def reset_peak() -> int:
    """Let the high-water mark of resident memory fall to what is resident now, in bytes.

    Where that is not allowed it stays, and growth below it goes unseen: the check that is printed shows so.
    """
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return status_bytes("/proc/self/status", "VmRSS")
    except (OSError, LookupError):
        return peak_bytes()


def peak_bytes() -> int:
    """The high-water mark of this process's resident memory."""
    try:
        return status_bytes("/proc/self/status", "VmHWM")
    except (OSError, LookupError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << (0 if sys.platform == "darwin" else 10)


def release_free_memory() -> None:
    """Give back what the C library keeps, or a job could take that again without a rise to be seen."""
    with suppress(AttributeError):  # of another C library than glibc
        ctypes.CDLL(None).malloc_trim(0)


def in_a_fork(measure: Callable[[], int]) -> int | None:
    """What `measure` returns in a copy of this process; None if that one is killed, for want of memory."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=lambda: sender.send(measure()))
    process.start()
    sender.close()
    with receiver, suppress(EOFError):
        return receiver.recv()
    process.join()
    if process.exitcode and process.exitcode > 0:
        raise RuntimeError("a process that measures memory failed; its message stands above")
    return None


# ---- the largest tensor ----


class LargestTensor(TorchDispatchMode):
    """Remembers the most elements that any operation put out, with and without the shapes of a head's parameters."""

    def __init__(self, head: nn.Module) -> None:
        super().__init__()
        self.parameter_shapes = {tuple(sorted(parameter.shape)) for parameter in head.parameters()}
        self.largest = self.largest_other = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        for output in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(output, Tensor):
                self.largest = max(self.largest, output.numel())
                if tuple(sorted(output.shape)) not in self.parameter_shapes:
                    self.largest_other = max(self.largest_other, output.numel())
        return result


@dataclass
class Largest:
    """The largest tensor that a job of a single row puts out, in elements.

    Attributes:
        largest_other: of those that do not have the shape of a parameter, as its gradient does
        python_bytes: the most memory that Python and numpy held at a time, torch aside
    """

    head: str
    vocab: int
    job: str
    largest: int
    largest_other: int
    python_bytes: int


def measure_largest(contenders: Iterable[Contender], vocabs: Iterable[int]) -> list[Largest]:
    """All code heads at batch 1. The first job at a V builds the trellis, too."""
    return [
        largest_of(contender, vocab, job)
        for contender in contenders
        if contender.is_code
        for vocab in vocabs
        if contender.suits(vocab)
        for job in (Job(True, 1), Job(False, 1))
        if contender.needed_bytes(vocab, job) <= MEMORY_SHARE * available_bytes("cpu")
    ]


def largest_of(contender: Contender, vocab: int, job: Job) -> Largest:
    """The same job on few words comes first: by then all that is imported on the way has been."""
    largest_tensors(contender, TINY, job)
    tracemalloc.start()
    largest, largest_other = largest_tensors(contender, vocab, job)
    python_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return Largest(contender.name, vocab, job.name, largest, largest_other, python_bytes)


def largest_tensors(contender: Contender, vocab: int, job: Job) -> tuple[int, int]:
    """The largest of all tensors, and of those without the shape of a parameter, in elements."""
    head = contender.build(vocab)
    prepared = job.prepared(head, vocab)
    with LargestTensor(head) as tensors:
        prepared()
    return tensors.largest, tensors.largest_other


# ---- tables ----


def print_table(title: str, names: Iterable[str], columns: list[str], text: Callable[[str, str], str]) -> None:
    """Aligned text: a row a name, a column a heading."""
    print(f"\n{title:44}" + "".join(f"{column:>14}" for column in columns))
    for name in names:
        print(f"  {name:42}" + "".join(f"{text(name, column):>14}" for column in columns))


def print_times(cells: list[Cell], names: list[str], vocabs: list[int], jobs: Iterable[Job]) -> None:
    """Milliseconds, and for code heads the growth from the smallest to the largest vocabulary."""
    growth = f"{power(vocabs[-1])} : {power(vocabs[0])}"
    for job in jobs:
        found = {(cell.contender.name, power(cell.vocab)): cell.seconds for cell in cells if cell.job == job}

        def text(name: str, column: str, found: dict[tuple[str, str], float | None] = found) -> str:
            if column != growth:
                seconds = found.get((name, column))
                return ABSENT if seconds is None else significant(seconds * 1e3)
            first, last = found.get((name, power(vocabs[0]))), found.get((name, power(vocabs[-1])))
            if not first or not last or name not in CODE_NAMES:
                return ""
            return f"{last / first:.2f}" + (" !" if last / first > FLAT else "  ")

        print_table(f"{job.name}: ms", names, [*map(power, vocabs), growth], text)
    print(f"\n  !: a code head's time grows by more than {FLAT} from {power(vocabs[0])} to {power(vocabs[-1])} words")


def print_memory(cells: list[Cell], names: list[str], vocabs: list[int], jobs: Iterable[Job]) -> None:
    """Megabytes of parameters, and what every job takes beyond them."""
    parameters = {(cell.contender.name, power(cell.vocab)): cell.parameter_bytes for cell in cells}
    tables: dict[str, dict[Any, int | None]] = {"parameters: MB": dict(parameters)}
    for job in jobs:
        tables[f"{job.name}: MB beyond"] = {
            (cell.contender.name, power(cell.vocab)): cell.job_bytes for cell in cells if cell.job == job
        }
    for title, found in tables.items():
        print_table(title, names, [*map(power, vocabs)], lambda *key, found=found: megabytes(found.get(key)))


def print_largest(rows: list[Largest]) -> None:
    """One line a job, and what follows from all of them."""
    print(f"\n{'largest tensor put out, a single row':60}{'V':>12}{'elements':>12}{'other than':>13}{'numpy peak':>13}")
    print(f"{'':84}{'parameters':>13}{'bytes':>13}")
    for row in rows:
        print(
            f"  {row.head + ': ' + row.job:58}{row.vocab:12,}"
            f"{row.largest:12,}{row.largest_other:13,}{row.python_bytes:13,}"
        )
    of_parameters = [row for row in rows if row.largest >= row.vocab]
    others = [row for row in rows if row.largest_other >= row.vocab]
    print(f"\nCode heads that put out a tensor of V or more elements: {named(of_parameters)}.")
    print(f"The same without tensors that have the shape of a parameter (H × outputs): {named(others)}.")


def named(rows: list[Largest]) -> str:
    """The heads and vocabularies of these rows in words."""
    places: dict[str, list[str]] = {}
    for row in rows:
        if power(row.vocab) not in places.setdefault(row.head, []):
            places[row.head].append(power(row.vocab))
    return "; ".join(f"{head} at {', '.join(vocabs)}" for head, vocabs in places.items()) or "none"


def power(vocab: int) -> str:
    return f"2^{vocab.bit_length() - 1}"


def significant(value: float) -> str:
    """Three digits, but all those before the point."""
    return f"{value:,.{max(0, 2 - math.floor(math.log10(value)))}f}"


def megabytes(size: int | None) -> str:
    return ABSENT if size is None else f"{size / 1e6:,.1f}"


def progress(line: str) -> None:
    """Say what is being done, in one line of the terminal that is written over; elsewhere nothing."""
    if sys.stderr.isatty():
        print(f"\r{line:100}", end="", file=sys.stderr, flush=True)


def names_of(cells: Iterable[Cell]) -> list[str]:
    """Those of the output layers, each once."""
    return list(dict.fromkeys(cell.contender.name for cell in cells))


NAMES = [contender.name for contender in CONTENDERS]
CODE_NAMES = {contender.name for contender in CONTENDERS if contender.is_code}


# ---- the whole ----


def machine(devices: list[str]) -> str:
    """What all this was measured on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        cpu = platform.processor() or platform.machine()
    gpu = f", {torch.cuda.get_device_name()}" if "cuda" in devices else ""
    return f"{cpu}{gpu}, torch {torch.__version__}, {torch.get_num_threads()} thread"


def plot(cells: list[Cell], jobs: Iterable[Job], path: str) -> None:
    """Time against V, both in powers: a panel for every job and device, a line for every head."""
    from matplotlib.figure import Figure

    panels = [(device, job) for device in dict.fromkeys(cell.device for cell in cells) for job in jobs]
    figure = Figure(figsize=(5 * len(panels), 5), layout="constrained")
    for place, (device, job) in enumerate(panels, 1):
        axes = figure.add_subplot(1, len(panels), place, xlabel="V", ylabel="ms", title=f"{job.name} ({device})")
        for name in names_of(cells):
            line = [c for c in cells if (c.contender.name, c.device, c.job) == (name, device, job) and c.times]
            style = "o-" if name in CODE_NAMES else "s--"
            axes.loglog([c.vocab for c in line], [c.seconds * 1e3 for c in line], style, label=name)
        axes.set_xscale("log", base=2)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    figure.savefig(path, dpi=150)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9, help="how often everything is timed (default: 9)")
    parser.add_argument(
        "--vocab", type=int, nargs="+", default=EXPONENTS, metavar="E", help="V = 2^E (default: 12 16 20 24)"
    )
    parser.add_argument("--tokens", type=int, default=4096, help="of the loss (default: 4096)")
    parser.add_argument(
        "--head",
        action="append",
        choices=NAMES,
        metavar="NAME",
        help="as the tables say; again for more (default: all)",
    )
    parser.add_argument("--device", choices=("cpu", "cuda"), nargs="+", help="default: all there are")
    parser.add_argument("--json", metavar="PATH", help="write all numbers there")
    parser.add_argument("--plot", metavar="PATH.png", help="draw time against V there; needs matplotlib")
    parser.add_argument("--memory", action="store_true", help="only measure the memory on the CPU, and print JSON")
    arguments = parser.parse_args()
    if arguments.plot and not find_matplotlib():
        parser.error("--plot needs matplotlib: pip install matplotlib")
    return arguments


def find_matplotlib() -> bool:
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return False
    return True


def main() -> None:
    arguments = parse_arguments()
    torch.set_num_threads(1)
    vocabs, jobs = sorted(1 << exponent for exponent in arguments.vocab), jobs_of(arguments.tokens)
    contenders = [each for each in CONTENDERS if each.name in (arguments.head or NAMES)]
    if arguments.memory:
        memory_process(contenders, vocabs, arguments.tokens)
        return

    devices = arguments.device or ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
    print(machine(devices))
    print(f"H = {HIDDEN}; median of {arguments.rounds} rounds, of {FEW_ROUNDS} for what is slow or large")
    largest = measure_largest(contenders, vocabs)  # first, while no trellis is in the cache yet
    every: list[Cell] = []
    for device in devices:
        cells = cells_of(contenders, device, vocabs, jobs)
        if not cells:
            print(f"\n==== {device} ====\n\n  nothing fits into {MEMORY_SHARE:.0%} of the memory")
            continue
        check = measure_memory(cells, arguments.tokens)
        cells = [cell for cell in cells if cell.job_bytes is not None]  # those whose memory was there indeed
        measure_times(cells, arguments.rounds)
        print(f"\n==== {device} ====")
        names = [contender.name for contender in contenders]
        print_times(cells, names, vocabs, jobs)
        print_memory(cells, names, vocabs, jobs)
        print(f"\n  check: a job that fills an array of {megabytes(64 << 20)} MB is measured as {megabytes(check)} MB")
        every += cells
    print_largest(largest)
    if arguments.json:
        numbers = {
            "machine": machine(devices),
            "cells": [cell.as_dict() for cell in every],
            "largest": [asdict(row) for row in largest],
        }
        Path(arguments.json).write_text(json.dumps(numbers, indent=1) + "\n")
    if arguments.plot:
        plot(every, jobs, arguments.plot)


if __name__ == "__main__":
    main()

"""The trellis algorithms in main memory: checks the values, shares rows among threads, calls the kernels."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trellex.arrays import as_count, is_tensor
from trellex.trellis import kernels
from trellex.trellis.lattice import Lattice

FEW_TO_DECODE, FEW_TO_SUM = 24, 8  # rows up to which one word at a time is faster than many side by side
MIN_ROWS = 64  # a thread's share below which starting it does not pay

Floats: TypeAlias = NDArray[Any]

_threads = 1


def set_num_threads(threads: int) -> None:
    """How many threads share the rows of large arrays in main memory. One unless set."""
    global _threads
    _threads = as_count(threads, "threads")


def _also_for_tensors(algorithm: Callable[..., Any]) -> Callable[..., Any]:
    """Let an algorithm on arrays take tensors too. Those in main memory are not copied, others go there and back."""

    @wraps(algorithm)
    def on_either(values: Any, *arguments: Any) -> Any:
        if isinstance(values, np.ndarray):
            return algorithm(values, *arguments)
        import torch

        answer = algorithm(*(x.detach().cpu().numpy() if is_tensor(x) else x for x in (values, *arguments)))
        if isinstance(answer, tuple):
            return tuple(x if x is None else torch.from_numpy(x).to(values.device) for x in answer)
        return torch.from_numpy(answer).to(values.device)

    return on_either


@_also_for_tensors
def viterbi(probs: Floats, lattice: Lattice) -> NDArray[np.int64]:
    """The most probable word of bit probabilities. probs [N, L] -> bits [N, B]"""
    bits = np.empty((len(probs), lattice.num_bits), np.int64)
    tables = lattice.butterfly if len(probs) <= FEW_TO_DECODE else None
    if tables is not None and kernels.butterfly_bits(probs, *tables, bits) < 0:
        return bits
    kernel = kernels.viterbi_complete if lattice.is_complete else kernels.viterbi
    bad_row = _run(kernel, _tables(lattice), probs, bits)
    if bad_row >= 0:
        raise ValueError(f"probs: row {bad_row} has a value outside [0, 1] or NaN; apply a sigmoid to logits first")
    return bits


@_also_for_tensors
def topk(logits: Floats, k: int, lattice: Lattice) -> tuple[NDArray[np.int64], Floats]:
    """The k best words, best first, −1 and −inf where there are fewer. logits [N, L] -> numbers, scores [N, k]"""
    numbers = np.empty((len(logits), k), np.int64)
    scores = np.empty((len(logits), k))
    if k > 1 or lattice.butterfly is None:
        check(_run(kernels.topk, _tables(lattice), logits, numbers, scores))
    elif _run(kernels.butterfly, (*lattice.butterfly, False), logits, numbers, scores) >= 0:
        rows = np.flatnonzero(numbers[:, 0] < 0)
        found = numbers[rows], scores[rows]
        bad_row = _run(kernels.topk, _tables(lattice), logits[rows], *found)
        check(rows[bad_row] if bad_row >= 0 else -1)
        numbers[rows], scores[rows] = found
    return numbers, scores.astype(logits.dtype, copy=False)


@_also_for_tensors
def log_partition(logits: Floats, lattice: Lattice, with_posterior: bool = False) -> tuple[Floats, Floats | None]:
    """The log-sum over words and, if asked for, its gradient. logits [N, L] -> values [N], posterior [N, L]"""
    values = np.empty(len(logits), logits.dtype)
    posterior = np.empty(logits.shape if with_posterior else (0, 0), logits.dtype)
    kernel = kernels.log_partition if len(logits) <= FEW_TO_SUM else _log_partition_in_bulk
    check(_run(kernel, _tables(lattice), logits, values, posterior))
    return values, posterior if with_posterior else None


def _log_partition_in_bulk(logits: Floats, *others: Any) -> int:
    """As the kernel of this name, which leaves the exponentials to numpy because numpy computes several at once."""
    logits = np.ascontiguousarray(logits)  # spares compiling for others
    with np.errstate(all="ignore"):
        odds = np.exp(logits, dtype=np.float64)
    return kernels.log_partition_in_bulk(logits, odds, *others)


@_also_for_tensors
def sample(logits: Floats, uniforms: Floats, lattice: Lattice) -> NDArray[np.int64]:
    """Words drawn with their probabilities. logits [N, L], uniforms [N, C, T] in [0, 1) -> numbers [N, C]"""
    numbers = np.empty(uniforms.shape[:2], np.int64)
    check(_run(kernels.sample, _tables(lattice), logits, uniforms, numbers))
    return numbers


def check(bad_row: int) -> None:
    if bad_row >= 0:
        raise ValueError(f"logits: row {bad_row} has a NaN; look for it where the logits were made")


def _tables(lattice: Lattice) -> tuple[NDArray[Any], ...]:
    return lattice.levels, lattice.incoming, lattice.edges, lattice.patterns


def _run(kernel: Callable[..., int], tables: tuple[Any, ...], rows: Floats, *others: Floats) -> int:
    """Call `kernel` on all rows, or on a share of them in each of several threads; the first bad row, or −1."""
    shares = min(_threads, len(rows) // MIN_ROWS)
    if shares <= 1:
        return kernel(rows, *tables, *others)
    cuts = [len(rows) * share // shares for share in range(shares + 1)]
    with ThreadPoolExecutor(shares) as pool:
        jobs = [
            pool.submit(kernel, rows[begin:end], *tables, *(other[begin:end] for other in others))
            for begin, end in pairwise(cuts)
        ]
    bad_rows = [begin + job.result() for begin, job in zip(cuts, jobs, strict=False) if job.result() >= 0]
    return min(bad_rows, default=-1)

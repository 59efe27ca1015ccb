"""Huffman codes: frequent words have short codes, padded with zeros to one length."""

from __future__ import annotations

import heapq
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trellex.codes.code import check_vocab_size
from trellex.codes.table import TableCode

MAX_LENGTH = 62  # numbers are int64


class HuffmanCode(TableCode):
    """A canonical Huffman code. The first bit of the array is the first of the code, zeros fill it up to B.

    No code is a prefix of another, so the padded arrays are distinct too; but they are not all of 0 … V−1.
    `automaton` accepts just them. In a canonical code the subtrees of one depth are of
    few shapes, so the automaton has O(B) states a bit, whatever V is.

    Args:
        counts: how often each word occurs, zero allowed  [V]
    """

    kind = "huffman"

    def __init__(self, counts: Any) -> None:
        counts = np.asarray(counts)
        if counts.ndim != 1 or counts.dtype.kind not in "iuf":
            raise ValueError(f"counts: expected a list of numbers, got shape {counts.shape} of {counts.dtype}")
        check_vocab_size(len(counts), "counts")
        if not np.isfinite(counts).all() or (counts < 0).any():
            raise ValueError("counts: expected finite numbers of at least 0")
        self._set_lengths(_huffman_lengths(counts.tolist()))

    def _set_lengths(self, lengths: NDArray[np.int64]) -> None:
        longest = int(lengths.max())
        if longest > MAX_LENGTH:
            raise ValueError(
                f"counts: the longest code would have {longest} bits, at most {MAX_LENGTH} fit; "
                "flatten the counts, e.g. take their square roots"
            )
        self.lengths = lengths
        super().__init__(_canonical_numbers(lengths), longest)

    @cached_property
    def automaton(self) -> NDArray[np.int64]:
        return _canonical_automaton(self.lengths)

    def to_dict(self) -> dict[str, Any]:
        return {"type": self.kind, "lengths": self.lengths.tolist()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        lengths = np.array(data["lengths"])
        if lengths.ndim != 1 or len(lengths) < 2 or lengths.dtype.kind not in "iu" or lengths.min() < 1:
            raise ValueError("lengths: expected a list of at least 2 positive whole numbers")
        longest = int(lengths.max())
        if longest > MAX_LENGTH or sum(1 << (longest - length) for length in lengths.tolist()) != 1 << longest:
            raise ValueError("lengths: these are not the code lengths of a Huffman code")
        code = cls.__new__(cls)
        code._set_lengths(lengths.astype(np.int64))
        return code


def _huffman_lengths(counts: list[float]) -> NDArray[np.int64]:
    """The code length of every word. Ties merge the older tree first, which keeps the code short."""
    vocab_size = len(counts)
    heap = [(count, word) for word, count in enumerate(counts)]
    heapq.heapify(heap)
    parent = [0] * (2 * vocab_size - 1)
    for node in range(vocab_size, 2 * vocab_size - 1):
        (left_count, left), (right_count, right) = heapq.heappop(heap), heapq.heappop(heap)
        parent[left] = parent[right] = node
        heapq.heappush(heap, (left_count + right_count, node))
    depth = [0] * (2 * vocab_size - 1)
    for node in range(2 * vocab_size - 3, -1, -1):
        depth[node] = depth[parent[node]] + 1
    return np.array(depth[:vocab_size], np.int64)


def _canonical_numbers(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Consecutive codes, shorter ones first, read as numbers whose lowest bit is the first of the code. [V]"""
    order = np.argsort(lengths, kind="stable")
    longest = int(lengths.max())
    widths = np.left_shift(1, longest - lengths[order])
    codes = np.cumsum(widths) - widths  # left-justified in `longest` bits
    numbers = np.zeros_like(codes)
    for place in range(longest):
        numbers |= ((codes >> (longest - 1 - place)) & 1) << place
    result = np.empty_like(numbers)
    result[order] = numbers
    return result


def _canonical_automaton(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Next state by [bit place, state, bit], −1 where no word goes on so; it starts in state 0. [B, S, 2]

    Nodes of one depth stand in runs of equal subtrees, left to right; a run is a state. State 0 of a depth
    below the root is the run of the finished words, for which only zeros follow.
    """
    longest = int(lengths.max())
    leaves = np.bincount(lengths, minlength=longest + 1)
    tables: list[list[tuple[int, int]]] = []
    below: list[tuple[int, int]] = [(int(leaves[longest]), 0)]  # (run length, state) of the nodes one deeper
    for depth in range(longest - 1, -1, -1):
        transitions = [(0, -1)] if depth else []
        runs = [(int(leaves[depth]), 0)] if leaves[depth] else []
        for count, children in _pair_runs(below):
            runs.append((count, len(transitions)))
            transitions.append(children)
        tables.append(transitions)
        below = runs
    tables.reverse()

    automaton = np.full((longest, max(map(len, tables)), 2), -1, np.int64)
    for place, transitions in enumerate(tables):
        automaton[place, : len(transitions)] = transitions
    return automaton


def _pair_runs(runs: list[tuple[int, int]]) -> list[tuple[int, tuple[int, int]]]:
    """Join neighbours two by two: runs of states become runs of parents with (left, right) children."""
    pairs: list[tuple[int, tuple[int, int]]] = []
    odd: int | None = None
    for count, state in runs:
        if odd is not None and count:
            pairs.append((1, (odd, state)))
            count, odd = count - 1, None
        if count >= 2:
            pairs.append((count // 2, (state, state)))
        if count % 2:
            odd = state
    return pairs

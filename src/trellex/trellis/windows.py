"""Windows: the newest bits of a code at each of its steps, by which a complete trellis tells words apart."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from trellex.arrays import Array, Table, namespace
from trellex.trellis.lattice import Register


@dataclass(frozen=True)
class Windows:
    """The windows of words of B bits, numbered through all steps: at each, the newest m + 1 bits, or all so far.

    A sum of one value for each window of a word is any function that a complete trellis of this memory can hold.

    Attributes:
        num_bits: B
        memory: m
    """

    num_bits: int
    memory: int

    @cached_property
    def count(self) -> int:
        """W, the windows of all steps."""
        return self._first(self.num_bits)

    @property
    def layout(self) -> Table:
        """Of every step the oldest bit of its window, the mask of as many bits, and its first window. [3, B]"""
        return _layout(self)

    def of(self, numbers: Array) -> Array:
        """The windows of words, by their numbers: one a step. numbers [..] -> [.., B]"""
        oldest, masks, firsts = self.layout.like(numbers)
        return (numbers[..., None] >> oldest & masks) + firsts

    def sums(self, values: Array) -> Array:
        """What the windows of every number add up to, step by step, as numbers grow. values [W, E] -> [2^B, E]"""
        sums = namespace(values).zeros_like(values[:1])
        for step in range(self.num_bits):
            older = max(step - self.memory, 0)  # bits that have left the window
            states, size = 1 << (step - older), values.shape[-1]
            of_step = values[self._first(step) : self._first(step + 1)].reshape(2, states, 1, size)
            sums = (sums.reshape(states, 1 << older, size) + of_step).reshape(2 << step, size)
        return sums

    def _first(self, step: int) -> int:
        """How many windows there are before this step: as many as states of a register with one more place."""
        return Register(self.memory + 1).first_output(step + 1) - 1


@cache
def _layout(windows: Windows) -> Table:
    steps = np.arange(windows.num_bits)
    oldest = np.maximum(steps - windows.memory, 0)
    firsts = np.array([windows._first(step) for step in range(windows.num_bits)], np.int64)
    return Table(np.stack([oldest, (2 << (steps - oldest)) - 1, firsts]))

"""The trellis unrolled over the bits of a word and trimmed to real words: the graph every algorithm walks.

A path from the first state to the last is a word. The code's register supplies 2^m states a level, and an
automaton that reads the bits says which paths are words; a state of the lattice is a pair of the two.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Butterfly: TypeAlias = tuple[NDArray[Any], NDArray[np.int64]]

MAX_BITS = 62  # numbers are int64
MAX_LEVEL, MAX_INCOMING = 1 << 16, 1 << 8  # what the kernels count in 16 and 8 bits
MAX_OUTPUTS = 5  # of a butterfly: the axes an array may have for numba to know its type at once


@dataclass(frozen=True)
class Register:
    """The newest bits of a word, as far as a code looks at them, and what it puts out for them.

    Attributes:
        memory: m; the register holds m + 1 bits, the newest in its lowest place, and the m older ones are the state
        generators: masks, oldest bit first, each of which puts out a parity of the register at every step. Without any
            the trellis is complete: for every state there is an output, which is the newest bit if that is the state,
            and 0 otherwise. Before the first bit there are only zeros, so the first steps have fewer states.
    """

    memory: int
    generators: tuple[str, ...] = ()

    @property
    def is_complete(self) -> bool:
        return not self.generators

    def length(self, num_bits: int) -> int:
        """L, the number of outputs for words of B bits; a complete trellis needs no zeros after them."""
        if not self.is_complete:
            return len(self.generators) * (num_bits + self.memory)
        return self.first_output(num_bits)

    def first_output(self, step: int) -> int:
        """How many outputs a complete trellis has before this step."""
        return (1 << min(step, self.memory)) - 1 + (max(step - self.memory, 0) << self.memory)

    def states(self, bits: Any) -> list[Any]:
        """Those that words pass through, the first before any bit. bits [.., B] -> T + 1 times [..]

        T is B for a complete trellis, and B + m for the others, which m zeros lead back to the first state.
        """
        state = bits[..., 0] & 0
        found = [state]
        for step in range(bits.shape[-1]):
            state = (state << 1 | bits[..., step]) & ((1 << self.memory) - 1)
            found.append(state)
        for _ in range(0 if self.is_complete else self.memory):
            state = state << 1 & ((1 << self.memory) - 1)
            found.append(state)
        return found


@dataclass(frozen=True, eq=False)
class Lattice:
    """Levels 0 … T of states, T = B + m, with edges from each level to the next, grouped by their target.

    Attributes:
        num_bits: B
        memory: m, the zeros that follow the B bits
        size: V where the words are the numbers below V, None where an automaton says what they are
        levels: states of level t are levels[t] … levels[t + 1] − 1; one state on the first and last [T + 2]
        incoming: edges into state s are incoming[s] … incoming[s + 1] − 1, that of the lowest number first [states + 1]
        edges: source state (counted within its level), output pattern, input bit  [edges, 3]
        patterns: the different outputs of a step, 0 or 1 for each generator  [patterns, n]. Of a complete trellis, the
            place of every step's first output among all  [T + 1]: pattern 0 puts out nothing, pattern s + 1 a single 1,
            in the place of state s
        butterfly: all 2^B bit arrays, as vectors like them; None if the code has none. The outputs on entering register
            2q from q, the same as on entering 2q + 1 from q + 2^(m − 1); the two other ways have the opposite outputs.
            [n, 1 …, q], n axes in all, for the number of axes is a constant of compiled code; those of a complete
            trellis are its patterns. And the automaton that says which of the arrays are words  [B, S, 2]
    """

    num_bits: int
    memory: int
    size: int | None
    levels: NDArray[np.uint32]
    incoming: NDArray[np.uint32]
    edges: NDArray[np.uint16]
    patterns: NDArray[Any]
    butterfly: Butterfly | None

    @property
    def num_steps(self) -> int:
        return self.num_bits + self.memory

    @property
    def is_complete(self) -> bool:
        return self.patterns.ndim == 1


def lattice_of(register: Register, num_bits: int, size: int | None, automaton: NDArray[Any] | None = None) -> Lattice:
    """The lattice of a code over the words of B bits; built once, then remembered.

    The words are the numbers below `size`, or all arrays if that is None; but an automaton [B, S, 2], where there is
    one, says alone what they are, and `size` is not looked at.
    """
    if automaton is None:
        try:
            size = None if size is None else operator.index(size)
        except TypeError:
            kind = type(size).__name__
            raise ValueError(f"size: expected a whole number, got {kind}; give an automaton as automaton=") from None
        return _lattice_below(register, num_bits, size)
    try:
        array = np.asarray(automaton)
    except ValueError as error:
        raise ValueError(f"automaton: expected an array of shape ({num_bits}, states, 2): {error}") from None
    if array.ndim != 3 or array.shape[::2] != (num_bits, 2) or array.dtype.kind not in "iu":
        raise ValueError(
            f"automaton: expected whole numbers of shape ({num_bits}, states, 2), got {array.shape} of {array.dtype}"
        )
    if array.size == 0:
        raise ValueError("automaton: it has no state")
    if array.min() < -1 or array.max() >= array.shape[1]:
        raise ValueError(f"automaton: its states go from 0 to {array.shape[1] - 1}, and −1 rejects")
    return _lattice_within(register, array.shape, array.astype(np.int64).tobytes())


@lru_cache(maxsize=256)
def _lattice_below(register: Register, num_bits: int, size: int | None) -> Lattice:
    if size is None:
        size = 1 << num_bits
    if size < 2:
        raise ValueError(f"size: expected at least 2 words, got {size}")
    if size > 1 << num_bits:
        raise ValueError(
            f"size: {size} words need {(size - 1).bit_length()} bits each, but the last dimension holds {num_bits}"
        )
    return build_lattice(register, below(size, num_bits), size)


@lru_cache(maxsize=16)
def _lattice_within(register: Register, shape: tuple[int, ...], automaton: bytes) -> Lattice:
    return build_lattice(register, np.frombuffer(automaton, np.int64).reshape(shape))


def below(size: int, num_bits: int) -> NDArray[np.int64]:
    """The automaton of the numbers 0 … size − 1, read lowest bit first. [B, S, 2]

    An automaton starts in state 0, −1 rejects, and after the last bit every state left accepts.
    """
    if size == 1 << num_bits:
        return np.zeros((num_bits, 1, 2), np.int64)
    automaton = _comparison(size - 1, num_bits)
    automaton[-1][automaton[-1] == 1] = -1
    return automaton


def between(start: int, stop: int, num_bits: int) -> NDArray[np.int64]:
    """The automaton of the numbers start … stop − 1: two comparisons side by side. [B, 4, 2]"""
    if not 0 < start < stop <= 1 << num_bits:
        raise ValueError(f"start, stop: expected 0 < start < stop ≤ {1 << num_bits}, got {start} and {stop}")
    high, low = _comparison(stop - 1, num_bits), _comparison(start - 1, num_bits)
    automaton = (2 * high[:, :, None] + low[:, None]).reshape(num_bits, 4, 2)
    automaton[-1] = np.where(automaton[-1] == 1, 1, -1)  # at most stop − 1, more than start − 1
    return automaton


def _comparison(limit: int, num_bits: int) -> NDArray[np.int64]:
    """Compares with `limit`: in state 0 the bits so far, as a number, are at most its own, in state 1 more. [B, 2, 2]

    It never rejects.
    """
    automaton = np.empty((num_bits, 2, 2), np.int64)
    for place in range(num_bits):
        limit_bit = limit >> place & 1
        automaton[place, :, limit_bit] = (0, 1)
        automaton[place, :, 1 - limit_bit] = 1 - limit_bit
    return automaton


def build_lattice(register: Register, automaton: NDArray[np.int64], size: int | None = None) -> Lattice:
    """Unroll the code with this register over the words that `automaton` [B, S, 2] accepts.

    `size`: V if those are the numbers below V
    """
    num_bits, memory = len(automaton), register.memory
    num_states = 1 << memory
    patterns, pattern_of_register = _outputs(register, num_bits)

    # Forwards: what can be reached. A state is written as automaton state · 2^m + register.
    states = [np.zeros(1, np.int64)]
    steps: list[tuple[NDArray[np.int64], ...]] = []
    for step in range(num_bits + memory):
        source = np.repeat(np.arange(len(states[-1])), 2)
        bit = np.tile([0, 1], len(states[-1]))
        before, content = np.divmod(states[-1][source], num_states)
        content = content * 2 + bit
        after = automaton[step, before, bit] if step < num_bits else np.where(bit == 0, 0, -1)
        alive = after >= 0
        if step == num_bits - 1:
            after[alive] = 0  # every word ends in the same state
        reached, target = np.unique((after * num_states + content % num_states)[alive], return_inverse=True)
        states.append(reached)
        order = np.lexsort((before[alive], content[alive], target))
        steps.append(tuple(x[order] for x in (source[alive], pattern_of_register[content[alive]], bit[alive], target)))
    if not len(states[-1]):
        raise ValueError("automaton: it accepts no bit array at all")

    # Backwards: drop what leads nowhere, number what is left.
    keep = np.ones(1, bool)
    level_sizes, edge_blocks = [1], []
    for (source, pattern, bit, target), level in zip(reversed(steps), reversed(states[:-1]), strict=True):
        alive = keep[target]
        target = (np.cumsum(keep) - 1)[target[alive]]
        keep = np.zeros(len(level), bool)
        keep[source[alive]] = True
        source = (np.cumsum(keep) - 1)[source[alive]]
        edge_blocks.append(np.stack([source, pattern[alive], bit[alive], target], -1))
        level_sizes.append(int(keep.sum()))
    level_sizes.reverse()
    edge_blocks.reverse()

    levels = np.concatenate([[0], np.cumsum(level_sizes)])
    targets = np.concatenate([block[:, 3] + start for block, start in zip(edge_blocks, levels[1:], strict=False)])
    incoming = np.searchsorted(targets, np.arange(levels[-1] + 1))
    if max(level_sizes) > MAX_LEVEL or np.diff(incoming).max() > MAX_INCOMING:
        raise ValueError(
            f"automaton: it makes levels of {max(level_sizes):,} states, at most {MAX_LEVEL:,} with at most "
            f"{MAX_INCOMING} edges into each fit; merge its equal states"
        )
    return Lattice(
        num_bits=num_bits,
        memory=memory,
        size=size,
        levels=levels.astype(np.uint32),
        incoming=incoming.astype(np.uint32),
        edges=np.ascontiguousarray(np.concatenate(edge_blocks)[:, :3], np.uint16),
        patterns=patterns,
        butterfly=(patterns, np.array(automaton))
        if register.is_complete
        else _butterfly(register, patterns[pattern_of_register], automaton),
    )


def _butterfly(register: Register, outputs: NDArray[np.float64], automaton: NDArray[np.int64]) -> Butterfly | None:
    """None unless every output depends on the oldest bit and on the newest, as those of good codes do.

    outputs: by register, with the oldest bit in its highest place  [2^(m + 1), n]
    """
    num_registers, num_outputs = outputs.shape
    has_both_ends = all(len(each) > 1 and each[0] == each[-1] == "1" for each in register.generators)
    if not has_both_ends or not 2 <= num_outputs <= MAX_OUTPUTS:
        return None
    on_entering_even = outputs[: num_registers // 2 : 2].T
    axes = num_outputs, *(1,) * (num_outputs - 2), num_registers // 4
    return np.ascontiguousarray(on_entering_even).reshape(axes), np.array(automaton)


def _outputs(register: Register, num_bits: int) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The `patterns` of a lattice, and the pattern of every content of the register [2^(m + 1)]."""
    contents = np.arange(2 << register.memory)
    if register.is_complete:
        steps = range(num_bits + register.memory + 1)
        first_outputs = np.array([register.first_output(min(step, num_bits)) for step in steps])
        return first_outputs, np.where(contents & 1, (contents >> 1) + 1, 0)
    masks = np.array([int(generator, 2) for generator in register.generators])
    outputs = np.bitwise_count(contents[:, None] & masks) & 1
    patterns, pattern_of_register = np.unique(outputs, axis=0, return_inverse=True)
    return patterns.astype(np.float64), pattern_of_register.reshape(-1)

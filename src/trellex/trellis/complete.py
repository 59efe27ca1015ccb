"""Complete trellises: an output for every state, so that the score of a word is any function a trellis can hold."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from trellex.arrays import Array, Table, as_count, as_int64, bits_to_number, is_tensor, namespace, number_to_bits
from trellex.trellis.convolutional import ConvolutionalCode, checked_bits
from trellex.trellis.lattice import MAX_BITS, Register

MIN_MEMORY, MAX_MEMORY = 1, 10
FEW_BITS = 12  # of words, of which a table may then hold something for each


class CompleteCode(ConvolutionalCode):
    """A trellis whose state is the m newest bits, with a logit for every state of every step.

    The logit is what a 1 as the next bit adds to the score of a word that is in this state; a 0 adds nothing. Parities
    of the newest m + 1 bits span the same scores if all of them are taken that look at the newest bit, as the few
    of a convolutional code do. The first bits have fewer states before them and none need follow the last, so there
    are L = 2^m (B − m) + 2^m − 1 outputs. With m = B − 1 it is a softmax over all words.

    Redundant bits are 1 where the word passes through the state and goes on with a 1. All that is said of
    `ConvolutionalCode` but its errors and generators holds.

    Args:
        memory: m, 1 … 10
    """

    def __init__(self, memory: int) -> None:
        if as_count(memory, "memory") > MAX_MEMORY:
            raise ValueError(f"memory: expected {MIN_MEMORY} … {MAX_MEMORY}, got {memory}")
        self.register = Register(memory)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(memory={self.memory})"

    def num_bits(self, length: int) -> int:
        for num_bits in range(1, MAX_BITS + 1):
            if self.length(num_bits) == length:
                return num_bits
        raise ValueError(
            f"the last dimension, {length}, does not fit: for words of B bits, 1 ≤ B ≤ {MAX_BITS}, "
            f"it must be 2^{self.memory} (B − {self.memory}) + 2^{self.memory} − 1; use length(B)"
        )

    def encode(self, bits: Any) -> Array:
        """Where a word adds a logit to its score. bits [.., B] -> redundant bits [.., L], int64"""
        bits = checked_bits(bits)
        places = self._places(bits)
        if is_tensor(bits):
            return bits.new_zeros(*bits.shape[:-1], self.length(bits.shape[-1])).scatter(-1, places, bits)
        library = namespace(bits)
        encoded = library.zeros((*bits.shape[:-1], self.length(bits.shape[-1])), bits.dtype)
        library.put_along_axis(encoded, places, bits, -1)
        return encoded

    def score(self, logits: Array, bits: Array) -> Array:
        places = self._places(bits)
        if not is_tensor(logits):
            return (namespace(logits).take_along_axis(logits, places, -1) * bits).sum(-1)
        shape = namespace(logits).broadcast_shapes(logits.shape[:-1], places.shape[:-1])
        return (logits.expand(*shape, -1).gather(-1, places.expand(*shape, -1)) * bits).sum(-1)

    def score_of_numbers(self, logits: Array, numbers: Array, num_bits: int) -> Array:
        """The scores of several words a row. Of few bits, a table tells where they count.

        logits [T, L], numbers [T, K] -> [T, K]
        """
        library, zero = namespace(logits), namespace(logits).zeros_like(logits[:, :1])
        if num_bits <= FEW_BITS:
            places = _counted(self.memory, num_bits).like(numbers)[numbers]
        else:
            places = self._counted_places(numbers, num_bits)
        flat, with_nothing = (
            places.reshape(len(places), numbers.shape[1] * num_bits),
            library.concatenate([logits, zero], -1),
        )
        found = with_nothing.gather(1, flat) if is_tensor(logits) else np.take_along_axis(with_nothing, flat, 1)
        return found.reshape(places.shape).sum(-1)

    def _counted_places(self, numbers: Array, num_bits: int) -> Array:
        """The outputs that the words of numbers add up, and that after the last for a 0. numbers [..] -> [.., B]"""
        bits = number_to_bits(numbers, num_bits)
        return namespace(bits).where(bits == 1, self._places(bits), self.length(num_bits))

    def all_scores(self, logits: Array, num_bits: int) -> Array:
        """The score of every word, by its number: for few bits. logits [.., L] -> [.., 2^B]"""
        library, scores = namespace(logits), logits[..., :1] * 0  # by the bits so far, the newest in the lowest place
        rows = logits.shape[:-1]
        for step in range(num_bits):
            first, states = self.register.first_output(step), 1 << min(step, self.memory)
            by_state = scores.reshape(*rows, (1 << step) // states, states)
            with_one = (by_state + logits[..., None, first : first + states]).reshape(scores.shape)
            scores = library.stack([scores, with_one], -1).reshape(*rows, 2 << step)
        return scores[..., _reversed_bits(num_bits).like(as_int64(scores[..., :0]))]

    def minimum_distance(self, num_bits: int) -> int:
        raise ValueError(f"{self} corrects no errors: its outputs are no bits that could be wrong")

    def _places(self, bits: Array) -> Array:
        """The outputs at which the bits of a word count: those of its states. bits [.., B] -> [.., B]

        All steps at once: a state is the bits before it, the newest in the lowest place, as they stand side by side in
        the reversed number, whose lowest bit is the last of the word.
        """
        num_bits = bits.shape[-1]
        steps = _steps(self.memory, num_bits).like(as_int64(bits[..., :0]))
        states = (bits << steps[0]).sum(-1)[..., None] >> steps[1] & ((1 << self.memory) - 1)
        return states + steps[2]


@cache
def _steps(memory: int, num_bits: int) -> Table:
    """By step: the place of its bit in the reversed number, that of the bits before it, and the first output. [3, B]"""
    steps = np.arange(num_bits)
    first_outputs = [Register(memory).first_output(step) for step in range(num_bits)]
    return Table(np.stack([num_bits - 1 - steps, num_bits - steps, first_outputs]))


@cache
def _counted(memory: int, num_bits: int) -> Table:
    """`_counted_places` of all numbers. [2^B, B]"""
    return Table(CompleteCode(memory)._counted_places(np.arange(1 << num_bits), num_bits))


@cache
def _reversed_bits(num_bits: int) -> Table:
    """Numbers with the order of their bits reversed. [2^B]"""
    return Table(bits_to_number(number_to_bits(np.arange(1 << num_bits), num_bits)[:, ::-1]))

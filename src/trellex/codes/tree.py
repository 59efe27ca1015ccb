"""The binary tree of a code: words are its leaves, and a bit that parts words is an inner node."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trellex.arrays import Array, Table, bits_to_number
from trellex.codes.code import Code

Ints = NDArray[np.int64]


class Level(NamedTuple):
    """The nodes of one depth, N of them, whose 2 N children are counted from the left."""

    num_nodes: int
    words: Table  # which of the children are words, and so have none
    nodes: Table  # which are nodes, those of the next level


class CodeTree:
    """Where the codes of words part. Bits in which all words below a node agree part nothing and have none.

    So there are V − 1 nodes whatever the code, numbered level by level from the root, which is 0, and within a level
    from the left, where bits are 0.

    Args:
        code: word ↔ bits; the first bit is nearest to the root

    Attributes:
        levels: the nodes of each depth  [D]
        depth: D, the most nodes on a word's path
        words: level by level  [V]
    """

    def __init__(self, code: Code) -> None:
        bits = code.bits(np.arange(code.vocab_size))
        numbers = bits_to_number(bits[:, ::-1])  # whose order is that of the leaves
        leaves = np.argsort(numbers)
        numbers = numbers[leaves]
        begin, end = np.array([0]), np.array([len(leaves)])  # the leaves below the nodes of one level
        children, turns, first = [], [], 0
        while len(begin):
            highest = _highest_bit(numbers[begin] ^ numbers[end - 1])
            middle = np.searchsorted(numbers, numbers[end - 1] & -highest)
            turns.append(_turns_of_level(begin, middle, end, first, len(leaves)))
            first += len(begin)
            begin, end = np.stack([begin, middle], 1).ravel(), np.stack([middle, end], 1).ravel()
            is_node = end - begin > 1
            children.append(np.where(is_node, first + np.cumsum(is_node) - 1, -1 - leaves[begin]).reshape(-1, 2))
            begin, end = begin[is_node], end[is_node]
        self.vocab_size, self.depth = len(leaves), len(turns)
        self.levels = [
            Level(len(level), Table(np.flatnonzero(level < 0)), Table(np.flatnonzero(level >= 0))) for level in children
        ]
        in_order = np.empty((self.vocab_size, self.depth), np.int64)
        in_order[leaves] = np.stack(turns, 1)
        followers = np.concatenate(children)
        self._turns, self._children, self.words = Table(in_order), Table(followers), Table(~followers[followers < 0])

    @property
    def num_nodes(self) -> int:
        """V − 1"""
        return self.vocab_size - 1

    def turns(self, words: Array) -> Array:
        """The way to words: 2 · node + bit at each step, −1 after the last. words [..] -> [.., D]"""
        return self._turns.like(words)[words]

    def children(self, nodes: Array) -> Array:
        """What follows nodes by a 0 and by a 1: a node, or a word as −1 − word. nodes [..] -> [.., 2]"""
        return self._children.like(nodes)[nodes]


def _highest_bit(numbers: Ints) -> Ints:
    """The same with all bits 0 but the highest, of numbers above 0. [..] -> [..]"""
    for shift in (1, 2, 4, 8, 16, 32):
        numbers = numbers | numbers >> shift
    return numbers - (numbers >> 1)


def _turns_of_level(begin: Ints, middle: Ints, end: Ints, first: int, num_leaves: int) -> Ints:
    """2 · node + bit of each leaf at the nodes of a level, −1 of leaves above. begin, middle, end [N] -> [V]"""
    turns = np.full(num_leaves, -1)
    sides, sizes = np.arange(2 * first, 2 * (first + len(begin))), np.stack([middle - begin, end - middle], 1).ravel()
    below = np.repeat(begin, end - begin) + _counted(end - begin)
    turns[below] = np.repeat(sides, sizes)
    return turns


def _counted(sizes: Ints) -> Ints:
    """0, 1, … of each run. [N] -> [their sum]"""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)

"""Brute force over all words: what the trellis must agree with. Written from the paper, not from the code."""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import logsumexp, softmax

from trellex.trellis import CompleteCode, ConvolutionalCode, IdentityCode
from trellex.trellis.lattice import Register

SIZES = (2, 3, 5, 100, 129, 255, 256, 1000, 1024)
CODES = {
    "paper": ConvolutionalCode(),
    "length 3": ConvolutionalCode(("101", "111")),
    "length 4, three generators": ConvolutionalCode(("1101", "1011", "1111")),
    "length 5": ConvolutionalCode(("11001", "10111")),
    "length 6, weak": ConvolutionalCode(("010110", "001000")),
    "identity": IdentityCode(),
    "memory 2, six generators": ConvolutionalCode(("001", "101", "011", "111", "110", "100")),
    "length 5, 16 generators": ConvolutionalCode([f"{mask:05b}" for mask in range(1, 32, 2)]),
    "complete, memory 1": CompleteCode(1),
    "complete, memory 4": CompleteCode(4),
    "complete, memory 9": CompleteCode(9),
}


def num_bits(size: int) -> int:
    return (size - 1).bit_length()


def redundant_bits(register: Register, bits: list[int]) -> list[int]:
    """Algorithm 2, bit by bit; of a complete trellis, all earlier bits in the window and a 1 after them."""
    memory = register.memory
    if register.is_complete:
        windows = [(bits[max(0, step - memory) : step], bit) for step, bit in enumerate(bits)]
        return [
            int(bit == 1 and earlier == [state >> place & 1 for place in reversed(range(len(earlier)))])
            for earlier, bit in windows
            for state in range(1 << len(earlier))
        ]
    padded = [0] * memory + bits + [0] * memory
    steps, masks = range(len(bits) + memory), register.generators
    return [sum(int(g) * x for g, x in zip(mask, padded[t:], strict=False)) % 2 for t in steps for mask in masks]


@cache
def code_words(register: Register, size: int, bits: int) -> np.ndarray:
    """The redundant bits of the words 0 … size − 1. [V, L]"""
    words = np.array([redundant_bits(register, [w >> i & 1 for i in range(bits)]) for w in range(size)], float)
    words.setflags(write=False)
    return words


class Enumeration:
    """Scores of all words, and everything that follows from them. logits [N, L], words [V, L]"""

    def __init__(self, logits: np.ndarray, words: np.ndarray) -> None:
        logits = np.nan_to_num(logits, posinf=1e4, neginf=-1e4)  # a certain bit counts ten thousand nats
        self.words = words
        self.scores = logits @ words.T
        self.log_partition = logsumexp(self.scores, axis=-1)
        self.probs = softmax(self.scores, axis=-1)
        self.posterior = self.probs @ words

    def topk(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """The k best words, the lower number first where scores are equal, padded with −1 and −inf. [N, k] twice"""
        order = np.argsort(-self.scores, axis=-1, kind="stable")[:, :k]
        missing = ((0, 0), (0, k - order.shape[1]))
        scores = np.take_along_axis(self.scores, order, -1)
        return np.pad(order, missing, constant_values=-1), np.pad(scores, missing, constant_values=-np.inf)


def logits_of_every_kind(length: int, seed: int = 0) -> dict[str, np.ndarray]:
    """Rows [N, L] that tempt an implementation to be wrong. All but the first kind have exact sums."""
    rng = np.random.default_rng(seed)
    return {
        "random": rng.normal(size=(20, length)) * 3,
        "all tied": np.zeros((1, length)),
        "many ties": rng.integers(-1, 2, (20, length)).astype(float),
        "nearly certain": rng.integers(-2, 3, (20, length)) * 10_000.0,
        "far apart": np.where(rng.random((20, length)) < 0.2, 2.0**40, 1.0) * rng.integers(-3, 4, (20, length)),
        "infinite": rng.choice([-np.inf, -1.0, 0.0, 2.0, np.inf], (20, length)),
    }

"""How well a code suits a text: whether words that are alike have codes that are alike, and how much bits tell."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trellex.codes import Code

SAMPLE, NEIGHBOURS = 4096, 5  # words that are looked at, and the nearest of each
CHUNK = 256  # of them together

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


class NearWords(NamedTuple):
    """Some words, with those that are nearest to each, and as many others at random."""

    words: Ids  # [M, 1]
    nearest: Ids  # [M, K]
    others: Ids  # [M, K]

    @classmethod
    def of(cls, vectors: NDArray[Any], sample: int = SAMPLE, neighbours: int = NEIGHBOURS) -> NearWords:
        """By the cosine of word vectors, of words that have one; the same vectors give the same. vectors [V, D]"""
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        known = np.flatnonzero(lengths[:, 0])
        if len(known) < 2:
            raise ValueError("vectors: fewer than 2 words have neighbours in the text; codes need more to be compared")
        units = vectors[known] / lengths[known]
        rng = np.random.default_rng(0)
        chosen = np.sort(rng.permutation(len(known))[:sample])
        count = min(neighbours, len(known) - 1)
        nearest = np.empty((len(chosen), count), np.int64)
        for first in range(0, len(chosen), CHUNK):
            rows = chosen[first : first + CHUNK]
            likeness = units[rows] @ units.T
            likeness[np.arange(len(rows)), rows] = -np.inf
            nearest[first : first + CHUNK] = np.argpartition(-likeness, count - 1, 1)[:, :count]
        others = (chosen[:, None] + rng.integers(1, len(known), nearest.shape)) % len(known)
        return cls(known[chosen][:, None], known[nearest], known[others])


class CodeQuality(NamedTuple):
    """What is told of a code."""

    bits: int  # B
    near_distance: float  # how many bits differ between words and those nearest to them, on average
    random_distance: float  # and between words at random
    near_first_bits: float  # how many of the first bits agree, until one differs
    random_first_bits: float
    entropy: float  # of a bit, if all words are as frequent, the mean over all bits
    text_entropy: float  # of a bit, as frequent as words are in the text
    ones: list[float]  # the share of words that have each bit  [B]
    text_ones: list[float]  # the share of the text that has it  [B]

    @classmethod
    def of(cls, code: Code, near: NearWords, counts: NDArray[Any]) -> CodeQuality:
        """counts: how often each word occurs  [V]"""
        bits = code.bits(np.arange(code.vocab_size))
        near_distance, near_first_bits = _agreement(bits, near.words, near.nearest)
        random_distance, random_first_bits = _agreement(bits, near.words, near.others)
        ones = bits.mean(0)
        text_ones = counts @ bits / counts.sum() if counts.sum() else ones
        return cls(
            bits=code.num_bits,
            near_distance=near_distance,
            random_distance=random_distance,
            near_first_bits=near_first_bits,
            random_first_bits=random_first_bits,
            entropy=float(_entropy(ones).mean()),
            text_entropy=float(_entropy(text_ones).mean()),
            ones=ones.tolist(),
            text_ones=text_ones.tolist(),
        )


def like_words(code: Code, word: int, count: int) -> Ids:
    """The words whose codes are most like a word's: most first bits shared, then fewest that differ. -> ids [count]"""
    bits = code.bits(np.arange(code.vocab_size))
    differs = bits != bits[word]
    shared, distance = _shared(differs), differs.sum(-1)
    order = np.lexsort((distance, -shared))
    found: Ids = order[order != word][:count]
    return found


def _agreement(bits: NDArray[Any], words: Ids, others: Ids) -> tuple[float, float]:
    """Bits that differ, and first bits that agree, on average. bits [V, B], words [M, 1], others [M, K]"""
    differs = bits[words] != bits[others]
    return float(differs.sum(-1).mean()), float(_shared(differs).mean())


def _shared(differs: NDArray[np.bool_]) -> Ids:
    """How many bits agree until one differs. [.., B] -> [..]"""
    found: Ids = np.cumprod(~differs, -1).sum(-1)
    return found


def _entropy(shares: Floats) -> Floats:
    """Of bits that are 1 in these shares, in bits. [B] -> [B]"""
    both = np.clip(np.stack((shares, 1 - shares)), np.finfo(float).tiny, 1)
    found: Floats = -(both * np.log2(both)).sum(0)
    return found

"""Clusters as numbers: words whose vectors are near share their first bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.arrays import as_array, as_count, as_floats, is_tensor
from trellex.codes.code import check_vocab_size
from trellex.codes.permuted import PermutedCode

POWER_ROUNDS = 6  # towards the direction in which the words of a node differ most
MEANS_ROUNDS = 8  # of 2-means with halves of equal size, from there on
BATCH_NUMBERS = 1 << 24  # of vectors that are looked at together: 64 MiB

Floats = NDArray[np.float32]
Ids = NDArray[np.int64]


def cluster_code(vectors: Any, bits: int | None = None) -> PermutedCode:
    """A code by halving: the first bit parts all words, the next bit either half, so that a part holds near words.

    Parts differ by one word at most, and the numbers are 0 … V−1. The half with the most frequent word, which has the
    lowest id, has the bit 0. The same vectors give the same code.

    Args:
        vectors: of words, near each other where words are alike; an array or a tensor  [V, D]
        bits: how many of the first bits part words so; the rest number the words of a part by their ids, so that
            frequent ones have high bits 0. All of them unless given
    """
    points = _as_points(vectors)
    most = (len(points) - 1).bit_length()
    depth = most if bits is None else min(as_count(bits, "bits"), most)
    words = np.arange(len(points))  # part by part; within a part in rising order
    for bit in range(depth):
        words = _halve(points, words, 1 << bit)
    numbers = np.empty_like(words)
    numbers[words] = np.argsort(np.arange(len(words)) % (1 << depth), kind="stable")
    return PermutedCode(numbers)


def _as_points(vectors: Any) -> Floats:
    """Vectors in single precision, scaled so that no square overflows. [V, D]"""
    vectors = as_array(vectors)
    vectors = as_floats(vectors.detach() if is_tensor(vectors) else vectors, "vectors")
    if is_tensor(vectors) and vectors.is_meta:
        raise ValueError("vectors: tensors on the meta device hold no numbers; pass real ones")
    points: NDArray[Any] = vectors.cpu().numpy() if is_tensor(vectors) else vectors
    if points.ndim != 2 or not points.shape[1]:
        raise ValueError(f"vectors: expected a vector a word, [V, D], got shape {points.shape}")
    check_vocab_size(len(points), "vectors")
    if not np.isfinite(points).all():
        raise ValueError("vectors: expected finite numbers, found some that are not")
    largest = max(float(points.max()), -float(points.min()))
    return (points / (largest or 1)).astype(np.float32)


def _halve(points: Floats, words: Ids, parts: int) -> Ids:
    """Part every part in two. The numbers of part p end in p, so its halves are p and p + parts. [V] -> [V]"""
    size, larger = divmod(len(words), parts)
    split = larger * (size + 1)
    first, second = [], []
    for batch in (*_batches(words[:split], size + 1, points.shape[1]), *_batches(words[split:], size, points.shape[1])):
        ordered = np.take_along_axis(batch, _order_of_parts(points[batch]), 1)
        first.append(np.sort(ordered[:, : _middle(batch)]).ravel())
        second.append(np.sort(ordered[:, _middle(batch) :]).ravel())
    return np.concatenate(first + second)


def _batches(words: Ids, size: int, dimensions: int) -> Iterator[Ids]:
    """Parts of this size, so many at once that memory stays bounded. words [P·S] -> several [.., S]"""
    parts = words.reshape(-1, size)
    step = max(1, BATCH_NUMBERS // (size * dimensions))
    return (parts[start : start + step] for start in range(0, len(parts), step))


def _order_of_parts(points: Floats) -> Ids:
    """An order whose halves are tight. The first point, the most frequent word, is in the first. [P, S, D] -> [P, S]"""
    points -= points.mean(1, keepdims=True)
    farthest = np.square(points).sum(-1).argmax(-1)
    direction = _unit(points[np.arange(len(points)), farthest])
    for _ in range(POWER_ROUNDS):
        direction = _unit(_weighted_sum(points, _along(points, direction)))
    order = np.argsort(_along(points, direction), 1, kind="stable")
    for _ in range(MEANS_ROUNDS):
        sides = np.ones(order.shape, np.float32)
        np.put_along_axis(sides, order[:, : _middle(order)], -1, 1)
        order = np.argsort(_along(points, _unit(_weighted_sum(points, sides))), 1, kind="stable")
    has_it_last = (order[:, _middle(order) :] == 0).any(1, keepdims=True)
    return np.where(has_it_last, order[:, ::-1], order)


def _middle(parts: NDArray[Any]) -> int:
    """How many of a part are in its first half. [P, S] -> ⌈S / 2⌉"""
    return (parts.shape[1] + 1) // 2


def _along(points: Floats, direction: Floats) -> Floats:
    """[P, S, D], [P, D] -> [P, S]"""
    found: Floats = (points @ direction[:, :, None])[:, :, 0]
    return found


def _weighted_sum(points: Floats, weights: Floats) -> Floats:
    """[P, S, D], [P, S] -> [P, D]"""
    found: Floats = (weights[:, None, :] @ points)[:, 0]
    return found


def _unit(vectors: Floats) -> Floats:
    """The same with length 1, or 0 where there is none. [P, D] -> [P, D]"""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)

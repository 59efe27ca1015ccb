"""Batches: sentences of like length together, so that little is padded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


def batches(
    source_lengths: Any, target_lengths: Any, *, sentences: int | None, tokens: int | None, seed: int, epoch: int
) -> list[Indices]:
    """The batches of an epoch, in random order; every pair is in exactly one. Same seed and epoch, same batches.

    Args:
        source_lengths: tokens of every source sentence  [N]
        target_lengths: tokens of every target sentence  [N]
        sentences: pairs a batch; or
        tokens: the room of a batch on each side: rows × (longest + 1, for a marker) is at most this
        seed: of the shuffle
        epoch: counts from 0, each has another order

    Returns:
        the pairs of every batch, as places in the lengths  [rows] each
    """
    source, target = np.asarray(source_lengths, np.int64), np.asarray(target_lengths, np.int64)
    if source.ndim != 1 or source.shape != target.shape:
        raise ValueError(
            f"source_lengths, target_lengths: expected two lists of one length, got {source.shape}, {target.shape}"
        )
    if seed < 0 or epoch < 0:
        raise ValueError(f"seed, epoch: expected numbers of at least 0, got {seed}, {epoch}")

    random = np.random.default_rng((seed, epoch))
    order = np.lexsort((random.random(len(source)), source, target))  # by target, then source, then chance
    if sentences is not None and tokens is None:
        if sentences < 1:
            raise ValueError(f"sentences: expected at least 1, got {sentences}")
        cuts = list(range(0, len(order), sentences))
    elif tokens is not None and sentences is None:
        cuts = _cuts_by_tokens(np.maximum(source, target)[order] + 1, tokens)
    else:
        raise ValueError(f"sentences, tokens: give exactly one of them, got {sentences} and {tokens}")

    ends = [*cuts[1:], len(order)]
    return [order[cuts[place] : ends[place]] for place in random.permutation(len(cuts)).tolist()]


def _cuts_by_tokens(widths: Indices, tokens: int) -> list[int]:
    """Where batches start, so that rows × the widest of them is at most `tokens`. widths [N]"""
    if len(widths) and widths.max() > tokens:
        raise ValueError(
            f"tokens: a batch of {tokens} cannot hold the longest sentence, {widths.max()} with its marker; "
            "raise tokens, or drop long sentences with max_length"
        )
    cuts: list[int] = []
    start = widest = 0
    for place, width in enumerate(widths.tolist()):
        widest = max(widest, width)
        if place == 0 or (place + 1 - start) * widest > tokens:
            cuts.append(place)
            start, widest = place, width
    return cuts


def pad(sequences: Sequence[NDArray[Any]], value: int) -> Indices:
    """Sequences as rows, filled up at the end with `value`. [rows] of [length] -> [rows, longest]"""
    return as_rows(*flat(sequences), value)


def flat(sequences: Sequence[NDArray[Any]]) -> tuple[Indices, Indices]:
    """Sequences one after another, and the length of each. [rows] of [length] -> [tokens], [rows]"""
    lengths = np.array([len(sequence) for sequence in sequences], np.int64)
    return np.concatenate([np.zeros(0, np.int64), *sequences]), lengths


def as_rows(ids: NDArray[Any], lengths: Indices, value: int) -> Indices:
    """Sequences one after another, of these lengths, as rows that are filled up at the end with `value`.

    ids [tokens], lengths [rows] -> [rows, longest]
    """
    padded = np.full((len(lengths), lengths.max(initial=0)), value, np.int64)
    padded[np.arange(padded.shape[1]) < lengths[:, None]] = ids
    return padded

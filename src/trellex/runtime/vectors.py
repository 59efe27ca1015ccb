"""Word vectors on disk: only those of words that occur are ever read into memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.runtime.folder import load_array

Words = NDArray[np.int64]
Floats = NDArray[np.float32]


class Vectors:
    """A table of word vectors in single or half precision, mapped from a file.

    Args:
        table: [V, E]
    """

    def __init__(self, table: NDArray[Any]) -> None:
        self.table = table

    def __call__(self, words: Words) -> Floats:
        """words [..] -> vectors [.., E]"""
        return self.table[words].astype(np.float32, copy=False)

    @classmethod
    def load(cls, path: Path, vocab_size: int, width: int) -> Vectors:
        """The table that `save` wrote. Raises ValueError if it is not one of so many words and numbers."""
        return cls(_mapped(path, (vocab_size, width), np.float16, np.float32))

    @staticmethod
    def save(path: Path, table: Floats, is_half: bool) -> None:
        """Write a table [V, E]."""
        np.save(path, np.ascontiguousarray(table, np.float16 if is_half else np.float32))


class RoundedVectors:
    """A table of word vectors in 8 bits, mapped from a file; every part of a vector has a scale of its own.

    Args:
        table: [V, P, E / P]
        scales: [V, P, 1]
    """

    def __init__(self, table: NDArray[np.int8], scales: Floats) -> None:
        self.table, self.scales, self.width = table, scales, table.shape[1] * table.shape[2]

    def __call__(self, words: Words) -> Floats:
        """words [..] -> vectors [.., E]"""
        return (self.table[words] * self.scales[words]).reshape(*words.shape, self.width)

    @classmethod
    def load(cls, path: Path, vocab_size: int, width: int, parts: int) -> RoundedVectors:
        """The table that `save` wrote. Raises ValueError if it is not one of so many words and numbers."""
        table = _mapped(path, (vocab_size, parts, width // parts), np.int8)
        return cls(table, _mapped(_scales(path), (vocab_size, parts, 1), np.float32))

    @staticmethod
    def save(path: Path, table: Floats, parts: int) -> None:
        """Round and write a table [V, E], and its scales beside it."""
        divided = table.reshape(len(table), parts, -1)
        scales = np.maximum(np.abs(divided).max(-1, keepdims=True), np.finfo(np.float32).tiny) / 127
        np.save(path, np.rint(divided / scales).astype(np.int8))
        np.save(_scales(path), scales)


def _scales(path: Path) -> Path:
    return path.with_name(f"{path.stem}.scales.npy")


def _mapped(path: Path, shape: tuple[int, ...], *types: Any) -> NDArray[Any]:
    return load_array(path, shape, *types, mapped=True).view(np.ndarray)  # still mapped, but indexed faster

"""Word vectors on disk: only those of words that occur are ever read into memory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.npy import write_header
from trellex.runtime.folder import Export

GATES = 4  # of an LSTM: input, forget, output, cell

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
    def load(cls, export: Export, name: str, vocab_size: int, width: int) -> Vectors:
        """The table that `save` wrote. Raises ValueError if it is not one of so many words and numbers."""
        return cls(export.array(name, (vocab_size, width), np.float16, np.float32, mapped=True))

    @staticmethod
    def save(path: Path, table: Floats, is_half: bool) -> None:
        """Write a table [V, E]."""
        np.save(path, np.ascontiguousarray(table, np.float16 if is_half else np.float32))


class RoundedVectors:
    """A table of word vectors in 8 bits, mapped from a file; each of the G parts of a vector has a scale of its own.

    What words add to the four gates of an LSTM is such a table, too.

    Args:
        table: [V, G, E / G]
        scales: [V, G, 1]
    """

    def __init__(self, table: NDArray[np.int8], scales: Floats) -> None:
        self.table, self.scales, self.width = table, scales, table.shape[1] * table.shape[2]

    def __call__(self, words: Words) -> Floats:
        """words [..] -> vectors [.., E]"""
        return (self.table.take(words, 0) * self.scales.take(words, 0)).reshape(*words.shape, self.width)

    @classmethod
    def load(cls, export: Export, name: str, vocab_size: int, width: int, parts: int = 1) -> RoundedVectors:
        """The table that `save` wrote. Raises ValueError if it is not one of so many words and numbers."""
        table = export.array(name, (vocab_size, parts, width // parts), np.int8, mapped=True)
        return cls(table, export.array(f"{name}.scales", (vocab_size, parts, 1)))

    @staticmethod
    def save(path: Path, blocks: Iterable[Floats], vocab_size: int, width: int, parts: int = 1) -> None:
        """Round and write a table, given as the vectors [.., E] of some words after the other, and its scales."""
        # on a full disk, writing to a mapped file would be the end
        with path.open("wb") as table, path.with_name(f"{path.stem}.scales.npy").open("wb") as beside:
            write_header(table, np.int8, (vocab_size, parts, width // parts))
            write_header(beside, np.float32, (vocab_size, parts, 1))
            for block in blocks:
                vectors = block.reshape(len(block), parts, width // parts)
                scales = np.maximum(np.abs(vectors).max(-1, keepdims=True), np.finfo(np.float32).tiny) / np.float32(127)
                table.write(np.rint(vectors / scales).astype(np.int8).tobytes())
                beside.write(scales.astype(np.float32, copy=False).tobytes())

"""Vectors of source words, known or not, of an exported model whose word vectors are composed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from trellex.codes import Code
from trellex.runtime.composed import ComposedVectors, load_word_code
from trellex.runtime.folder import Export
from trellex.runtime.vectors import Vectors
from trellex.trellis.windows import Windows

WINDOWS = "source.windows"  # the name of their file

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


class OpenVectors:
    """Known words have the vectors of an export; V + n is a word of the number n: the sum of its windows.

    Args:
        known: the vectors of all V words
        code: of these
        memory: of the windows
        table: the vector of every window  [W, E]
    """

    def __init__(self, known: Callable[[Ints], Floats], code: Code, memory: int, table: Floats) -> None:
        self.known, self.code, self.windows, self.table = known, code, Windows(code.num_bits, memory), table

    def __call__(self, words: Ints) -> Floats:
        """words [..] -> vectors [.., E]"""
        is_unknown = words >= self.code.vocab_size
        vectors = self.known(np.where(is_unknown, 0, words))
        if is_unknown.any():
            windows = self.windows.of(words[is_unknown] - self.code.vocab_size)
            vectors[is_unknown] = self.table.take(windows, 0).sum(1)
        return vectors

    @classmethod
    def load(cls, export: Export, known: Callable[[Ints], Floats], vocab_size: int, width: int) -> OpenVectors:
        """Of a compact export, with what its vectors are composed from; of others, with what `save` wrote."""
        memory = export.manifest.model.embeddings.memory
        if isinstance(known, ComposedVectors):
            return cls(known, known.code, memory, known.table)
        code = load_word_code(export, "source", vocab_size)
        count = Windows(code.num_bits, memory).count
        table = export.array(WINDOWS, (count, width), np.float16, np.float32)
        return cls(known, code, memory, table.astype(np.float32))

    @staticmethod
    def save(folder: Path, table: Floats, is_half: bool) -> None:
        """Write the vectors of windows [W, E] beside a table of all words."""
        Vectors.save(folder / f"{WINDOWS}.npy", table, is_half)

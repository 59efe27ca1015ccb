"""Word vectors on disk: only those of words that occur are ever read into memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.runtime.folder import load_array


class Embedding:
    """A table of word vectors, mapped from a file, in single or half precision.

    Args:
        table: [V, E]
    """

    def __init__(self, table: NDArray[Any]) -> None:
        self.table = table

    def __call__(self, words: NDArray[np.int64]) -> NDArray[np.float32]:
        """words [..] -> vectors [.., E]"""
        return self.table[words].astype(np.float32, copy=False)

    @classmethod
    def load(cls, path: Path, vocab_size: int, width: int) -> Embedding:
        """The table that `save` wrote. Raises ValueError if it is not one of so many words and numbers."""
        table = load_array(path, (vocab_size, width), mapped=True)
        return cls(table.view(np.ndarray))  # still mapped, but indexed faster


def save(path: Path, table: NDArray[np.float32], is_half: bool) -> None:
    """Write a table [V, E]."""
    np.save(path, np.ascontiguousarray(table, np.float16 if is_half else np.float32))

"""Word vectors of compact exports that are composed from codes as they are read: few bytes on disk and in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trellex.codes import Code, load_code
from trellex.nmt.word_codes import check_words, code_file
from trellex.runtime.folder import REMEDY, Export
from trellex.runtime.vectors import RoundedVectors
from trellex.trellis.windows import Windows

BLOCK = 1024  # words whose windows are added up at a time

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]


class ComposedVectors:
    """E[w] = Σ_t table[window of w's code at t] + residual[w] · project, and own[w] of the F most frequent words.

    Args:
        code: of all V words
        memory: of the windows
        table: the vector of every window  [W, E]
        residuals: in 8 bits  [V, R]
        project: from a residual to a vector  [R, E]
        own: [F, E]
    """

    def __init__(
        self, code: Code, memory: int, table: Floats, residuals: NDArray[np.int8], project: Floats, own: Floats
    ) -> None:
        self.code, self.windows = code, Windows(code.num_bits, memory)
        self.numbers = code.numbers(np.arange(code.vocab_size))
        self.table, self.residuals, self.project, self.own = table, residuals, project, own

    def __call__(self, words: Ints) -> Floats:
        """words [..] -> vectors [.., E]"""
        flat = words.reshape(-1)
        vectors = self._residuals(flat) @ self.project
        for start in range(0, len(flat), BLOCK):
            windows = self.windows.of(self.numbers[flat[start : start + BLOCK]])
            vectors[start : start + BLOCK] += self.table.take(windows, 0).sum(1)
        is_frequent = flat < len(self.own)
        vectors[is_frequent] += self.own[flat[is_frequent]]
        return vectors.reshape(*words.shape, self.table.shape[1])

    def all_products(self, states: Floats) -> Floats:
        """Those of states with the vectors of all words. states [N, E] -> [N, V]"""
        sums = self.windows.sums(self.table @ states.T)
        everything: Floats = sums[self.numbers] + self._residuals(slice(None)) @ (self.project @ states.T)
        everything[: len(self.own)] += self.own @ states.T
        return np.ascontiguousarray(everything.T)

    def _residuals(self, words: Any) -> Floats:
        return self.residuals[words].astype(np.float32)

    @classmethod
    def load(cls, export: Export, side: str, vocab_size: int, width: int) -> ComposedVectors:
        """Those that `save` wrote. Raises ValueError if they are not of so many words and numbers."""
        settings = export.manifest.model.embeddings
        code = load_word_code(export, side, vocab_size)
        count = Windows(code.num_bits, settings.memory).count
        table = RoundedVectors.load(export, f"{side}.windows", count, width)(np.arange(count))
        residuals = export.array(f"{side}.residuals", (vocab_size, settings.residual), np.int8, mapped=True)
        project = export.array(f"{side}.project", (settings.residual, width))
        frequent = min(settings.frequent, vocab_size)
        own = np.empty((0, width), np.float32)
        if frequent:
            own = RoundedVectors.load(export, f"{side}.own", frequent, width)(np.arange(frequent))
        return cls(code, settings.memory, table, residuals, project, own)


def load_word_code(export: Export, side: str, vocab_size: int) -> Code:
    """The code of a side's words. Raises ValueError if it is not of so many."""
    path = export.file(code_file(side))
    try:
        return check_words(load_code(path), vocab_size)
    except ValueError as error:
        raise ValueError(f"{path}: not the code of its words ({error}); {REMEDY}") from error


class Parts(NamedTuple):
    """What composed vectors are made of, before it is rounded."""

    table: Floats  # [W, E]
    residuals: Floats  # [V, R]
    project: Floats  # [E, R]
    own: Floats  # [F, E]

    @classmethod
    def of(cls, weights: Any, name: str) -> Parts:
        """Those of an embedding among the weights of the whole model."""
        return cls(*(weights[f"{name}.{part}"] for part in ("table", "residual", "project", "own")))

    def scaled(self, factor: Any) -> Parts:
        """Those of the vectors times a factor, which may be one for each place. [E], or a number"""
        return Parts(self.table * factor, self.residuals, (self.project.T * factor).T, self.own * factor)

    def save(self, folder: Path, side: str) -> None:
        """Write what `ComposedVectors.load` reads, but for the code. A residual's places have a scale each."""
        for name, vectors in (("windows", self.table), ("own", self.own)):
            if len(vectors):
                RoundedVectors.save(folder / f"{side}.{name}.npy", [vectors], *vectors.shape)
        scales = np.maximum(np.abs(self.residuals).max(0), np.finfo(np.float32).tiny) / np.float32(127)
        np.save(folder / f"{side}.residuals.npy", np.rint(self.residuals / scales).astype(np.int8))
        np.save(folder / f"{side}.project.npy", np.ascontiguousarray(self.project.T * scales[:, None], np.float32))

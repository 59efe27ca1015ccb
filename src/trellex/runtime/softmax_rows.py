"""A softmax whose weights are read row by row, for shortlists: only those of words that are listed are ever read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trellex.heads.distribution import SoftmaxDistribution
from trellex.heads.selection import Selection
from trellex.runtime.folder import Export, RuntimeManifest
from trellex.runtime.rows import Rows

NAME = "softmax"

Ints = NDArray[np.int64]
Floats = NDArray[Any]


class SoftmaxRows(SoftmaxDistribution):
    """The layer of all words, mapped from a file.

    Args:
        rows: [V, H]
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.vocab_size, self.hidden_size = rows.weight.shape

    @classmethod
    def load(cls, export: Export, threads: int) -> Self:
        manifest = export.manifest
        if f"{NAME}.weight.npy" not in manifest.files:
            raise ValueError(
                f"{export.path}: has no weights for shortlists, as compact exports and those of older versions; "
                "export the model again with --precision int8 or fp32"
            )
        size = manifest.model.hidden_size
        return cls(Rows.load(export, NAME, (manifest.vocab_size,), size, mapped=True))

    @staticmethod
    def save(folder: Path, manifest: RuntimeManifest, weight: Floats, bias: Floats) -> None:
        """Write what `load` reads. weight [V, H], bias [V]"""
        Rows.save(folder, NAME, [weight], weight.shape[1], bias, manifest.is_int8)

    def selection(self, lists: Sequence[Ints]) -> Selection:
        """The same over a list of words a sentence. lists: ids, rising  [S] of [words]"""
        return SelectedRows(self.rows, lists)

    def _logits(self, h: Floats) -> Floats:
        return self.rows.multiply(h)


class SelectedRows(Selection):
    """Rows of listed words, gathered once for every sentence, one sentence after another; multiplied by compiled code.

    Each hidden state is rounded by itself, so that the output layer does not depend on the batch.
    """

    def __init__(self, rows: Rows, lists: Sequence[Ints]) -> None:
        from trellex.runtime import row_products  # loads numba

        vocab_size, hidden_size = rows.weight.shape
        super().__init__(lists, hidden_size, vocab_size)
        self._ids = np.concatenate(lists)
        self._begins = np.append(0, np.cumsum([len(words) for words in lists]))
        self._gathered = rows.take(self._ids)
        self._products: Any = row_products

    def _logits(self, h: Floats) -> Floats:
        logits = np.full((len(h), self.words.shape[1]), -np.inf, np.float32)
        self._products.score_lists(h, self.sentence, self._begins, *self._gathered, logits)
        return logits

    def _best(self, h: Floats) -> Ints:
        places = np.empty(len(h), np.int64)
        self._products.best_listed(h, self.sentence, self._begins, *self._gathered, places)
        return np.where(places < 0, -1, self._ids[places])

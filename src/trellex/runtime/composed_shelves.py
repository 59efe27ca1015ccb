"""Shelves of words whose vectors are composed: the scores of words from those of windows and residuals."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trellex.codes import Code
from trellex.heads.spec import ShelvesSpec
from trellex.runtime.composed import ComposedVectors
from trellex.runtime.folder import Export, RuntimeManifest
from trellex.runtime.rows import Rows
from trellex.runtime.shelves import FoundShelves
from trellex.runtime.tied import load_tied, save_tied

Ints = NDArray[np.int64]
Floats = NDArray[Any]


class ComposedShelves(FoundShelves):
    """No word has a row of its own here, so that the export is small; only its residual, its bias and its code.

    Args:
        spec, code: see `ShelfDistribution`
        trellis: to its logits  [L, H]
        project: u  [E, H]
        vectors: E, as the decoder reads them
        bias: of all words  [V]
    """

    def __init__(
        self, spec: ShelvesSpec, code: Code, trellis: Rows, project: Rows, vectors: ComposedVectors, bias: Floats
    ) -> None:
        super().__init__(spec, code, trellis)
        self.project, self.vectors, self.bias = project, vectors, bias

    @classmethod
    def load(cls, export: Export, threads: int) -> Self:
        found = cls.load_trellis(export)
        project, bias = load_tied(export)
        width, words = export.manifest.model.embedding_size, export.manifest.vocab_size
        return cls(*found, project, ComposedVectors.load(export, "target", words, width), bias)

    @staticmethod
    def save(folder: Path, manifest: RuntimeManifest, weights: Any) -> None:
        FoundShelves.save_trellis(folder, manifest, weights)
        save_tied(folder, manifest, weights, "head.words")

    def word_scores(self, h: Floats, shelves: Ints) -> Floats:
        on_shelves = self.words_on(shelves).reshape(len(h), -1)
        words = np.maximum(on_shelves, 0)
        products = self.vectors.products(self.project.multiply(h), words) + self.bias[words]
        scores: Floats = np.where(on_shelves < 0, np.float32(-np.inf), products)
        return scores.reshape(*shelves.shape, self.width)

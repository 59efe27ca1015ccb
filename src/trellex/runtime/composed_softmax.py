"""A softmax tied to composed word vectors: the scores of all words from those of windows and residuals."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trellex.heads.distribution import SoftmaxDistribution
from trellex.runtime.composed import ComposedVectors
from trellex.runtime.folder import Export, RuntimeManifest
from trellex.runtime.rows import Rows
from trellex.runtime.tied import load_tied, save_tied

Floats = NDArray[np.float32]


class ComposedSoftmax(SoftmaxDistribution):
    """u(h) · E[w] + b_w of all words, in W · E + V · R multiplications instead of V · E.

    Args:
        project: u  [E, H]
        vectors: E, as the decoder reads them
        bias: b  [V]
    """

    def __init__(self, project: Rows, vectors: ComposedVectors, bias: Floats) -> None:
        self.project, self.vectors, self.bias = project, vectors, bias
        self.vocab_size, self.hidden_size = len(bias), project.weight.shape[1]

    @classmethod
    def load(cls, export: Export, threads: int) -> Self:
        project, bias = load_tied(export)
        width, words = export.manifest.model.embedding_size, export.manifest.vocab_size
        return cls(project, ComposedVectors.load(export, "target", words, width), bias)

    @staticmethod
    def save(folder: Path, manifest: RuntimeManifest, weights: Any) -> None:
        save_tied(folder, manifest, weights, "head.linear")

    def _logits(self, h: Floats) -> Floats:
        return self.vectors.all_products(self.project.multiply(h)) + self.bias

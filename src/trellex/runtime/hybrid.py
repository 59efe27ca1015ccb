"""Frequent words by softmax, the others by their code; bits are read only where they can matter."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np

from trellex.heads.hybrid_distribution import HybridDistribution
from trellex.runtime.code import CodeLayer
from trellex.runtime.folder import Export, RuntimeManifest
from trellex.runtime.rows import SMALL
from trellex.runtime.session import Session

FEW = 2  # hidden states up to which one compiled search for the best word is faster than ONNX Runtime


class HybridLayer(HybridDistribution):
    """The layer of frequent words and OTHER, in ONNX Runtime and for few hidden states in numpy, and that of the bits.

    Args:
        session: of the graph
        bits: the layer of the rare words
        exact: weight [N, H] and bias [N] of the graph in single precision; a compact export has none
    """

    def __init__(self, session: Session, bits: CodeLayer, exact: tuple[Any, Any] | None = None) -> None:
        from trellex.runtime.pruned_argmax import PrunedArgmax, is_supported  # loads numba

        self.hidden_size, self.vocab_size, self.bits = bits.hidden_size, bits.vocab_size, bits
        self.session = session.check(output=self.hidden_size, logits=self.first_rare + 1)
        self._exact = exact
        self._argmax = PrunedArgmax(*exact) if exact is not None and is_supported() else None
        self._few = 0 if self._argmax is None else FEW

    @classmethod
    def load(cls, export: Export, threads: int) -> Self:
        bits, exact = CodeLayer.load(export, threads), None
        if not export.manifest.is_compact:
            size = bits.first_rare + 1
            weight = export.array("softmax.weight", (size, bits.hidden_size))
            exact = weight, export.array("softmax.bias", (size,))
        return cls(Session(export, "softmax", threads), bits, exact)

    @staticmethod
    def save(folder: Path, manifest: RuntimeManifest, weights: Any) -> None:
        from trellex.runtime.onnx_graph import write_softmax

        write_softmax(folder / "softmax", manifest, weights, "head.softmax", SMALL)
        if not manifest.is_compact:
            for name in ("weight", "bias"):
                np.save(folder / f"softmax.{name}.npy", weights[f"head.softmax.{name}"])
        CodeLayer.save(folder, manifest, weights)

    def _logits(self, h: Any) -> Any:
        if self._exact is not None and len(h) <= self._few:
            weight, bias = self._exact
            return h @ weight.T + bias
        return self.session.run(["logits"], {"output": h})[0]

    def _best_frequent(self, h: Any) -> tuple[Any, Any]:
        if self._argmax is not None and len(h) <= self._few:
            return self._argmax(h)
        return super()._best_frequent(h)

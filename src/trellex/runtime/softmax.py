"""A softmax over all words in ONNX Runtime, which finds the best of them itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np

from trellex.arrays import best_of
from trellex.heads.distribution import SoftmaxDistribution
from trellex.runtime.folder import Export, RuntimeManifest
from trellex.runtime.session import Session
from trellex.runtime.softmax_rows import SoftmaxRows
from trellex.runtime.tied import tied_words


class SoftmaxLayer(SoftmaxDistribution):
    """The layer as a graph that finds the best words, too.

    Args:
        session: of the graph
        hidden_size, vocab_size: H, V
    """

    def __init__(self, session: Session, hidden_size: int, vocab_size: int) -> None:
        self.session = session.check(k=None, words=None, log_probs=None, logits=vocab_size)
        self.hidden_size, self.vocab_size = hidden_size, vocab_size

    @classmethod
    def load(cls, export: Export, threads: int) -> Self:
        manifest = export.manifest
        return cls(Session(export, "softmax", threads), manifest.model.hidden_size, manifest.vocab_size)

    @staticmethod
    def save(folder: Path, manifest: RuntimeManifest, weights: Any) -> None:
        from trellex.runtime.onnx_graph import write_softmax

        if manifest.head.uses_embedding:
            vectors, project, bias = tied_words(weights, "head.linear")
            weights = {"head.linear.weight": vectors @ project, "head.linear.bias": bias}
        write_softmax(folder / "softmax", manifest, weights, "head.linear", finds_best=True)
        if not manifest.is_compact:
            SoftmaxRows.save(folder, manifest, weights["head.linear.weight"], weights["head.linear.bias"])

    def _logits(self, h: Any) -> Any:
        return self._run(h, 1, "logits")[0]

    def _topk(self, h: Any, k: int) -> tuple[Any, Any]:
        words, log_probs = self._run(h, min(k, self.vocab_size), "words", "log_probs")
        return best_of(log_probs, k, words)

    def _best(self, h: Any) -> Any:
        return self._run(h, 1, "words")[0][:, 0]

    def _run(self, h: Any, k: int, *names: str) -> list[Any]:
        """These outputs of the graph."""
        return self.session.run(names, {"output": h, "k": np.array([k])})

"""The nodes of a tree of words, of which few are read, mapped from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trellex.codes import Code, load_code
from trellex.heads.rival_spec import HierarchicalSpec
from trellex.heads.tree_distribution import TreeDistribution
from trellex.runtime.folder import REMEDY, Export, RuntimeManifest
from trellex.runtime.rows import Rows

FEW = 64  # words up to which to keep them sorted, one by one, takes little time

Ints = NDArray[np.int64]
Floats = NDArray[Any]


class HierarchicalLayer(TreeDistribution):
    """The weights of all nodes.

    Args:
        code: see `TreeDistribution`
        nodes: [V − 1, H]
    """

    def __init__(self, code: Code, nodes: Rows) -> None:
        super().__init__(code)
        from trellex.runtime import row_products  # loads numba

        self.hidden_size, self._nodes, self._products = nodes.weight.shape[1], nodes, row_products
        self._children = self.tree.children(np.arange(self.tree.num_nodes))

    @classmethod
    def load(cls, export: Export, threads: int) -> Self:
        manifest = export.manifest
        spec, size = manifest.head, manifest.model.hidden_size
        assert isinstance(spec, HierarchicalSpec)
        try:
            code = spec.check_code(load_code(export.file("code.json")), manifest.vocab_size)
            return cls(code, Rows.load(export, "nodes", (code.vocab_size - 1,), size, mapped=True))
        except ValueError as error:
            problem = str(error).removesuffix(f"; {REMEDY}")
            raise ValueError(f"{export.path}: the tree does not fit ({problem}); {REMEDY}") from error

    @staticmethod
    def save(folder: Path, manifest: RuntimeManifest, weights: Any) -> None:
        rows, bias = weights["head.nodes.weight"], weights["head.nodes.bias"]
        Rows.save(folder, "nodes", [rows], manifest.model.hidden_size, bias, manifest.is_int8)

    def node_logits(self, h: Floats, nodes: Ints) -> Floats:
        logits = np.empty((*nodes.shape, 1), np.float32)
        self._products.score_words(h, nodes, logits, *self._nodes)  # each node as a shelf of one
        return logits[..., 0]

    def _topk(self, h: Floats, k: int) -> tuple[Ints, Floats]:
        """The same search, compiled: row by row, one prefix after the other."""
        if k > FEW:
            return super()._topk(h, k)
        words, log_probs = np.empty((len(h), k), np.int64), np.empty((len(h), k))
        self._products.best_leaves(*self._nodes, self._children, h, words, log_probs)
        return words, log_probs

    def all_logits(self, h: Floats) -> Floats:
        return self._nodes.multiply(h)

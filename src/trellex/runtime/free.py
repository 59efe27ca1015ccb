"""Words by codes that were learned: a bit for every sign, read by look-ups."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trellex.heads.distribution import SoftmaxDistribution
from trellex.heads.free_spec import FreeSpec
from trellex.runtime.folder import REMEDY, Export, RuntimeManifest
from trellex.runtime.rows import SMALL
from trellex.runtime.session import Session

Ints = NDArray[np.int64]
Floats = NDArray[Any]


class FreeLayer(SoftmaxDistribution):
    """The layer z in ONNX Runtime, and a scan of the codes of all words.

    Args:
        session: of the graph from H to B numbers
        codes: a bit a sign, 1 where it is positive, of each byte the lowest first  [V, B / 8]
        bias: of words  [V]
        hidden_size: H
    """

    def __init__(self, session: Session, codes: NDArray[np.uint8], bias: Floats, hidden_size: int) -> None:
        from trellex.runtime import code_scan  # loads numba

        self.session = session.check(output=hidden_size, logits=8 * codes.shape[1])
        self.hidden_size, self.vocab_size = hidden_size, len(codes)
        self._tables, self._scan = (codes, bias), code_scan

    @classmethod
    def load(cls, export: Export, threads: int) -> Self:
        manifest = export.manifest
        spec, size = manifest.head, manifest.vocab_size
        assert isinstance(spec, FreeSpec)
        try:
            codes = export.array("codes", (size, spec.bits // 8), np.uint8)
            bias = export.array("codes.bias", (size,))
            return cls(Session(export, "codes", threads), codes, bias, manifest.model.hidden_size)
        except ValueError as error:
            problem = str(error).removesuffix(f"; {REMEDY}")
            raise ValueError(f"{export.path}: the codes do not fit ({problem}); {REMEDY}") from error

    @staticmethod
    def save(folder: Path, manifest: RuntimeManifest, weights: Any) -> None:
        from trellex.runtime.onnx_graph import GraphBuilder, write_scores

        latent, bias = weights["head.linear.latent"], weights["head.linear.bias"]
        num_bits = latent.shape[1]
        weight = weights["head.linear.project.weight"] * np.float32(num_bits**-0.5)
        np.save(folder / "codes.npy", np.packbits(~np.signbit(latent), axis=1, bitorder="little"))
        np.save(folder / "codes.bias.npy", bias)

        def numbers(builder: GraphBuilder, h: str) -> str:
            return builder.linear(h, weight, exact=weight.size <= SMALL)

        write_scores(folder / "codes", manifest, numbers, weight.shape[1], num_bits, finds_best=False)

    def _logits(self, h: Floats) -> Floats:
        scores = np.empty((len(h), self.vocab_size), np.float32)
        self._scan.score_codes(self._numbers(h), *self._tables, scores)
        return scores

    def _best(self, h: Floats) -> Ints:
        words = np.empty(len(h), np.int64)
        self._scan.best_codes(self._numbers(h), *self._tables, words)
        return words

    def _numbers(self, h: Floats) -> Floats:
        """z / √B. h [N, H] -> [N, B]"""
        return self.session.run(["logits"], {"output": h})[0]

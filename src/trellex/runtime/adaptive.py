"""Frequent words and tails, and the words of each tail in its own width, mapped from files."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trellex.heads.adaptive_distribution import AdaptiveDistribution
from trellex.heads.rival_spec import AdaptiveSpec
from trellex.runtime.folder import REMEDY, Export, RuntimeManifest
from trellex.runtime.rows import Rows

Floats = NDArray[Any]


class AdaptiveLayer(AdaptiveDistribution):
    """The layers of the first softmax and of tails.

    Args:
        cutoffs, vocab_size: see `AdaptiveDistribution`
        first: of frequent words and tails  [S + C, H]
        tails: of each, to its width [R, H], and from there to its words [W, R]
    """

    def __init__(self, cutoffs: Sequence[int], vocab_size: int, first: Rows, tails: list[tuple[Rows, Rows]]) -> None:
        super().__init__(cutoffs, vocab_size)
        self.hidden_size, self._first, self._tails = first.weight.shape[1], first, tails

    @classmethod
    def load(cls, export: Export, threads: int) -> Self:
        manifest = export.manifest
        spec, size = manifest.head, manifest.model.hidden_size
        assert isinstance(spec, AdaptiveSpec)
        try:
            cutoffs = spec.cutoffs_of(manifest.vocab_size, size)
            first = Rows.load(export, "first", (cutoffs[0] + len(cutoffs),), size)
            tails, widths = [], spec.widths(size, len(cutoffs))
            for tail, (begin, end) in enumerate(pairwise([*cutoffs, manifest.vocab_size])):
                narrow = Rows.load(export, f"tail{tail}.narrow", (widths[tail],), size)
                words = Rows.load(export, f"tail{tail}.words", (end - begin,), widths[tail], mapped=True)
                tails.append((narrow, words))
            return cls(cutoffs, manifest.vocab_size, first, tails)
        except ValueError as error:
            problem = str(error).removesuffix(f"; {REMEDY}")
            raise ValueError(f"{export.path}: the tails do not fit ({problem}); {REMEDY}") from error

    @staticmethod
    def save(folder: Path, manifest: RuntimeManifest, weights: Any) -> None:
        size, is_int8, tail = manifest.model.hidden_size, manifest.is_int8, 0
        Rows.save(folder, "first", [weights["head.layer.head.weight"]], size, weights["head.layer.head.bias"], is_int8)
        while f"head.layer.tail.{tail}.0.weight" in weights:
            narrow, words = (weights[f"head.layer.tail.{tail}.{part}.weight"] for part in (0, 1))
            Rows.save(folder, f"tail{tail}.narrow", [narrow], size, _no_bias(narrow), is_rounded=False)
            Rows.save(folder, f"tail{tail}.words", [words], words.shape[1], _no_bias(words), is_int8)
            tail += 1

    def _first_logits(self, h: Floats) -> Floats:
        return self._first.multiply(h)

    def _tail_logits(self, h: Floats, tail: int) -> Floats:
        narrow, words = self._tails[tail]
        return words.multiply(narrow.multiply(h))


def _no_bias(weight: Floats) -> NDArray[np.float32]:
    """weight [R, H] -> zeros [R]"""
    return np.zeros(len(weight), np.float32)

"""A hybrid's softmax layer, over the frequent words and OTHER, for a few hidden states at a time: one compiled call."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trellex.runtime import kernels
from trellex.runtime.folder import REMEDY, load_array
from trellex.runtime.screen import multiplies_quads, screen_of

MOST = 2047  # the largest weight that is a whole number

Floats = NDArray[Any]


class FrequentLayer:
    """Logits of words, the last of which is OTHER.

    Weights are in single precision, or whole numbers with scales; hidden states, within ±1, are then whole numbers of
    steps, too, so that sums have 32 bits.

    Args:
        weight: float32, or int16 within ±MOST  [W, H]
        scales: of the rows of `weight`  [W]
        bias: [W]
    """

    def __init__(self, weight: Floats, scales: Floats, bias: Floats) -> None:
        size, is_rounded = weight.shape[1], weight.dtype == np.int16
        steps = min(np.iinfo(np.int16).max, np.iinfo(np.int32).max // (MOST * size)) if is_rounded else 1
        self._weight = np.ascontiguousarray(np.pad(weight, ((0, 0), (0, -size % kernels.LANES))))
        self._tables = self._weight, (scales / steps).astype(np.float32), bias.astype(np.float32), np.float32(steps)
        self._screen = screen_of(weight * scales[:, None], bias) if multiplies_quads() else None
        self.few = 2 if is_rounded or self._screen else 1  # hidden states up to which it is faster than ONNX Runtime

    def logits(self, h: Floats) -> Floats:
        """h [N, H] -> [N, W]"""
        found = np.empty((len(h), len(self._weight)), np.float32)
        kernels.logits(h, *self._tables, found)
        return found

    def best(self, h: Floats) -> tuple[NDArray[np.int64], Floats, bool]:
        """The best words but OTHER; by how much the logit of OTHER exceeds theirs; whether it does anywhere.

        h [N, H] -> [N], [N]
        """
        words, leads = np.empty(len(h), np.int64), np.empty(len(h))
        if self._screen is None:
            return words, leads, kernels.best(h, *self._tables, words, leads)
        return words, leads, kernels.best_screened(h, *self._tables, *self._screen, words, leads)

    @classmethod
    def load(cls, folder: Path, size: int, hidden_size: int, is_rounded: bool) -> Self:
        """The layer that `save` wrote. Raises ValueError if it is not one of so many words and units."""
        bias = load_array(folder / "softmax.bias.npy", (size,), np.float32)
        if not is_rounded:
            weight = load_array(folder / "softmax.weight.npy", (size, hidden_size), np.float32)
            return cls(weight, np.ones(size, np.float32), bias)
        path = folder / "softmax.rounded.npy"
        weight = load_array(path, (size, hidden_size), np.int16)
        if weight.min(initial=0) < -MOST or weight.max(initial=0) > MOST:
            raise ValueError(f"{path}: has weights beyond ±{MOST:,}; {REMEDY}")
        return cls(weight, load_array(folder / "softmax.scales.npy", (size,), np.float32), bias)

    @staticmethod
    def save(folder: Path, weight: Floats, bias: Floats, is_rounded: bool) -> None:
        """Write weight [W, H] and bias [W]; if asked for, round the weights to 12 bits."""
        arrays = {"weight": weight, "bias": bias}
        if is_rounded:
            scales = np.maximum(np.abs(weight).max(1), np.finfo(np.float32).tiny) / MOST
            rounded = np.rint(weight / scales[:, None]).astype(np.int16)
            arrays = {"rounded": rounded, "scales": scales, "bias": bias}
        for name, values in arrays.items():
            np.save(folder / f"softmax.{name}.npy", values)

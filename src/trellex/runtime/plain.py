"""A softmax layer in single precision, for one hidden state at a time: one compiled call."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trellex.runtime.folder import load_array
from trellex.trellis.kernels import compiled_sums

Floats = NDArray[Any]


class PlainSoftmax:
    """Logits of words, the last of which is OTHER.

    Args:
        weight: [W, H]
        bias: [W]
    """

    few = 1  # hidden states up to which it is faster than ONNX Runtime

    def __init__(self, weight: Floats, bias: Floats) -> None:
        self._layer = weight, bias

    def logits(self, h: Floats) -> Floats:
        """h [N, H] -> [N, W]"""
        weight, bias = self._layer
        return h @ weight.T + bias

    def best(self, h: Floats) -> tuple[NDArray[np.int64], Floats, bool]:
        """The best words but OTHER; by how much the logit of OTHER exceeds theirs; whether it does anywhere.

        h [N, H] -> [N], [N]
        """
        words, leads = np.empty(len(h), np.int64), np.empty(len(h))
        return words, leads, _best(h, *self._layer, words, leads)

    @classmethod
    def load(cls, folder: Path, size: int, hidden_size: int) -> Self:
        """The layer that `save` wrote. Raises ValueError if it is not one of so many words and units."""
        weight = load_array(folder / "softmax.weight.npy", (size, hidden_size), np.float32)
        return cls(weight, load_array(folder / "softmax.bias.npy", (size,), np.float32))

    @staticmethod
    def save(folder: Path, weight: Floats, bias: Floats) -> None:
        """Write weight [W, H] and bias [W]."""
        for name, values in (("weight", weight), ("bias", bias)):
            np.save(folder / f"softmax.{name}.npy", values)


@compiled_sums
def _best(h, weight, bias, words, leads):
    """h [N, H], weight [W, H], bias [W] -> words [N], leads [N]; whether a lead is above 0"""
    other = weight.shape[0] - 1
    some_lead = False
    for row in range(h.shape[0]):
        best, highest = 0, np.float32(-np.inf)
        for word in range(weight.shape[0]):
            logit = bias[word]
            for unit in range(weight.shape[1]):
                logit += h[row, unit] * weight[word, unit]
            if word == other:
                leads[row] = np.float64(logit) - highest
            elif logit > highest:
                best, highest = word, logit
        words[row] = best
        some_lead = some_lead or leads[row] > 0
    return some_lead

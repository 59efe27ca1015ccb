"""From hidden states to words in one compiled call: the layer of the bits and the search of the trellis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.codes import FrequencyCode
from trellex.spelling import Spelling
from trellex.trellis.host import topk
from trellex.trellis.kernels import butterfly, compiled, compiled_sums
from trellex.trellis.lattice import lattice_of

FEW = 2  # hidden states up to which multiplying them in the kernel is faster than by BLAS


def best_reader(
    spelling: Spelling, weight: NDArray[Any], bias: NDArray[Any]
) -> Callable[[NDArray[Any]], NDArray[np.int64]]:
    """A function from hidden states [N, H] to the most probable words [N], whose logits are weight · h + bias.

    weight [L, H], bias [L]
    """
    lattice = lattice_of(spelling.ecc.generators, spelling.code.num_bits, spelling.restriction)
    tables, few = lattice.butterfly, 0 if lattice.butterfly is None else FEW
    numbers_are_words = isinstance(spelling.code, FrequencyCode)

    def best(h: NDArray[Any]) -> NDArray[np.int64]:
        numbers = np.empty((len(h), 1), np.int64)
        if len(h) > few or _best(h, weight, bias, tables, numbers) >= 0:
            numbers, _ = topk((h @ weight.T + bias).astype(np.float64), 1, lattice)
        return numbers[:, 0] if numbers_are_words else spelling.code.words(numbers[:, 0])

    return best


@compiled
def _best(h, weight, bias, tables, numbers):
    """The best word of every row, as `butterfly` finds it. h [N, H] -> numbers [N, 1]"""
    logits, scores = np.empty((h.shape[0], weight.shape[0])), np.empty((h.shape[0], 1))
    _multiply(h, weight, bias, logits)
    return butterfly(logits, tables, False, numbers, scores)


@compiled_sums
def _multiply(h, weight, bias, logits):
    """h [N, H] times weight [L, H] plus bias [L] -> logits [N, L]"""
    for row in range(h.shape[0]):
        for bit in range(weight.shape[0]):
            total = bias[bit]
            for unit in range(weight.shape[1]):
                total += h[row, unit] * weight[bit, unit]
            logits[row, bit] = total

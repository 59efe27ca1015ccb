"""From hidden states to words in one compiled call: the layer of the bits and the search of the trellis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.codes import FrequencyCode
from trellex.spelling import Spelling
from trellex.trellis.host import check
from trellex.trellis.kernels import compiled, topk
from trellex.trellis.lattice import lattice_of

FEW = 8  # hidden states up to which multiplying them in the kernel is faster than by BLAS


def best_reader(
    spelling: Spelling, weight: NDArray[Any], bias: NDArray[Any]
) -> Callable[[NDArray[Any]], NDArray[np.int64]]:
    """A function from hidden states [N, H] to the most probable words [N], whose logits are h · weight + bias.

    weight [H, L], bias [L]
    """
    lattice = lattice_of(spelling.ecc.generators, spelling.code.num_bits, spelling.restriction)
    tables = lattice.levels, lattice.incoming, lattice.edges, lattice.patterns
    numbers_are_words = isinstance(spelling.code, FrequencyCode)

    def best(h: NDArray[Any]) -> NDArray[np.int64]:
        numbers, scores = np.empty((len(h), 1), np.int64), np.empty((len(h), 1))
        if len(h) <= FEW:
            check(_best(h, weight, bias, *tables, numbers, scores))
        else:
            check(topk((h @ weight + bias).astype(np.float64), *tables, numbers, scores))
        return numbers[:, 0] if numbers_are_words else spelling.code.words(numbers[:, 0])

    return best


@compiled
def _best(h, weight, bias, levels, incoming, edges, patterns, numbers, scores):
    """The best word of every row, as `topk` finds it; returns the first row with a NaN, or −1."""
    logits = np.empty((h.shape[0], bias.shape[0]))
    sums = np.empty_like(bias)
    for row in range(h.shape[0]):
        sums[:] = bias
        for unit in range(h.shape[1]):
            value = h[row, unit]
            for bit in range(sums.shape[0]):
                sums[bit] += value * weight[unit, bit]
        logits[row] = sums
    return topk(logits, levels, incoming, edges, patterns, numbers, scores)

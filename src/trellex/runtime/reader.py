"""From hidden states to words in one compiled call: the layer of the bits and the search of the trellis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.codes import FrequencyCode
from trellex.spelling import Spelling
from trellex.trellis.host import topk
from trellex.trellis.kernels import compiled_sums
from trellex.trellis.lattice import lattice_of

FEW = 2  # hidden states up to which multiplying them in the kernel is faster than by BLAS


def best_reader(
    spelling: Spelling, weight: NDArray[Any], bias: NDArray[Any]
) -> Callable[[NDArray[Any]], NDArray[np.int64]]:
    """A function from hidden states [N, H] to the most probable words [N], whose logits are weight · h + bias.

    weight [L, H], bias [L]
    """
    lattice = lattice_of(spelling.ecc.generators, spelling.code.num_bits, spelling.restriction)
    numbers_are_words = isinstance(spelling.code, FrequencyCode)

    def best(h: NDArray[Any]) -> NDArray[np.int64]:
        logits = np.empty((len(h), len(bias)))
        if len(h) <= FEW:
            _multiply(h, weight, bias, logits)
        else:
            logits[:] = h @ weight.T + bias
        numbers = topk(logits, 1, lattice)[0][:, 0]
        return numbers if numbers_are_words else spelling.code.words(numbers)

    return best


@compiled_sums
def _multiply(h, weight, bias, logits):
    """h [N, H] times weight [L, H] plus bias [L] -> logits [N, L]"""
    for row in range(h.shape[0]):
        for bit in range(weight.shape[0]):
            total = bias[bit]
            for unit in range(weight.shape[1]):
                total += h[row, unit] * weight[bit, unit]
            logits[row, bit] = total

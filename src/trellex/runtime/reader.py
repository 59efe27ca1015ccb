"""From hidden states to words in one compiled call: the layer of the bits and the search of the trellis."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.codes import FrequencyCode
from trellex.spelling import Spelling
from trellex.trellis.host import log_partition, topk
from trellex.trellis.kernels import read_best, read_best_with_log_prob
from trellex.trellis.lattice import lattice_of

NUMBER = np.dtype(np.int64)
FEW = 2  # hidden states up to which multiplying them in the kernel is faster than by BLAS

Ints = NDArray[np.int64]
Floats = NDArray[Any]


class Reader:
    """Finds the most probable words of hidden states, whose logits are weight · h + bias.

    Args:
        spelling: of one part
        weight: [L, H]
        bias: [L]
    """

    def __init__(self, spelling: Spelling, weight: Floats, bias: Floats) -> None:
        code = spelling.code
        self._code, self._layer = code, (weight, bias)
        lattice = lattice_of(spelling.ecc.generators, code.num_bits, code.vocab_size, spelling.automaton)
        self._lattice, self._few = lattice, -1 if lattice.butterfly is None else FEW
        tables: tuple[Any, ...] = (weight, bias, *(lattice.butterfly or ()))
        self._read_best: Callable[..., int] = partial(read_best, *tables)
        tables += lattice.levels, lattice.incoming, lattice.edges, lattice.patterns
        self._read_best_with_log_prob: Callable[..., int] = partial(read_best_with_log_prob, *tables)
        self._numbers_are_words = isinstance(code, FrequencyCode)

    def best(self, h: Floats) -> Ints:
        """h [N, H] -> words [N]"""
        numbers = np.empty(len(h), NUMBER)
        if len(h) > self._few or self._read_best(h, numbers) >= 0:
            numbers = topk(self._logits(h), 1, self._lattice)[0][:, 0]
        return numbers if self._numbers_are_words else self._code.words(numbers)

    def best_with_log_prob(self, h: Floats) -> tuple[Ints, Floats]:
        """h [N, H] -> words, log_probs [N]"""
        numbers, log_probs = np.empty(len(h), NUMBER), np.empty(len(h))
        if len(h) > self._few or self._read_best_with_log_prob(h, numbers, log_probs) >= 0:
            logits = self._logits(h)
            found, scores = topk(logits, 1, self._lattice)
            numbers, log_probs = found[:, 0], scores[:, 0] - log_partition(logits, self._lattice)[0]
        return numbers if self._numbers_are_words else self._code.words(numbers), log_probs

    def _logits(self, h: Floats) -> Floats:
        weight, bias = self._layer
        return (h @ weight.T + bias).astype(np.float64)

"""Words by their codes: the layer of the bits in numpy, and for few hidden states one compiled call to the word."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trellex.arrays import log_softmax
from trellex.codes import Code, FrequencyCode, load_code
from trellex.heads.code_distribution import CodeDistribution
from trellex.heads.code_spec import CodeSpec
from trellex.runtime.folder import REMEDY, Export, RuntimeManifest
from trellex.runtime.rows import SMALL, Rows
from trellex.trellis.lattice import lattice_of

NUMBER = np.dtype(np.int64)
ROUNDED = "bits.linear"  # the layer that may be in 8 bits
FEW = 2  # hidden states up to which multiplying them in the kernel is faster than by BLAS

Ints = NDArray[np.int64]
Floats = NDArray[Any]
Linear = tuple[Floats, Floats]  # weight [O, I] and bias [O]


class CodeLayer(CodeDistribution):
    """The layer of the bits.

    Args:
        spec, code, vocab_size: see `CodeDistribution`
        hidden_size: H
        linear: to the logits of all parts' redundant bits; rounded to 8 bits if they are many
        hidden: the layer before, with rectified linear units, if there is one
        weights: to the weights of the parts, if there are several
    """

    def __init__(
        self,
        spec: CodeSpec,
        code: Code,
        vocab_size: int,
        hidden_size: int,
        linear: Linear | Rows,
        hidden: Linear | None = None,
        weights: Linear | None = None,
    ) -> None:
        super().__init__(spec, code, vocab_size)
        from trellex.trellis import host, kernels  # they load numba, which a softmax does not need

        self.hidden_size, self._linear, self._hidden, self._weights = hidden_size, linear, hidden, weights
        self.mixtures, self._numbers_are_words = len(linear[1]) // self.length, isinstance(self.code, FrequencyCode)
        lattice = lattice_of(self.ecc.register, self.code.num_bits, self.code.vocab_size, self.automaton)
        self._is_paper = self.decoding == "paper"  # the best of all bit arrays, be they words or not
        best = lattice_of(self.ecc.register, self.code.num_bits, None) if self._is_paper else lattice
        self._few = -1 if lattice.butterfly is None or isinstance(linear, Rows) else FEW
        self._host, self._lattice, self._lattice_of_best = host, lattice, best
        self._read_best: Callable[..., int] = partial(kernels.read_best, *linear, *(best.butterfly or ()))
        tables: tuple[Any, ...] = (*linear, *(lattice.butterfly or ()))
        tables += lattice.levels, lattice.incoming, lattice.edges, lattice.patterns
        self._read_best_with_log_prob: Callable[..., int] = partial(kernels.read_best_with_log_prob, *tables)

    @classmethod
    def load(cls, export: Export, threads: int) -> Self:
        manifest = export.manifest
        spec, hidden_size = manifest.head, manifest.model.hidden_size
        assert isinstance(spec, CodeSpec)

        def linear(name: str, inputs: int, outputs: int) -> Linear:
            weight = export.array(f"bits.{name}.weight", (outputs, inputs))
            return np.ascontiguousarray(weight), export.array(f"bits.{name}.bias", (outputs,))

        inputs = spec.hidden_layer or hidden_size
        try:
            code = spec.check_code(load_code(export.file("code.json")), manifest.vocab_size)
            length = spec.mixtures * spec.error_correction().length(code.num_bits)
            is_rounded = f"{ROUNDED}.scales.npy" in manifest.files
            return cls(
                spec,
                code,
                manifest.vocab_size,
                hidden_size,
                Rows.load(export, ROUNDED, (length,), inputs) if is_rounded else linear("linear", inputs, length),
                linear("hidden", hidden_size, inputs) if spec.hidden_layer else None,
                linear("weights", inputs, spec.mixtures) if spec.mixtures > 1 else None,
            )
        except ValueError as error:
            problem = str(error).removesuffix(f"; {REMEDY}")
            raise ValueError(f"{export.path}: the layer of the bits does not fit ({problem}); {REMEDY}") from error

    @staticmethod
    def save(folder: Path, manifest: RuntimeManifest, weights: Any) -> None:
        assert isinstance(manifest.head, CodeSpec)
        bits = {name.removeprefix("head."): value for name, value in weights.items() if name.startswith("head.bits.")}
        if manifest.is_int8 and manifest.head.is_complete and bits[f"{ROUNDED}.weight"].size > SMALL:
            weight, bias = bits.pop(f"{ROUNDED}.weight"), bits.pop(f"{ROUNDED}.bias")
            Rows.save(folder, ROUNDED, [weight], weight.shape[1], bias, is_rounded=True)
        for name, value in bits.items():
            np.save(folder / f"{name}.npy", value)

    def outputs(self, h: Floats) -> tuple[Floats, Floats]:
        inputs = self._inputs(h)
        logits = _apply(self._linear, inputs).reshape(len(h), self.mixtures, self.length)
        if self._weights is None:
            return logits, np.zeros((len(h), 1))
        return logits, log_softmax(_apply(self._weights, inputs))

    def _inputs(self, h: Floats) -> Floats:
        """What the last layers see. -> [N, I]"""
        return h if self._hidden is None else np.maximum(h @ self._hidden[0].T + self._hidden[1], 0)

    def _best(self, h: Floats) -> Ints:
        if self.mixtures > 1:
            return super()._best(h)
        numbers, inputs = np.empty(len(h), NUMBER), self._inputs(h)
        if len(h) > self._few or self._read_best(inputs, numbers) >= 0:
            numbers = self._host.topk(_apply(self._linear, inputs), 1, self._lattice_of_best)[0][:, 0]
        return self.words_or_unknown(numbers) if self._is_paper else self._words_of(numbers)

    def best_with_log_prob(self, h: Floats) -> tuple[Ints, Floats]:
        if self.mixtures > 1:
            return super().best_with_log_prob(h)
        numbers, log_probs, inputs = np.empty(len(h), NUMBER), np.empty(len(h)), self._inputs(h)
        if len(h) > self._few or self._read_best_with_log_prob(inputs, numbers, log_probs) >= 0:
            logits = _apply(self._linear, inputs)
            found, scores = self._host.topk(logits, 1, self._lattice)
            numbers, log_probs = found[:, 0], scores[:, 0] - self._host.log_partition(logits, self._lattice)[0]
        return self._words_of(numbers), log_probs

    def _words_of(self, numbers: Ints) -> Ints:
        if not self._numbers_are_words or numbers.ndim > 1:
            return super()._words_of(numbers)
        return numbers + self.offset if self.offset else numbers


def _apply(layer: Linear | Rows, inputs: Floats) -> Floats:
    """[N, I] -> [N, O], in double precision from then on"""
    if isinstance(layer, Rows):
        return layer.multiply(inputs).astype(np.float64)
    return (inputs @ layer[0].T + layer[1]).astype(np.float64)

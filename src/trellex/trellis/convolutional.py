"""Convolutional codes: encode words' bits with redundancy, and answer every question on the trellis they span."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache, partial
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.arrays import (
    FEW_ROWS,
    Array,
    as_array,
    as_bits,
    as_count,
    as_floats,
    doubled,
    has_kernels,
    is_inspectable,
    is_tensor,
    namespace,
    number_to_bits,
)
from trellex.trellis.lattice import MAX_BITS, Lattice, Register, lattice_of

PAPER_GENERATORS = ("1001111", "1101101")
FUSED_WORDS = 32  # the most of a row that a fused kernel finds

_FLOAT64 = np.dtype(np.float64)


class ConvolutionalCode:
    """A convolutional code and its soft decoders (Oda et al. 2017, Algorithms 2 and 3, and beyond).

    Every step takes in a bit of the word and puts out one bit for each of n generators: the parity of the newest
    m + 1 bits under the generator's mask. After the B bits of the word come m zeros, so L = n(B + m) bits go out.

    The score of a word is Σ b'_i z_i over its redundant bits b' and their logits z: up to a constant, the log of
    its probability when bits are independent. `topk`, `log_partition` and `sample` answer exactly for all words at
    once in O(log V). Words are the bit arrays of the numbers below `size`, lowest bit first, or all 2^B arrays if it is
    None; or, instead of a size, those that `automaton` [B, S, 2] accepts. An automaton, where there is one, decides
    alone and `size` is not looked at, so `size=code.vocab_size, automaton=code.automaton` is right for every code.

    Numpy arrays in give numpy arrays out, torch tensors in give torch tensors on the same device, float32 and
    float64, over any leading dimensions. NaN is refused, except on accelerators, where looking for it may wait
    for the device. An infinite logit or a probability of 0 or 1 makes a bit certain: it counts ten thousand nats.
    Finite ones count 2^83 at most in float32 and in sums on a GPU, 2^990 in float64, so that sums are finite.

    Args:
        generators: two or more masks of one length 3 … 9, written with 0 and 1, oldest bit first

    Shape:
        bits [.., B], redundant bits, probabilities and logits [.., L], numbers whose bits are words [..]
    """

    def __init__(self, generators: Sequence[str] = PAPER_GENERATORS) -> None:
        if not isinstance(generators, (list, tuple)) or len(generators) < 2:
            raise ValueError(f"generators: expected two or more, e.g. {PAPER_GENERATORS}, got {generators!r}")
        for generator in generators:
            if not isinstance(generator, str) or not re.fullmatch("[01]{3,9}", generator):
                raise ValueError(f"generators: expected 3 to 9 characters 0 or 1, e.g. '101', got {generator!r}")
            if len(generator) != len(generators[0]):
                raise ValueError(f"generators: all must have one length, got {generators[0]!r} and {generator!r}")
            if "1" not in generator:
                raise ValueError(f"generators: {generator!r} puts out nothing but zeros; set at least one bit to 1")
        self.register = Register(len(generators[0]) - 1, tuple(generators))

    @property
    def generators(self) -> tuple[str, ...]:
        return self.register.generators

    @property
    def memory(self) -> int:
        """m, the number of earlier bits that an output depends on."""
        return self.register.memory

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(self.generators)})"

    def length(self, num_bits: int) -> int:
        """L, the number of redundant bits of words of B bits."""
        return self.register.length(num_bits)

    def num_bits(self, length: int) -> int:
        """B, the number of bits of words with L redundant bits."""
        num_steps, remainder = divmod(length, len(self.generators))
        if remainder or not 1 <= num_steps - self.memory <= MAX_BITS:
            raise ValueError(
                f"the last dimension, {length}, does not fit: for words of B bits, 1 ≤ B ≤ {MAX_BITS}, "
                f"it must be {len(self.generators)} · (B + {self.memory}); use length(B)"
            )
        return num_steps - self.memory

    def encode(self, bits: Any) -> Array:
        """Algorithm 2: add redundancy. bits [.., B] -> redundant bits [.., L], int64"""
        bits = checked_bits(bits)
        if is_tensor(bits):  # in floats, since GPUs do not multiply matrices of integers; the sums are small
            return (bits.float() @ _generator_tensor(self.generators, bits.shape[-1], bits.device)).long() & 1
        return (bits @ _generator_matrix(self.generators, bits.shape[-1])) & 1

    def score(self, logits: Array, bits: Array) -> Array:
        """The scores of words: Σ b'_i z_i. logits [.., L], bits [.., B], as floats and integers are -> [..]"""
        return (logits * self.encode(bits)).sum(-1)

    def decode(self, probs: Any, size: int | None = None, *, automaton: NDArray[Any] | None = None) -> Array:
        """Algorithm 3: the most probable word, by soft Viterbi. probs [.., L] -> bits [.., B]

        Of equally probable words the one with the lowest number wins.
        """
        rows, shape, lattice = self._prepare(probs, "probs", size, automaton)
        if _has_fused(rows, lattice):
            numbers, _ = self._topk(namespace(rows).logit(doubled(rows)), 1, lattice)
            bits = number_to_bits(numbers[:, 0], lattice.num_bits)
        else:
            bits = _algorithms(rows).viterbi(rows, lattice)
        return bits.reshape(*shape, lattice.num_bits)

    def topk(
        self, logits: Any, k: int, size: int | None = None, *, automaton: NDArray[Any] | None = None
    ) -> tuple[Array, Array]:
        """The k words of the highest score, best first. logits [.., L] -> numbers, scores [.., k]

        Of equal ones the lower number is first. Where there are fewer than k, numbers end in −1 and scores in −inf.
        """
        k = as_count(k, "k")
        rows, shape, lattice = self._prepare(logits, "logits", size, automaton)
        numbers, scores = self._topk(rows, k, lattice)
        return numbers.reshape(*shape, k), scores.reshape(*shape, k)

    def best(
        self, logits: Any, size: int | None = None, *, automaton: NDArray[Any] | None = None
    ) -> tuple[Array, Array, Array]:
        """The best word, its score, and `log_partition`, without gradient. logits [.., L] -> [..] three times"""
        rows, shape, lattice = self._prepare(logits, "logits", size, automaton)
        if _has_fused(rows, lattice):
            from trellex.trellis import fused_words

            numbers, *exact = fused_words.best(rows, self.register, lattice.num_bits, lattice.size)
            found = numbers, *(each.to(rows.dtype) for each in exact)
        else:
            numbers, scores = self._topk(rows, 1, lattice)
            found = numbers[:, 0], scores[:, 0], self._log_partition(rows, lattice, False)[0]
        numbers, scores, values = (each.reshape(shape) for each in found)
        return numbers, scores, values

    def log_partition(self, logits: Any, size: int | None = None, *, automaton: NDArray[Any] | None = None) -> Array:
        """The log of the sum over all words of exp(score), differentiable once. logits [.., L] -> [..]

        log P(word) = score(word) − log_partition.
        """
        rows, shape, lattice = self._prepare(logits, "logits", size, automaton, keep_graph=True)
        if is_tensor(rows) and rows.requires_grad:
            from trellex.trellis.gradient import LogPartition

            forth_and_back = partial(self._log_partition, lattice=lattice, with_posterior=True)
            values = LogPartition.apply(rows, forth_and_back)  # type: ignore[no-untyped-call]
        else:
            values, _ = self._log_partition(rows, lattice, False)
        return values.reshape(shape)

    def posterior(self, logits: Any, size: int | None = None, *, automaton: NDArray[Any] | None = None) -> Array:
        """The probability that each redundant bit is 1: the gradient of `log_partition`. logits [.., L] -> [.., L]"""
        rows, shape, lattice = self._prepare(logits, "logits", size, automaton)
        return self._log_partition(rows, lattice, True)[1].reshape(*shape, -1)

    def sample(
        self,
        logits: Any,
        size: int | None = None,
        generator: Any = None,
        *,
        automaton: NDArray[Any] | None = None,
        count: int | None = None,
    ) -> Array:
        """Words drawn with exactly their probabilities. logits [.., L] -> numbers [..], or [.., count]

        Args:
            generator: a `numpy.random.Generator` or a seed for arrays, a `torch.Generator` for tensors
            count: how many of each row, for little more than one takes; one unless given
        """
        draws = 1 if count is None else as_count(count, "count")
        rows, shape, lattice = self._prepare(logits, "logits", size, automaton)
        if is_tensor(rows):
            import torch

            if generator is not None and not isinstance(generator, torch.Generator):
                raise ValueError(f"generator: expected a torch.Generator for tensors, got {type(generator).__name__}")
            dtype = torch.float32 if rows.device.type == "mps" else torch.float64
            uniforms: Any = torch.rand(
                len(rows), draws, lattice.num_steps, generator=generator, device=rows.device, dtype=dtype
            )
        else:
            try:
                uniforms = np.random.default_rng(generator).random((len(rows), draws, lattice.num_steps))
            except TypeError as error:
                raise ValueError(
                    f"generator: expected a numpy.random.Generator or a seed for arrays ({error})"
                ) from None
        if _has_fused(rows, lattice):
            from trellex.trellis import fused_sample

            numbers = fused_sample.sample(rows, uniforms, self.register, lattice.num_bits, lattice.size)
        else:
            numbers = _algorithms(rows, FEW_ROWS // draws).sample(rows, uniforms, lattice)
        return numbers.reshape(shape if count is None else (*shape, draws))

    def minimum_distance(self, num_bits: int) -> int:
        """The fewest redundant bits in which two words of B bits differ; (d − 1) // 2 errors are always corrected.

        The code is linear, so this is the weight of the lightest word but 0: a shortest path through the trellis,
        over states that also know whether a 1 has come yet.
        """
        num_bits = as_count(num_bits, "num_bits")
        if num_bits > MAX_BITS:
            raise ValueError(f"num_bits: at most {MAX_BITS} bits fit, got {num_bits}")
        lattice = lattice_of(self.register, num_bits, None)
        weights = lattice.patterns.sum(1).astype(np.int64)
        far = self.length(num_bits) + 1
        lightest = np.full((int(lattice.levels[-1]), 2), far)
        lightest[0, 0] = 0
        for step in range(lattice.num_steps):
            base = int(lattice.levels[step])
            for state in range(int(lattice.levels[step + 1]), int(lattice.levels[step + 2])):
                for source, pattern, bit in lattice.edges[lattice.incoming[state] : lattice.incoming[state + 1]]:
                    weight = lightest[base + source] + weights[pattern]
                    lightest[state] = np.minimum(lightest[state], (far, weight.min()) if bit else weight)
        return int(lightest[-1, 1])

    def _prepare(
        self, values: Any, name: str, size: int | None, automaton: NDArray[Any] | None, keep_graph: bool = False
    ) -> tuple[Array, tuple[int, ...], Lattice]:
        """`values` [.., L] as rows [N, L] of float32 or float64, their leading shape, and the lattice to walk.

        Tensors are cut off from their graph unless that is to be kept.
        """
        values = as_array(values)
        shape = values.shape
        try:
            num_bits = self.num_bits(shape[-1])
        except IndexError:
            raise ValueError(f"{name}: expected an array with a last dimension, got a single number") from None
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        rows = values.reshape(-1, shape[-1])
        if rows.dtype is not _FLOAT64:
            rows = as_floats(rows, name)
            if is_tensor(rows) and not keep_graph:
                rows = rows.detach()
        return rows, shape[:-1], lattice_of(self.register, num_bits, size, automaton)

    def _topk(self, rows: Array, k: int, lattice: Lattice) -> tuple[Array, Array]:
        """Numbers and scores [N, k], by the fastest way there is for these rows [N, L]."""
        if _has_fused(rows, lattice) and k <= FUSED_WORDS:
            from trellex.trellis import fused_words

            return fused_words.topk(rows, k, self.register, lattice.num_bits, lattice.size)
        return _algorithms(rows).topk(rows, k, lattice)

    def _log_partition(self, rows: Array, lattice: Lattice, with_posterior: bool) -> tuple[Array, Any]:
        """Values [N] and posterior [N, L] or None, by the fastest way there is for these rows [N, L]."""
        if _has_fused(rows, lattice):
            from trellex.trellis import fused

            return fused.log_partition(rows, self.register, lattice.num_bits, lattice.size, with_posterior)
        return _algorithms(rows, worth_fetching=0).log_partition(rows, lattice, with_posterior)


class IdentityCode(ConvolutionalCode):
    """No redundancy, behind the same interface: the bits of the word are what goes out, L = B."""

    def __init__(self) -> None:
        self.register = Register(0, ("1",))


def checked_bits(bits: Any) -> Array:
    """bits [.., B] as integers"""
    bits = as_bits(bits, "bits")
    if bits.ndim == 0 or not 1 <= bits.shape[-1] <= MAX_BITS:
        raise ValueError(f"bits: the last dimension must be 1 … {MAX_BITS}, got shape {tuple(bits.shape)}")
    return bits


@cache
def _generator_matrix(generators: tuple[str, ...], num_bits: int) -> NDArray[np.int64]:
    """The code is linear: the redundant bits of the words with a single 1. [B, L]"""
    memory = len(generators[0]) - 1
    matrix = np.zeros((num_bits, num_bits + memory, len(generators)), np.int64)
    for column, generator in enumerate(generators):
        for lag, tap in enumerate(reversed(generator)):
            matrix[np.arange(num_bits), np.arange(num_bits) + lag, column] = int(tap)
    return matrix.reshape(num_bits, -1)


@cache
def _generator_tensor(generators: tuple[str, ...], num_bits: int, device: Any) -> Any:
    import torch

    return torch.from_numpy(_generator_matrix(generators, num_bits)).float().to(device)


def _algorithms(rows: Array, worth_fetching: int = FEW_ROWS) -> ModuleType:
    """The compiled kernels for rows in main memory and for few rows elsewhere, torch for the rest.

    Imported when first needed: the one needs numba, the other torch.
    """
    if is_inspectable(rows) or len(rows) <= worth_fetching:
        from trellex.trellis import host

        return host
    from trellex.trellis import device

    return device


def _has_fused(rows: Array, lattice: Lattice) -> bool:
    """Whether a kernel walks the whole trellis for these rows; it knows no words but the numbers below a size."""
    return lattice.size is not None and has_kernels(rows)

"""Numpy arrays and torch tensors: the one place that tells them apart, without importing torch."""

from __future__ import annotations

import importlib.util
import operator
import sys
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

# of logits and losses, about 1e25 in single and 1e298 in double precision: sums of many are finite
LARGEST_SINGLE, LARGEST_DOUBLE = 2.0**83, 2.0**990
FEW_ROWS = 1024  # on an accelerator, for which compiled code in main memory, the way included, is faster

Array: TypeAlias = Any  # NDArray or torch.Tensor; what comes out is of the kind that went in


def is_tensor(values: object) -> TypeGuard[torch.Tensor]:
    """Whether `values` is a torch tensor. False, at no cost, as long as nobody has imported torch."""
    if isinstance(values, np.ndarray):
        return False
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def namespace(values: Array) -> ModuleType:
    """The module, numpy or torch, whose functions take `values`."""
    return sys.modules["torch"] if is_tensor(values) else np


def as_array(values: Any) -> Array:
    """A tensor as it is; anything else (lists, numbers) as a numpy array."""
    return values if isinstance(values, np.ndarray) or is_tensor(values) else np.asarray(values)


def as_count(value: Any, name: str) -> int:
    """`value` as an int of at least 1; `name` is the argument that an error speaks of."""
    try:
        count = operator.index(value)
    except TypeError:
        count = 0
    if count < 1 or isinstance(value, bool):
        raise ValueError(f"{name}: expected a whole number of at least 1, got {value!r}")
    return count


def as_integers(values: Any, name: str) -> Array:
    """`values` as int64; `name` is the argument that an error speaks of."""
    array = as_array(values)
    if is_tensor(array):
        whole = not (array.is_floating_point() or array.is_complex())
    else:
        whole = array.dtype.kind in "biu" or array.size == 0
    if not whole:
        raise ValueError(f"{name}: expected whole numbers, got {array.dtype}; convert them to int64 first")
    return as_int64(array)


def as_bits(values: Any, name: str) -> Array:
    """`values` as int64, every one of them 0 or 1; `name` is the argument that an error speaks of."""
    array = as_array(values)
    if is_inspectable(array) and not bool(((array == 0) | (array == 1)).all()):
        raise ValueError(f"{name}: expected only 0 and 1; threshold probabilities first, e.g. probs >= 0.5")
    return as_int64(array)


def as_floats(values: Array, name: str) -> Array:
    """float32 and float64 as they are, other tensors as float32, other arrays as float64."""
    if is_tensor(values):
        if values.is_complex():
            raise ValueError(f"{name}: expected real numbers, got {values.dtype}")
        return values if str(values.dtype) in ("torch.float32", "torch.float64") else values.float()
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{name}: expected real numbers, got {values.dtype}")
    return values if values.dtype in (np.float32, np.float64) else values.astype(np.float64)


def as_int64(array: Array) -> Array:
    return array.long() if is_tensor(array) else array.astype(np.int64, copy=False)


def is_inspectable(array: Array) -> bool:
    """Whether reading the values is free. On an accelerator it would wait for the device."""
    return not is_tensor(array) or array.device.type == "cpu"


def number_to_bits(numbers: Array, num_bits: int) -> Array:
    """Bit arrays of whole numbers, lowest bit first. numbers [..] -> bits [.., num_bits]"""
    places = namespace(numbers).arange(num_bits, device=numbers.device)
    return (numbers[..., None] >> places) & 1


def bits_to_number(bits: Array) -> Array:
    """The inverse of `number_to_bits`. bits [.., B] -> numbers [..]"""
    places = namespace(bits).arange(bits.shape[-1], device=bits.device)
    return (bits << places).sum(-1)


class Table:
    """A constant array, which tensors find on their own device: the copy there is made once and kept.

    Copies and pickles of a table hold the array alone.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self._tensors: dict[tuple[torch.device, torch.dtype], torch.Tensor] = {}

    def like(self, values: Array) -> Array:
        """The array itself for an array; for a tensor, a tensor of its type on its device."""
        if not is_tensor(values):
            return self.array
        kind = values.device, values.dtype
        if kind not in self._tensors:
            torch = sys.modules["torch"]
            with torch.inference_mode(False):  # autograd refuses tensors made in that mode
                self._tensors[kind] = torch.from_numpy(self.array).to(values)
        return self._tensors[kind]

    def __reduce__(self) -> tuple[type[Table], tuple[NDArray[Any]]]:
        return Table, (self.array,)


def sigmoid(values: Array) -> Array:
    if is_tensor(values):
        return values.sigmoid()
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-values))


def log_sigmoid(values: Array) -> Array:
    """log(1 / (1 + exp(−value))), however large values are."""
    return sys.modules["torch"].nn.functional.logsigmoid(values) if is_tensor(values) else -np.logaddexp(0, -values)


def log_sum_exp(values: Array) -> Array:
    """Over the last dimension. [.., K] -> [..]"""
    return values.logsumexp(-1) if is_tensor(values) else np.logaddexp.reduce(values, -1)


def largest_sum(values: Array) -> float:
    """The largest number of which many can be added up in the precision of these."""
    return LARGEST_DOUBLE if values.dtype.itemsize == 8 else LARGEST_SINGLE


def bounded(values: Array) -> Array:
    """Tensors with `largest_sum`, up or down, in place of what is beyond; NaN stays. Arrays as they are."""
    return values.clamp(-largest_sum(values), largest_sum(values)) if is_tensor(values) else values


def log_softmax(logits: Array) -> Array:
    """Over the last dimension, none below −`largest_sum`. [.., W] -> [.., W]"""
    if is_tensor(logits):
        return logits.log_softmax(-1).clamp(min=-largest_sum(logits))
    shifted = np.maximum(logits - logits.max(-1, keepdims=True), -largest_sum(logits))
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def pick(values: Array, places: Array) -> Array:
    """One value, or one array, of each row. values [T, C, ..], places [T] -> [T, ..]"""
    if is_tensor(values) and values.ndim == 2:
        return values.gather(1, places[:, None])[:, 0]
    return values[namespace(values).arange(len(values), device=values.device), places]


def largest(values: Array) -> tuple[Array, Array]:
    """The places of the largest of each row, and those. [T, C] -> [T], [T]"""
    if is_tensor(values):
        best, places = values.max(-1)
        return places, best
    places = values.argmax(-1)
    return places, pick(values, places)


def draw(scores: Array, generator: Any) -> Array:
    """Places drawn with probabilities in proportion to exp(score). [T, C] -> [T]"""
    scores = bounded(scores)
    if is_tensor(scores):
        return sys.modules["torch"].multinomial(scores.softmax(-1), 1, generator=generator)[:, 0]
    return np.argmax(scores + np.random.default_rng(generator).gumbel(size=scores.shape), -1)


def uniforms(like: Array, generator: Any) -> Array:
    """As many random numbers in [0, 1). like [T] -> [T]"""
    if is_tensor(like):
        return like.new_empty(like.shape).uniform_(generator=generator)
    return np.random.default_rng(generator).random(like.shape)


def portions(values: Array, size: int) -> Iterator[Array]:
    """The rows of values, so many at a time; one portion without rows if there are none. [T, ..]"""
    return (values[first : first + size] for first in range(0, max(1, len(values)), size))


def places_of(chosen: Array) -> NDArray[np.int64]:
    """Where it is true, in main memory. [T] -> [rows]"""
    return np.flatnonzero(chosen.cpu().numpy() if is_tensor(chosen) else chosen)


def best_of(scores: Array, k: int, words: Array | None = None) -> tuple[Array, Array]:
    """The k best of some candidates, −1 and −inf where there are fewer. [T, C] -> words, scores [T, k]

    words: what the candidates are; their places unless given  [T, C]
    """
    missing = max(0, k - scores.shape[1])
    if is_tensor(scores):
        pad = sys.modules["torch"].nn.functional.pad
        best, order = scores.topk(k - missing, -1)
        chosen = (order if words is None else words.gather(-1, order)).where(best > -float("inf"), -1)
        return pad(chosen, (0, missing), value=-1), pad(best, (0, missing), value=-float("inf"))
    if words is None and scores.shape[1] > 8 * k:  # sorting them all would take longer
        words = np.sort(np.argpartition(scores, scores.shape[1] - k, -1)[:, scores.shape[1] - k :], -1)
        scores = np.take_along_axis(scores, words, -1)
    ranks = np.argsort(-scores, -1, kind="stable")[:, :k]
    values = np.take_along_axis(scores, ranks, -1)
    found = np.where(values > -np.inf, ranks if words is None else np.take_along_axis(words, ranks, -1), -1)
    if not missing:
        return found, values
    gaps = ((0, 0), (0, missing))
    return np.pad(found, gaps, constant_values=-1), np.pad(values, gaps, constant_values=-np.inf)


def doubled(values: Array) -> Array:
    """In double precision."""
    return values.double() if is_tensor(values) else values.astype(np.float64, copy=False)


def like(values: Array, other: Array) -> Array:
    """Tensors on the device of another, real numbers in its precision, but at least single; arrays as they are."""
    if not is_tensor(values):
        return values
    if not values.is_floating_point() or not other.is_floating_point():
        return values.to(other.device)
    torch = sys.modules["torch"]
    return values.to(other.device, torch.promote_types(other.dtype, torch.float32))


def fetch_few(*values: Array) -> tuple[Array, ...]:
    """Values of few rows in main memory: to read words takes many small operations, which accelerators start slowly."""
    return tuple(value.cpu() if is_tensor(value) and len(value) <= FEW_ROWS else value for value in values)


def has_kernels(values: Array) -> bool:
    """Whether Triton's kernels can read it."""
    return is_tensor(values) and bool(values.is_cuda) and _has_triton()


@cache
def _has_triton() -> bool:
    return importlib.util.find_spec("triton") is not None

"""A hybrid's softmax layer, over the frequent words and OTHER, for a few hidden states at a time: one compiled call."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from trellex.runtime.folder import REMEDY, load_array
from trellex.runtime.screen import LANES, bound, fetch_ahead, multiplies_quads, screen_of
from trellex.trellis.kernels import compiled

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
        self._weight = np.ascontiguousarray(np.pad(weight, ((0, 0), (0, -size % LANES))))
        self._tables = self._weight, (scales / steps).astype(np.float32), bias.astype(np.float32), np.float32(steps)
        self._screen = screen_of(weight * scales[:, None], bias) if multiplies_quads() else None
        self.few = 2 if is_rounded or self._screen else 1  # hidden states up to which it is faster than ONNX Runtime

    def logits(self, h: Floats) -> Floats:
        """h [N, H] -> [N, W]"""
        logits = np.empty((len(h), len(self._weight)), np.float32)
        _logits(h, *self._tables, logits)
        return logits

    def best(self, h: Floats) -> tuple[NDArray[np.int64], Floats, bool]:
        """The best words but OTHER; by how much the logit of OTHER exceeds theirs; whether it does anywhere.

        h [N, H] -> [N], [N]
        """
        words, leads = np.empty(len(h), np.int64), np.empty(len(h))
        if self._screen is None:
            return words, leads, _best(h, *self._tables, words, leads)
        return words, leads, _best_screened(h, *self._tables, *self._screen, words, leads)

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


@compiled
def _logits(h, weight, scales, bias, steps, logits):
    """h [N, H], weight [W, H and zeros] -> logits [N, W]"""
    taken = np.zeros(weight.shape[1], weight.dtype)
    for row in range(h.shape[0]):
        _take(h[row], steps, taken)
        for word in range(weight.shape[0]):
            logits[row, word] = _logit(taken, weight, scales, bias, word)


@compiled
def _best(h, weight, scales, bias, steps, words, leads):
    """h [N, H], weight [W, H and zeros] -> words [N], leads [N]; whether a lead is above 0"""
    taken = np.zeros(weight.shape[1], weight.dtype)
    other = weight.shape[0] - 1
    for row in range(h.shape[0]):
        _take(h[row], steps, taken)
        best, highest = 0, np.float32(-np.inf)
        for word in range(other):
            logit = _logit(taken, weight, scales, bias, word)
            if logit > highest:
                best, highest = word, logit
        words[row] = best
        leads[row] = _logit(taken, weight, scales, bias, other) - np.float64(highest)
    return (leads > 0).any()


@compiled
def _best_screened(h, weight, scales, bias, steps, quads, quad_scales, ceilings, slacks, words, leads):
    """`_best` with the tables of `screen_of`: words whose bound is below the best logit so far are not looked at.

    h [N, H], weight [W, H and zeros] -> words [N], leads [N]; whether a lead is above 0
    """
    taken, small = np.zeros(weight.shape[1], weight.dtype), np.zeros(8 * quads.shape[1], np.int8)
    other = weight.shape[0] - 1
    bounds, highest_bounds = np.empty(other, np.float32), np.empty(len(quads), np.float32)
    for row in range(h.shape[0]):
        _take(h[row], steps, taken)
        bound(taken, small, steps, quads, quad_scales, ceilings, slacks, bounds, highest_bounds)
        best, highest = 0, np.float32(-np.inf)
        for turn in range(-1, len(quads)):  # where the highest bound is, then in order
            block = np.argmax(highest_bounds) if turn < 0 else turn
            if highest_bounds[block] >= highest:
                for word in range(block * LANES, min(block * LANES + LANES, other)):
                    if bounds[word] >= highest:
                        logit = _logit(taken, weight, scales, bias, word)
                        if logit > highest or (logit == highest and word < best):
                            best, highest = word, logit
        words[row] = best
        leads[row] = _logit(taken, weight, scales, bias, other) - np.float64(highest)
    return (leads > 0).any()


@compiled
def _take(h, steps, taken):
    """Numbers within ±1 as whole numbers of steps, or as they are if a step is 1. h [H] -> taken [H and zeros]"""
    for unit in range(h.shape[0]):
        value = h[unit] * steps
        taken[unit] = value if steps == 1 else np.rint(value)


@compiled
def _logit(taken, weight, scales, bias, word):
    """taken [H and zeros], weight [W, H and zeros]"""
    return np.float32(_dot(taken, weight, word)) * scales[word] + bias[word]


@intrinsic
def _dot(typing_context, taken, weight, row):
    """The sum of products with a row of `weight`, in 32 bits. taken [H], weight [W, H], H a multiple of LANES

    Of loops in numba LLVM makes short vectors. These are long ones, which it breaks into those that the CPU has; where
    there are instructions that multiply and add at once, it finds that they fit.
    """
    is_float = weight.dtype == types.float32

    def generate(context, builder, signature, arguments):
        inputs, weights = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args[:2], arguments[:2], strict=True)
        )
        number = ir.FloatType() if is_float else ir.IntType(32)
        vector, any_order = ir.VectorType(number, LANES), ("contract", "reassoc")
        width = builder.extract_value(inputs.shape, 0)
        begin = builder.gep(weights.data, [builder.mul(arguments[2], width)])
        sums = cgutils.alloca_once_value(builder, ir.Constant(vector, [0] * LANES))
        size = weight.dtype.bitwidth // 8
        with cgutils.for_range_slice(builder, width.type(0), width, width.type(LANES)) as (unit, _):
            here = builder.gep(begin, [unit])
            factors = []
            for start in (builder.gep(inputs.data, [unit]), here):
                values = builder.bitcast(start, ir.VectorType(start.type.pointee, LANES).as_pointer())
                loaded = builder.load(values, align=size)
                factors.append(loaded if is_float else builder.sext(loaded, vector))
            before = builder.load(sums)
            if is_float:
                after = builder.fadd(before, builder.fmul(*factors, flags=any_order), flags=any_order)
            else:
                after = builder.add(before, builder.mul(*factors))
            builder.store(after, sums)
            fetch_ahead(builder, here, LANES * size)
        first, name = ([number(0.0)], f"fadd.v{LANES}f32") if is_float else ([], f"add.v{LANES}i32")
        add_up = ir.FunctionType(number, [*(each.type for each in first), vector])
        add_up = cgutils.get_or_insert_function(builder.module, add_up, f"llvm.vector.reduce.{name}")
        return builder.call(add_up, [*first, builder.load(sums)], fastmath=any_order if is_float else ())

    return (types.float32 if is_float else types.int32)(taken, weight, types.intp), generate

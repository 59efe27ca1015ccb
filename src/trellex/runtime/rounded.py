"""A softmax layer with weights of 8 bits, for a few hidden states at a time: one compiled call that reads them once."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from trellex.runtime.folder import load_array
from trellex.trellis.kernels import compiled

LANES = 64  # products side by side: two of the longest vectors there are
AHEAD = 4096  # bytes from a weight to the one to be fetched meanwhile: CPUs do not look beyond a page themselves
MOST = 127  # the largest weight

Floats = NDArray[Any]


class RoundedSoftmax:
    """Logits of words, the last of which is OTHER. Hidden states, within ±1, are rounded to 16 bits or a little less.

    Args:
        weight: [W, H]
        scales: of the rows of `weight`  [W]
        bias: [W]
    """

    few = 2  # hidden states up to which it is faster than ONNX Runtime

    def __init__(self, weight: NDArray[np.int8], scales: Floats, bias: Floats) -> None:
        size = weight.shape[1]
        steps = min(np.iinfo(np.int16).max, np.iinfo(np.int32).max // (MOST * size))  # so that sums have 32 bits
        self._weight = np.ascontiguousarray(np.pad(weight, ((0, 0), (0, -size % LANES))))
        self._tables = self._weight, (scales / steps).astype(np.float32), bias.astype(np.float32), np.float32(steps)

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
        return words, leads, _best(h, *self._tables, words, leads)

    @classmethod
    def load(cls, folder: Path, size: int, hidden_size: int) -> Self:
        """The layer that `save` wrote. Raises ValueError if it is not one of so many words and units."""
        weight = load_array(folder / "softmax.rounded.npy", (size, hidden_size), np.int8)
        return cls(weight, *(load_array(folder / f"softmax.{name}.npy", (size,)) for name in ("scales", "bias")))

    @staticmethod
    def save(folder: Path, weight: Floats, bias: Floats) -> None:
        """Round and write weight [W, H] and bias [W]."""
        scales = np.maximum(np.abs(weight).max(1), np.finfo(np.float32).tiny) / MOST
        rounded = np.rint(weight / scales[:, None]).astype(np.int8)
        for name, values in (("rounded", rounded), ("scales", scales), ("bias", bias)):
            np.save(folder / f"softmax.{name}.npy", values)


@compiled
def _logits(h, weight, scales, bias, steps, logits):
    """h [N, H], weight [W, H and zeros] -> logits [N, W]"""
    rounded = np.zeros(weight.shape[1], np.int16)
    for row in range(h.shape[0]):
        _round(h[row], steps, rounded)
        for word in range(weight.shape[0]):
            logits[row, word] = np.float32(_dot(rounded, weight, word)) * scales[word] + bias[word]


@compiled
def _best(h, weight, scales, bias, steps, words, leads):
    """h [N, H], weight [W, H and zeros] -> words [N], leads [N]; whether a lead is above 0"""
    rounded = np.zeros(weight.shape[1], np.int16)
    other = weight.shape[0] - 1
    some_lead = False
    for row in range(h.shape[0]):
        _round(h[row], steps, rounded)
        best, highest = 0, np.float32(-np.inf)
        for word in range(other):
            logit = np.float32(_dot(rounded, weight, word)) * scales[word] + bias[word]
            if logit > highest:
                best, highest = word, logit
        words[row] = best
        leads[row] = np.float32(_dot(rounded, weight, other)) * scales[other] + bias[other] - np.float64(highest)
        some_lead = some_lead or leads[row] > 0
    return some_lead


@compiled
def _round(h, steps, rounded):
    """Numbers within ±1 as steps. h [H] -> rounded [H and zeros]"""
    for unit in range(h.shape[0]):
        rounded[unit] = np.int16(np.rint(h[unit] * steps))


@intrinsic
def _dot(typing_context, rounded, weight, row):
    """The sum of products with a row of `weight`, in 32 bits. rounded [H], weight [W, H], H a multiple of LANES

    Of loops in numba LLVM makes short vectors. These are long ones, which it breaks into those that the CPU has; where
    there are instructions that multiply and add at once, it finds that they fit.
    """

    def generate(context, builder, signature, arguments):
        inputs, weights = (
            context.make_array(kind)(context, builder, value)
            for kind, value in zip(signature.args[:2], arguments[:2], strict=True)
        )
        number = ir.IntType(32)
        vector, address = ir.VectorType(number, LANES), ir.IntType(8).as_pointer()
        prefetch = ir.FunctionType(ir.VoidType(), [address, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [address], prefetch)
        add_up = ir.FunctionType(number, [vector])
        add_up = cgutils.get_or_insert_function(builder.module, add_up, f"llvm.vector.reduce.add.v{LANES}i32")
        width = builder.extract_value(inputs.shape, 0)
        begin = builder.gep(weights.data, [builder.mul(arguments[2], width)])
        sums = cgutils.alloca_once_value(builder, ir.Constant(vector, [0] * LANES))
        with cgutils.for_range_slice(builder, width.type(0), width, width.type(LANES)) as (unit, _):
            here = builder.gep(begin, [unit])
            factors = []
            for start in (builder.gep(inputs.data, [unit]), here):
                element = start.type.pointee
                values = builder.bitcast(start, ir.VectorType(element, LANES).as_pointer())
                factors.append(builder.sext(builder.load(values, align=element.width // 8), vector))
            builder.store(builder.add(builder.load(sums), builder.mul(*factors)), sums)
            to_read, to_keep, data = number(0), number(3), number(1)
            builder.call(prefetch, [builder.gep(here, [width.type(AHEAD)]), to_read, to_keep, data])
        return builder.call(add_up, [builder.load(sums)])

    return types.int32(rounded, weight, types.intp), generate

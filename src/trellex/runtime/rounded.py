"""A softmax layer with weights of 12 bits, for a few hidden states at a time: one compiled call.

It takes as long as its weights take to come from memory. So where CPUs can multiply 4 bits fast enough, `best` reads
4 bits of every weight, and all 12 for those words alone that may still be the best.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from numpy.typing import NDArray

from trellex.runtime.folder import REMEDY, load_array
from trellex.trellis.kernels import compiled, compiled_maxima

LANES = 64  # products, or words, side by side
AHEAD = 4096  # bytes from a weight to the one to be fetched meanwhile: CPUs do not look beyond a page themselves
LINE = 64  # bytes that come from memory together
MOST = 2047  # the largest weight
BYTE = 127  # the largest unit of a hidden state in 8 bits
LEVELS = 7  # the largest weight in 4 bits
SURE = 6.0  # the best word is missed with a probability of at most exp(−SURE² / 2)
SEED = 20170730  # of the random rounding to 4 bits, the same each time

Floats = NDArray[Any]


class RoundedSoftmax:
    """Logits of words, the last of which is OTHER. Hidden states, within ±1, are rounded so that sums have 32 bits.

    Args:
        weight: within ±MOST  [W, H]
        scales: of the rows of `weight`  [W]
        bias: [W]
    """

    few = 2  # hidden states up to which it is faster than ONNX Runtime

    def __init__(self, weight: NDArray[np.int16], scales: Floats, bias: Floats) -> None:
        size = weight.shape[1]
        steps = min(np.iinfo(np.int16).max, np.iinfo(np.int32).max // (MOST * size))
        self._weight = np.ascontiguousarray(np.pad(weight, ((0, 0), (0, -size % LANES))))
        self._tables = self._weight, (scales / steps).astype(np.float32), bias.astype(np.float32), np.float32(steps)
        self._screen = screen_of(weight, scales, bias) if multiplies_quads() else None

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
    def load(cls, folder: Path, size: int, hidden_size: int) -> Self:
        """The layer that `save` wrote. Raises ValueError if it is not one of so many words and units."""
        path = folder / "softmax.rounded.npy"
        weight = load_array(path, (size, hidden_size), np.int16)
        if weight.min(initial=0) < -MOST or weight.max(initial=0) > MOST:
            raise ValueError(f"{path}: has weights beyond ±{MOST:,}; {REMEDY}")
        names = ("scales", "bias")
        return cls(weight, *(load_array(folder / f"softmax.{name}.npy", (size,), np.float32) for name in names))

    @staticmethod
    def save(folder: Path, weight: Floats, bias: Floats) -> None:
        """Round and write weight [W, H] and bias [W]."""
        scales = np.maximum(np.abs(weight).max(1), np.finfo(np.float32).tiny) / MOST
        rounded = np.rint(weight / scales[:, None]).astype(np.int16)
        for name, values in (("rounded", rounded), ("scales", scales), ("bias", bias)):
            np.save(folder / f"softmax.{name}.npy", values)


def multiplies_quads() -> bool:
    """Whether numba compiles for CPUs with AVX-512 VNNI, which adds up four products of bytes at once."""
    _, _, features = cpu_target.target_context.codegen().magic_tuple()
    return "+avx512vnni" in features


def screen_of(weight: NDArray[np.int16], scales: Floats, bias: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """What bounds the logits of words from above.

    Weights go up or down to one of 15 levels at random, so that the mean is exact. Their errors are then independent,
    and by Hoeffding's inequality Σ error · h exceeds k · |h| · half a level's width with a probability of at most
    exp(−k² / 2), whatever weights and h are, as long as they were not made to meet these errors. That h is rounded,
    too, adds at most half a step times Σ |level|.

    weight [W, H] -> levels as bytes with two units each [W / LANES, H / 8, LANES, 4]; the scales of their sums [W];
    bias and what the rounding of h may add [W]; how much errors may add for |h| = 1 [W]
    """
    words, size = weight.shape
    width = MOST / LEVELS
    chances = np.random.default_rng(SEED).random(weight.shape, np.float32)
    levels = np.maximum(np.floor(weight / np.float32(width) + chances), -LEVELS).astype(np.int8)
    padded = np.pad(levels + LEVELS, ((0, -words % LANES), (0, -size % 8))).astype(np.uint8)
    quads = padded.reshape(-1, LANES, padded.shape[1] // 8, 2, 4).transpose(3, 0, 2, 1, 4)
    ceilings = bias + scales * width * np.abs(levels).sum(1, dtype=np.int64) * (0.5 / BYTE)
    columns = np.stack([scales * width / BYTE, ceilings, scales * width * (SURE / 2)]).astype(np.float32)
    return np.ascontiguousarray(quads[0] | quads[1] << 4), columns[0], columns[1], columns[2]


@compiled
def _logits(h, weight, scales, bias, steps, logits):
    """h [N, H], weight [W, H and zeros] -> logits [N, W]"""
    rounded = np.zeros(weight.shape[1], np.int16)
    for row in range(h.shape[0]):
        _round(h[row], steps, rounded)
        for word in range(weight.shape[0]):
            logits[row, word] = _logit(rounded, weight, scales, bias, word)


@compiled
def _best(h, weight, scales, bias, steps, words, leads):
    """h [N, H], weight [W, H and zeros] -> words [N], leads [N]; whether a lead is above 0"""
    rounded = np.zeros(weight.shape[1], np.int16)
    other = weight.shape[0] - 1
    for row in range(h.shape[0]):
        _round(h[row], steps, rounded)
        best, highest = 0, np.float32(-np.inf)
        for word in range(other):
            logit = _logit(rounded, weight, scales, bias, word)
            if logit > highest:
                best, highest = word, logit
        words[row] = best
        leads[row] = _logit(rounded, weight, scales, bias, other) - np.float64(highest)
    return (leads > 0).any()


@compiled
def _best_screened(h, weight, scales, bias, steps, quads, quad_scales, ceilings, slacks, words, leads):
    """`_best` with the tables of `screen_of`: words whose bound is below the best logit so far are not looked at.

    h [N, H], weight [W, H and zeros] -> words [N], leads [N]; whether a lead is above 0
    """
    rounded, small = np.zeros(weight.shape[1], np.int16), np.zeros(8 * quads.shape[1], np.int8)
    other = weight.shape[0] - 1
    bounds, highest_bounds = np.empty(other, np.float32), np.empty(len(quads), np.float32)
    for row in range(h.shape[0]):
        _round(h[row], steps, rounded)
        _bound(rounded, small, steps, quads, quad_scales, ceilings, slacks, bounds, highest_bounds)
        best, highest = 0, np.float32(-np.inf)
        for turn in range(-1, len(quads)):  # where the highest bound is, then in order
            block = np.argmax(highest_bounds) if turn < 0 else turn
            if highest_bounds[block] >= highest:
                for word in range(block * LANES, min(block * LANES + LANES, other)):
                    if bounds[word] >= highest:
                        logit = _logit(rounded, weight, scales, bias, word)
                        if logit > highest or (logit == highest and word < best):
                            best, highest = word, logit
        words[row] = best
        leads[row] = _logit(rounded, weight, scales, bias, other) - np.float64(highest)
    return (leads > 0).any()


@compiled
def _bound(rounded, small, steps, quads, quad_scales, ceilings, slacks, bounds, highest_bounds):
    """What logits exceed with no more than the probability that SURE leaves, and the highest of each block.

    rounded [H and zeros] -> bounds [W], highest_bounds [W / LANES]
    small: room for hidden states in 8 bits  [H and zeros]
    """
    squares, excess = np.int64(0), np.int32(0)
    for unit in range(min(len(rounded), len(small))):
        small[unit] = np.int8(np.rint(rounded[unit] * (np.float32(BYTE) / steps)))
        squares += np.int64(rounded[unit]) * rounded[unit]
        excess += LEVELS * small[unit]
    norm = np.float32(np.sqrt(np.float64(squares))) / steps
    sums = np.empty(LANES, np.int32)
    for block in range(len(quads)):
        _add_quads(small, quads, block, sums)
        first = block * LANES
        for lane in range(min(LANES, len(bounds) - first)):
            word = first + lane
            bounds[word] = (sums[lane] - excess) * quad_scales[word] + ceilings[word] + slacks[word] * norm
        highest_bounds[block] = _highest(bounds[first : first + LANES])


@compiled
def _logit(rounded, weight, scales, bias, word):
    """rounded [H and zeros], weight [W, H and zeros]"""
    return np.float32(_dot(rounded, weight, word)) * scales[word] + bias[word]


@compiled
def _round(h, steps, rounded):
    """Numbers within ±1 as steps. h [H] -> rounded [H and zeros]"""
    for unit in range(h.shape[0]):
        rounded[unit] = np.int16(np.rint(h[unit] * steps))


@compiled_maxima
def _highest(values):
    """The maximum, −inf of none. values [W]"""
    highest = np.float32(-np.inf)
    for value in values:
        highest = max(highest, value)
    return highest


def _fetch_ahead(builder, place, size):
    """Ask for `size` bytes that will be needed when as many as AHEAD have been read."""
    number, address = ir.IntType(32), ir.IntType(8).as_pointer()
    prefetch = ir.FunctionType(ir.VoidType(), [address, number, number, number])
    prefetch = builder.module.declare_intrinsic("llvm.prefetch", [address], prefetch)
    place, to_read, to_keep, data = builder.bitcast(place, address), number(0), number(3), number(1)
    for line in range(AHEAD, AHEAD + size, LINE):
        builder.call(prefetch, [builder.gep(place, [number(line)]), to_read, to_keep, data])


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
        vector = ir.VectorType(number, LANES)
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
            _fetch_ahead(builder, here, LANES * np.dtype(np.int16).itemsize)
        return builder.call(add_up, [builder.load(sums)])

    return types.int32(rounded, weight, types.intp), generate


@intrinsic
def _add_quads(typing_context, small, quads, block, sums):
    """The sums of products with the words of a block. small [H], quads [W / LANES, H / 8, LANES, 4] -> sums [LANES]

    A byte of `quads` holds a unit in its lower half and the one four places further in its upper.
    """

    def generate(context, builder, signature, arguments):
        inputs, weights, results = (
            context.make_array(signature.args[place])(context, builder, arguments[place]) for place in (0, 1, 3)
        )
        number = ir.IntType(32)
        vector = ir.VectorType(number, 16)
        add_products = ir.FunctionType(vector, [vector, vector, vector])
        name = "llvm.x86.avx512.vpdpbusd.512"
        add_products = cgutils.get_or_insert_function(builder.module, add_products, name)
        width = builder.extract_value(inputs.shape, 0)
        offset, none = width.type, ir.Constant(vector, ir.Undefined)
        begin = builder.gep(weights.data, [builder.mul(arguments[2], builder.mul(width, offset(LANES // 2)))])
        totals = [cgutils.alloca_once_value(builder, ir.Constant(vector, [0] * 16)) for _ in range(LANES // 8)]

        def every(value):
            return ir.Constant(vector, [value] * 16)

        def four_units(first):
            start = builder.bitcast(builder.gep(inputs.data, [first]), number.as_pointer())
            return builder.shuffle_vector(
                builder.insert_element(none, builder.load(start, align=1), number(0)), none, every(0)
            )

        with cgutils.for_range_slice(builder, offset(0), width, offset(8)) as (unit, _):
            here = builder.gep(begin, [builder.mul(unit, offset(LANES // 2))])
            units = four_units(unit), four_units(builder.add(unit, offset(4)))
            for part in range(LANES // 16):
                start = builder.gep(here, [offset(64 * part)])
                both = builder.load(builder.bitcast(start, vector.as_pointer()), align=1)
                for half, factors in enumerate(units):
                    shifted = builder.lshr(both, every(4)) if half else both
                    total = totals[2 * part + half]
                    bytes_ = builder.and_(shifted, every(0x0F0F0F0F))
                    builder.store(builder.call(add_products, [builder.load(total), bytes_, factors]), total)
                _fetch_ahead(builder, start, LINE)
        for part in range(LANES // 16):
            start = builder.bitcast(builder.gep(results.data, [offset(16 * part)]), vector.as_pointer())
            lower, upper = (builder.load(total) for total in totals[2 * part : 2 * part + 2])
            builder.store(builder.add(lower, upper), start, align=4)
        return context.get_dummy_value()

    return types.void(small, quads, types.intp, sums), generate

"""The largest logit of a linear layer, with most of its rows ruled out by bounds from 4 bits of every weight.

A large layer takes as long for one hidden state as its weights take to come from memory. The best row is found sooner
if most rows can be told not to be it from an eighth of that. It needs CPUs that multiply 4 bits fast enough. What is
compiled stands in this one file, because numba's cache looks for changes in the file of a function alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic
from numpy.typing import NDArray

from trellex.trellis.kernels import compiled, compiled_maxima, compiled_sums

LANES = 64  # rows side by side
AHEAD = 4096  # bytes from a weight to the one to be fetched meanwhile: CPUs do not look beyond a page themselves
LINE = 64  # bytes that come from memory together
LEVELS = 7  # the largest weight in 4 bits
BYTE = 127  # the largest unit of a hidden state in 8 bits
TINY = 1e-30  # hidden states below it add nothing to a logit, and their inverse overflows
SURE = 6.0  # a logit exceeds its bound with a probability of at most exp(−SURE² / 2)
SEED = 20170730  # of the dither, the same each time

Floats = NDArray[Any]


def is_supported() -> bool:
    """Whether numba compiles for CPUs with AVX-512 VNNI, which adds up four products of bytes at once."""
    _, _, features = cpu_target.target_context.codegen().magic_tuple()
    return "+avx512vnni" in features


class PrunedArgmax:
    """The best row but the last, and how much the last one exceeds it.

    Weights are rounded to one of 15 levels after a dither of up to half a level was added, drawn at random for each
    unit, the same for all rows, and taken off again after the multiplication. Whatever the weights, the errors of a
    row's units are then independent and uniform within half a level's width. As sinh x / x ≤ exp(x² / 6), Σ error · h
    exceeds k · |h| · width / √12 with a probability of at most exp(−k² / 2), unless weights or h were made to meet
    this dither. That h is rounded, too, adds at most half a step times Σ |level|.

    Args:
        weight: [W, H] in single precision
        bias: [W]
    """

    def __init__(self, weight: Floats, bias: Floats) -> None:
        rows, size = weight.shape
        widths = np.maximum(np.abs(weight).max(1), np.finfo(np.float32).tiny) / (LEVELS - 0.5)
        dither = np.random.default_rng(SEED).random(size, np.float32) - np.float32(0.5)
        levels = np.rint(weight / widths[:, None] + dither).astype(np.int8)
        padded = np.pad(levels + LEVELS, ((0, -rows % LANES), (0, -size % 8))).astype(np.uint8)
        quads = padded.reshape(-1, LANES, padded.shape[1] // 8, 2, 4).transpose(3, 0, 2, 1, 4)
        columns = widths / BYTE, widths * np.abs(levels).sum(1, dtype=np.int64) * (0.5 / BYTE), widths * SURE / 12**0.5
        self._exact = np.ascontiguousarray(weight, np.float32), bias.astype(np.float32)
        # Two units in a byte [W / LANES, H / 8, LANES, 4]; the dither in levels [H]; by row [W] the scales of sums of
        # levels, what the rounding of h may add for max |h| = 1, and what errors of weights may add for |h| = 1.
        self._bounds = (
            np.ascontiguousarray(quads[0] | quads[1] << 4), dither, *(each.astype(np.float32) for each in columns)
        )  # fmt: skip

    def __call__(self, h: Floats) -> tuple[NDArray[np.int64], Floats]:
        """h [N, H] -> rows, leads [N]"""
        rows, leads = np.empty(len(h), np.int64), np.empty(len(h))
        best(h, *self._exact, *self._bounds, rows, leads)  # type: ignore[call-arg]
        return rows, leads


@compiled
def best(h, weight, bias, quads, dither, scales, rounding, slacks, rows, leads):
    """Rows whose bound is below the best logit so far are not looked at. h [N, H], weight [W, H] -> rows, leads [N]"""
    last = weight.shape[0] - 1
    small = np.zeros(8 * quads.shape[1], np.int8)
    bounds, highest_bounds = np.empty(last, np.float32), np.empty(len(quads), np.float32)
    for number in range(h.shape[0]):
        state = h[number]
        bound(state, small, quads, dither, scales, rounding, slacks, bias, bounds, highest_bounds)
        winner, highest = 0, np.float32(-np.inf)
        for turn in range(-1, len(quads)):  # where the highest bound is, then in order
            block = np.argmax(highest_bounds) if turn < 0 else turn
            if highest_bounds[block] >= highest:
                for row in range(block * LANES, min(block * LANES + LANES, last)):
                    if bounds[row] >= highest:
                        logit = _dot(state, weight[row]) + bias[row]
                        if logit > highest or (logit == highest and row < winner):
                            winner, highest = row, logit
        rows[number] = winner
        leads[number] = np.float64(_dot(state, weight[last]) + bias[last]) - np.float64(highest)


@compiled_sums
def _dot(a, b):
    """[H], [H] -> their product"""
    total = np.float32(0)
    for unit in range(a.shape[0]):
        total += a[unit] * b[unit]
    return total


@compiled_sums
def bound(h, small, quads, dither, scales, rounding, slacks, bias, bounds, highest_bounds):
    """What logits exceed with no more than the probability that SURE leaves, and the highest of each block.

    h [H] -> bounds [W], highest_bounds [W / LANES]; small: room for h in 8 bits  [H and zeros]
    """
    largest, squares, dithered, excess = np.float32(0), 0.0, 0.0, np.int32(0)
    for unit in range(len(h)):
        largest = max(largest, abs(h[unit]))
    steps = np.float32(BYTE) / largest if largest > TINY else np.float32(0)
    for unit in range(len(h)):
        small[unit] = np.int8(np.rint(h[unit] * steps))
        squares += np.float64(h[unit]) * np.float64(h[unit])
        dithered += np.float64(h[unit]) * dither[unit]
        excess += LEVELS * small[unit]
    norm, added = np.float32(np.sqrt(squares)), np.float32(dithered) * steps
    sums = np.empty(LANES, np.int32)
    for block in range(len(quads)):
        _add_quads(small, quads, block, sums)
        first = block * LANES
        for lane in range(min(LANES, len(bounds) - first)):
            row = first + lane
            total = np.float32(sums[lane] - excess) - added
            bounds[row] = (total * scales[row] + rounding[row]) * largest + bias[row] + slacks[row] * norm
        highest_bounds[block] = _highest(bounds[first : first + LANES])


@compiled_maxima
def _highest(values):
    """The maximum, −inf of none. values [W]"""
    highest = np.float32(-np.inf)
    for value in values:
        highest = max(highest, value)
    return highest


@intrinsic
def _add_quads(typing_context, small, quads, block, sums):
    """The sums of products with the rows of a block. small [H], quads [W / LANES, H / 8, LANES, 4] -> sums [LANES]

    A byte of `quads` holds a unit in its lower half and the one four places further in its upper.
    """

    def generate(context, builder, signature, arguments):
        inputs, weights, results = (
            context.make_array(signature.args[place])(context, builder, arguments[place]) for place in (0, 1, 3)
        )
        number, address = ir.IntType(32), ir.IntType(8).as_pointer()
        vector = ir.VectorType(number, 16)
        add_products = ir.FunctionType(vector, [vector, vector, vector])
        name = "llvm.x86.avx512.vpdpbusd.512"
        add_products = cgutils.get_or_insert_function(builder.module, add_products, name)
        prefetch = ir.FunctionType(ir.VoidType(), [address, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [address], prefetch)
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
                start = builder.gep(here, [offset(LINE * part)])
                both = builder.load(builder.bitcast(start, vector.as_pointer()), align=1)
                for half, factors in enumerate(units):
                    shifted = builder.lshr(both, every(4)) if half else both
                    total = totals[2 * part + half]
                    bytes_ = builder.and_(shifted, every(0x0F0F0F0F))
                    builder.store(builder.call(add_products, [builder.load(total), bytes_, factors]), total)
                ahead = builder.bitcast(builder.gep(start, [offset(AHEAD)]), address)
                builder.call(prefetch, [ahead, number(0), number(3), number(1)])  # to be read, and kept
        for part in range(LANES // 16):
            start = builder.bitcast(builder.gep(results.data, [offset(16 * part)]), vector.as_pointer())
            lower, upper = (builder.load(total) for total in totals[2 * part : 2 * part + 2])
            builder.store(builder.add(lower, upper), start, align=4)
        return context.get_dummy_value()

    return types.void(small, quads, types.intp, sums), generate

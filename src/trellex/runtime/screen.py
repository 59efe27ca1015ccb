"""A screen: from 4 bits of every weight, what the logits of a layer do not exceed.

A large layer takes as long for one hidden state as its weights take to come from memory. The best word is found sooner
if most words can be told not to be it from an eighth of that. It needs CPUs that multiply 4 bits fast enough.
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

from trellex.trellis.kernels import compiled_maxima, compiled_sums

LANES = 64  # words side by side
AHEAD = 4096  # bytes from a weight to the one to be fetched meanwhile: CPUs do not look beyond a page themselves
LINE = 64  # bytes that come from memory together
LEVELS = 7  # the largest weight in 4 bits
BYTE = 127  # the largest unit of a hidden state in 8 bits
SURE = 6.0  # a logit exceeds its bound with a probability of at most exp(−SURE² / 2)
SEED = 20170730  # of the random rounding to 4 bits, the same each time

Floats = NDArray[Any]


def multiplies_quads() -> bool:
    """Whether numba compiles for CPUs with AVX-512 VNNI, which adds up four products of bytes at once."""
    _, _, features = cpu_target.target_context.codegen().magic_tuple()
    return "+avx512vnni" in features


def screen_of(weight: Floats, bias: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The tables of `bound`.

    Weights go up or down to one of 15 levels at random, so that the mean is exact. Their errors are then independent,
    and by Hoeffding's inequality Σ error · h exceeds k · |h| · half a level's width with a probability of at most
    exp(−k² / 2), whatever weights and h are, as long as they were not made to meet these errors. That h is rounded,
    too, adds at most half a step times Σ |level|.

    weight [W, H] -> levels as bytes with two units each [W / LANES, H / 8, LANES, 4]; the scales of their sums [W];
    bias and what the rounding of h may add [W]; how much errors may add for |h| = 1 [W]
    """
    words, size = weight.shape
    widths = np.maximum(np.abs(weight).max(1), np.finfo(np.float32).tiny) / LEVELS
    chances = np.random.default_rng(SEED).random(weight.shape, np.float32)
    levels = np.clip(np.floor(weight / widths[:, None] + chances), -LEVELS, LEVELS).astype(np.int8)
    padded = np.pad(levels + LEVELS, ((0, -words % LANES), (0, -size % 8))).astype(np.uint8)
    quads = padded.reshape(-1, LANES, padded.shape[1] // 8, 2, 4).transpose(3, 0, 2, 1, 4)
    ceilings = bias + widths * np.abs(levels).sum(1, dtype=np.int64) * (0.5 / BYTE)
    columns = np.stack([widths / BYTE, ceilings, widths * (SURE / 2)]).astype(np.float32)
    return np.ascontiguousarray(quads[0] | quads[1] << 4), columns[0], columns[1], columns[2]


@compiled_sums
def bound(h, small, steps, quads, quad_scales, ceilings, slacks, bounds, highest_bounds):
    """What logits exceed with no more than the probability that SURE leaves, and the highest of each block.

    h [H and zeros] -> bounds [W], highest_bounds [W / LANES]
    small: room for hidden states in 8 bits  [H and zeros]
    steps: what stands for 1 in h
    """
    squares, excess = 0.0, np.int32(0)
    for unit in range(min(len(h), len(small))):
        small[unit] = np.int8(np.rint(h[unit] * (np.float32(BYTE) / steps)))
        squares += np.float64(h[unit]) * np.float64(h[unit])
        excess += LEVELS * small[unit]
    norm = np.float32(np.sqrt(squares)) / steps
    sums = np.empty(LANES, np.int32)
    for block in range(len(quads)):
        _add_quads(small, quads, block, sums)
        first = block * LANES
        for lane in range(min(LANES, len(bounds) - first)):
            word = first + lane
            bounds[word] = (sums[lane] - excess) * quad_scales[word] + ceilings[word] + slacks[word] * norm
        highest_bounds[block] = _highest(bounds[first : first + LANES])


@compiled_maxima
def _highest(values):
    """The maximum, −inf of none. values [W]"""
    highest = np.float32(-np.inf)
    for value in values:
        highest = max(highest, value)
    return highest


def fetch_ahead(builder, place, size):
    """Ask for `size` bytes that will be needed when as many as AHEAD have been read."""
    number, address = ir.IntType(32), ir.IntType(8).as_pointer()
    prefetch = ir.FunctionType(ir.VoidType(), [address, number, number, number])
    prefetch = builder.module.declare_intrinsic("llvm.prefetch", [address], prefetch)
    place, to_read, to_keep, data = builder.bitcast(place, address), number(0), number(3), number(1)
    for line in range(AHEAD, AHEAD + size, LINE):
        builder.call(prefetch, [builder.gep(place, [number(line)]), to_read, to_keep, data])


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
                fetch_ahead(builder, start, LINE)
        for part in range(LANES // 16):
            start = builder.bitcast(builder.gep(results.data, [offset(16 * part)]), vector.as_pointer())
            lower, upper = (builder.load(total) for total in totals[2 * part : 2 * part + 2])
            builder.store(builder.add(lower, upper), start, align=4)
        return context.get_dummy_value()

    return types.void(small, quads, types.intp, sums), generate

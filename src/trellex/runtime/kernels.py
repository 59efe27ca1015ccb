"""Compiled code of a hybrid's softmax layer.

It stands in one file, because numba's cache looks for changes in the file of a function alone, not where what it calls
comes from.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from trellex.trellis.kernels import compiled, compiled_maxima, compiled_sums

LANES = 64  # products of a row side by side, or words
AHEAD = 4096  # bytes from a weight to the one to be fetched meanwhile: CPUs do not look beyond a page themselves
LINE = 64  # bytes that come from memory together
LEVELS = 7  # the largest weight in 4 bits
BYTE = 127  # the largest unit of a hidden state in 8 bits


@compiled
def logits(h, weight, scales, bias, steps, found):
    """h [N, H], weight [W, H and zeros] -> found [N, W]"""
    taken = np.zeros(weight.shape[1], weight.dtype)
    for row in range(h.shape[0]):
        _take(h[row], steps, taken)
        for word in range(weight.shape[0]):
            found[row, word] = _logit(taken, weight, scales, bias, word)


@compiled
def best(h, weight, scales, bias, steps, words, leads):
    """h [N, H], weight [W, H and zeros] -> words [N], leads [N]; whether a lead is above 0"""
    taken = np.zeros(weight.shape[1], weight.dtype)
    other = weight.shape[0] - 1
    for row in range(h.shape[0]):
        _take(h[row], steps, taken)
        winner, highest = 0, np.float32(-np.inf)
        for word in range(other):
            logit = _logit(taken, weight, scales, bias, word)
            if logit > highest:
                winner, highest = word, logit
        words[row] = winner
        leads[row] = _logit(taken, weight, scales, bias, other) - np.float64(highest)
    return (leads > 0).any()


@compiled
def best_screened(h, weight, scales, bias, steps, quads, dither, quad_scales, ceilings, slacks, words, leads):
    """`best` with the tables of `screen_of`: words whose bound is below the best logit so far are not looked at.

    h [N, H], weight [W, H and zeros] -> words [N], leads [N]; whether a lead is above 0
    """
    taken, small = np.zeros(weight.shape[1], weight.dtype), np.zeros(8 * quads.shape[1], np.int8)
    other = weight.shape[0] - 1
    bounds, highest_bounds = np.empty(other, np.float32), np.empty(len(quads), np.float32)
    for row in range(h.shape[0]):
        _take(h[row], steps, taken)
        bound(taken, small, steps, quads, dither, quad_scales, ceilings, slacks, bounds, highest_bounds)
        winner, highest = 0, np.float32(-np.inf)
        for turn in range(-1, len(quads)):  # where the highest bound is, then in order
            block = np.argmax(highest_bounds) if turn < 0 else turn
            if highest_bounds[block] >= highest:
                for word in range(block * LANES, min(block * LANES + LANES, other)):
                    if bounds[word] >= highest:
                        logit = _logit(taken, weight, scales, bias, word)
                        if logit > highest or (logit == highest and word < winner):
                            winner, highest = word, logit
        words[row] = winner
        leads[row] = _logit(taken, weight, scales, bias, other) - np.float64(highest)
    return (leads > 0).any()


@compiled
def _take(h, steps, taken):
    """Numbers within ±1 as weights are: as they are, or in 16 bits as whole numbers of steps. h [H] -> [H and zeros]"""
    for unit in range(h.shape[0]):
        taken[unit] = np.rint(h[unit] * steps) if taken.itemsize == 2 else h[unit]


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
            _fetch_ahead(builder, here, LANES * size)
        first, name = ([number(0.0)], f"fadd.v{LANES}f32") if is_float else ([], f"add.v{LANES}i32")
        add_up = ir.FunctionType(number, [*(each.type for each in first), vector])
        add_up = cgutils.get_or_insert_function(builder.module, add_up, f"llvm.vector.reduce.{name}")
        return builder.call(add_up, [*first, builder.load(sums)], fastmath=any_order if is_float else ())

    return (types.float32 if is_float else types.int32)(taken, weight, types.intp), generate


@compiled_sums
def bound(h, small, steps, quads, dither, quad_scales, ceilings, slacks, bounds, highest_bounds):
    """What logits exceed with no more than the probability that SURE leaves, and the highest of each block.

    h [H and zeros] -> bounds [W], highest_bounds [W / LANES]
    small: room for hidden states in 8 bits  [H and zeros]
    steps: what stands for 1 in h
    """
    squares, dithered, excess = 0.0, 0.0, np.int32(0)
    for unit in range(min(len(h), len(small))):
        small[unit] = np.int8(np.rint(h[unit] * (np.float32(BYTE) / steps)))
        squares += np.float64(h[unit]) * np.float64(h[unit])
        dithered += np.float64(h[unit]) * dither[unit]
        excess += LEVELS * small[unit]
    norm, added = np.float32(np.sqrt(squares)) / steps, np.float32(dithered * BYTE) / steps
    sums = np.empty(LANES, np.int32)
    for block in range(len(quads)):
        _add_quads(small, quads, block, sums)
        first = block * LANES
        for lane in range(min(LANES, len(bounds) - first)):
            word = first + lane
            total = np.float32(sums[lane] - excess) - added
            bounds[word] = total * quad_scales[word] + ceilings[word] + slacks[word] * norm
        highest_bounds[block] = _highest(bounds[first : first + LANES])


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

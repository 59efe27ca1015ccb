"""Products with rows of weights in 8 bits or single precision, and the best word on the best shelves, compiled.

CPUs with AVX-512 VNNI multiply bytes by an instruction of theirs, others by plain loops that give the same sums. What
is compiled stands in this one file, because numba's cache looks for changes in the file of a function alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from trellex.trellis.kernels import compiled, compiled_maxima

ZERO = 128  # the byte that stands for the weight 0
BYTE = 127  # the largest unit of a hidden state in 8 bits
LINE = 64  # bytes that come from memory together, and that one instruction multiplies
AHEAD = 4096  # bytes from a weight to the one to be fetched meanwhile
TINY = 1e-30  # hidden states below it add nothing, and their inverse overflows
ANY_ORDER: Any = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}  # of sums


@compiled
def multiply(h, weight, scales, bias, fast, products):
    """h [N, H], weight [O, H], scales, bias [O] -> products [N, O]

    fast: None unless the CPU has the instruction
    """
    states = _states(h, weight)
    for output in range(weight.shape[0]):
        for row in range(h.shape[0]):
            products[row, output] = _product(states, row, weight[output], scales[output], fast, AHEAD) + bias[output]


@compiled
def score_words(h, shelves, vectors, scales, bias, fast, scores):
    """h [N, H], shelves [N, K], vectors [S, W, H], scales, bias [S, W] -> scores [N, K, W]"""
    states = _states(h, vectors)
    for row in range(h.shape[0]):
        for rank in range(shelves.shape[1]):
            _score_shelf(states, row, shelves[row], rank, vectors, scales, bias, fast, scores[row, rank])


@compiled
def best_word(
    shelf_weight, shelf_scales, shelf_bias, places, vectors, scales, bias, visit, blend, fast, h, shelves, on_shelves
):
    """The best word of each row by its shelf and its place on that. h [N, H] -> shelves, on_shelves [N]

    It is sought on the shelves that are visited. That it is no less probable than the next shelf is known without the
    trellis' normaliser, which both have. Returns the first row in which it may be less, or where a logit is NaN, or −1.

    shelf_weight, shelf_scales, shelf_bias: of the trellis' logits  [L, H], [L], [L]
    places: which logit the highest bit of a number adds to the score of the number without it  [S]
    vectors, scales, bias: of words, −inf where a place is empty  [S, W, H], [S, W], [S, W]
    """
    logits = np.empty(shelf_weight.shape[0], np.float32)
    all_scores, values = np.empty(len(places)), np.empty((visit, vectors.shape[1]), np.float32)
    best_shelves, best_scores = np.empty(visit + 1, np.int64), np.empty(visit + 1)
    states = _states(h, vectors)
    for row in range(h.shape[0]):
        for output in range(len(logits)):
            weight, scale = shelf_weight[output], shelf_scales[output]
            logits[output] = _product(states, row, weight, scale, fast, AHEAD) + shelf_bias[output]
        if not _score_all(logits, places, all_scores):
            return row
        _select(all_scores, best_shelves, best_scores)
        highest = -math.inf
        for rank in range(visit):
            _score_shelf(states, row, best_shelves[:visit], rank, vectors, scales, bias, fast, values[rank])
            added = best_scores[rank] if blend else 0.0
            for place in range(values.shape[1]):
                value = values[rank, place] + added
                if value > highest:
                    highest, shelves[row], on_shelves[row] = value, best_shelves[rank], place
        if not _surpasses_others(values, best_scores, highest, blend):
            return row
    return -1


@compiled
def _score_all(logits, places, scores):
    """The scores of all shelves. logits [L], places [S] -> scores [S]; False if a logit is NaN"""
    scores[0], half = 0.0, 1
    while half < len(places):
        for number in range(half):
            scores[half + number] = scores[number] + logits[places[half + number]]
        half *= 2
    bad = 0.0
    for place in range(len(logits)):
        bad += logits[place] * 0
    return bad == 0


@compiled
def _select(scores, numbers, best):
    """The highest scores, highest first; of equals the lower number is first. scores [S] -> [K + 1] twice

    The last is −inf if there are no more than K.
    """
    best[:] = -math.inf
    last = len(best) - 1
    for number in range(len(scores)):
        if scores[number] > best[last]:
            place = last
            while place > 0 and scores[number] > best[place - 1]:
                best[place], numbers[place] = best[place - 1], numbers[place - 1]
                place -= 1
            best[place], numbers[place] = scores[number], number


@compiled
def _surpasses_others(values, scores, highest, blend):
    """Whether the best of visited words is at least as probable as any shelf that is not visited.

    values [K, W], scores of shelves, that of the next one last [K + 1]
    """
    visit = len(scores) - 1
    visited = 0.0
    for rank in range(visit):
        visited += math.exp(scores[rank] - scores[0])
    most = visited * math.exp(scores[0] - scores[visit])  # P(visited) / P(next shelf)
    if values.size <= most:
        return True
    total = 0.0
    for rank in range(visit):
        shift = highest - scores[rank] if blend else highest
        for place in range(values.shape[1]):
            total += math.exp(values[rank, place] - shift)
    return total <= most


@compiled
def _score_shelf(states, number, shelves, rank, vectors, scales, bias, fast, scores):
    """f of the words of one of some shelves, while those of the next are fetched. shelves [K] -> scores [W]"""
    shelf, following = shelves[rank], shelves[min(rank + 1, len(shelves) - 1)]
    ahead = (following - shelf) * vectors.shape[1] * vectors.shape[2] * vectors.itemsize
    for place in range(vectors.shape[1]):
        product = _product(states, number, vectors[shelf, place], scales[shelf, place], fast, ahead)
        scores[place] = product + bias[shelf, place]


def _states(h, weight):
    """Hidden states as they are multiplied: units, the size of a step of theirs, what a sum of products has in excess.

    h [N, H] -> [N, H], [N], [N]
    """


@overload(_states)
def _states_of_kind(h, weight):
    if isinstance(weight.dtype, types.Float):
        return lambda h, weight: (h, np.ones(len(h), np.float32), np.zeros(len(h), np.float32))
    return lambda h, weight: _in_bytes(h)


@compiled
def _in_bytes(h):
    """Rounded, each row to its own step, which is NaN if a unit is not finite. h [N, H] -> [N, H], [N], [N]"""
    small = np.empty(h.shape, np.int8)
    sizes, excess = np.empty(len(h), np.float32), np.empty(len(h), np.int32)
    for row in range(len(h)):
        largest = _largest(h[row])
        steps = np.float32(BYTE) / largest if largest > TINY else np.float32(0)
        total, bad = np.int32(0), np.float32(0)
        for unit in range(h.shape[1]):
            small[row, unit] = np.int8(np.rint(h[row, unit] * steps))
            total += np.int32(small[row, unit])
            bad += h[row, unit] * np.float32(0)
        sizes[row], excess[row] = largest / np.float32(BYTE) + bad, ZERO * total
    return small, sizes, excess


@compiled_maxima
def _largest(h):
    largest = np.float32(0)
    for unit in range(len(h)):
        largest = max(largest, abs(h[unit]))
    return largest


@compiled
def _product(states, number, row, scale, fast, ahead):
    """One of the states times a row of weights, while what is so many bytes ahead is fetched."""
    units, steps, excess = states
    return np.float32(_dot(units[number], row, fast, ahead) - excess[number]) * (steps[number] * scale)


def _dot(units, row, fast, ahead):
    """[H], [H] -> the sum of their products"""


@overload(_dot, jit_options=ANY_ORDER)
def _dot_of_kind(units, row, fast, ahead):
    if isinstance(units.dtype, types.Float):
        return _dot_of_numbers
    return _dot_of_bytes if isinstance(fast, types.NoneType) else _dot_of_lines


def _dot_of_numbers(units, row, fast, ahead):
    total = np.float32(0)
    for unit in range(len(units)):
        total += units[unit] * row[unit]
    return total


def _dot_of_bytes(units, row, fast, ahead):
    total = np.int32(0)
    for unit in range(len(units)):
        total += np.int32(units[unit]) * np.int32(row[unit])
    return total


def _dot_of_lines(units, row, fast, ahead):
    total = _add_lines(units, row, ahead)
    for unit in range(len(units) // LINE * LINE, len(units)):
        total += np.int32(units[unit]) * np.int32(row[unit])
    return total


@intrinsic
def _add_lines(typing_context, units, row, ahead):
    """The sum of products over all whole lines. units: signed bytes [H], row: unsigned bytes [H]"""

    def generate(context, builder, signature, arguments):
        factors, weights = (
            context.make_array(signature.args[place])(context, builder, arguments[place]) for place in (0, 1)
        )
        number, address = ir.IntType(32), ir.IntType(8).as_pointer()
        vector = ir.VectorType(number, LINE // 4)
        add_products = ir.FunctionType(vector, [vector, vector, vector])
        name = "llvm.x86.avx512.vpdpbusd.512"
        add_products = cgutils.get_or_insert_function(builder.module, add_products, name)
        prefetch = ir.FunctionType(ir.VoidType(), [address, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [address], prefetch)
        add_up = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(number, [vector]), "llvm.vector.reduce.add.v16i32"
        )
        width = builder.extract_value(factors.shape, 0)
        offset = width.type
        total = cgutils.alloca_once_value(builder, ir.Constant(vector, [0] * (LINE // 4)))
        end = builder.and_(width, offset(-LINE))
        with cgutils.for_range_slice(builder, offset(0), end, offset(LINE)) as (unit, _):
            here = builder.gep(weights.data, [unit])
            start = builder.gep(factors.data, [unit])
            bytes_, signed = (
                builder.load(builder.bitcast(each, vector.as_pointer()), align=1) for each in (here, start)
            )
            builder.store(builder.call(add_products, [builder.load(total), bytes_, signed]), total)
            fetched = builder.bitcast(builder.gep(here, [arguments[2]]), address)
            builder.call(prefetch, [fetched, number(0), number(2), number(1)])  # to be read, into the second cache
        return builder.call(add_up, [builder.load(total)])

    return types.int32(units, row, types.intp), generate

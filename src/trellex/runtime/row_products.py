"""Products with rows of weights in 8 bits or single precision, and the best words of shelves and trees, compiled.

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

from trellex.trellis.kernels import compiled, compiled_maxima, compiled_sums

ZERO = 128  # the byte that stands for the weight 0
BYTE = 127  # the largest unit of a hidden state in 8 bits
LINE = 64  # bytes that come from memory together, and that one instruction multiplies
ABREAST = 4  # rows whose lines are multiplied in turn
TOGETHER = 64  # rows that all states are multiplied with before the next
AHEAD = 4096  # bytes from a weight to the one to be fetched meanwhile: CPUs do not look beyond a page themselves
TINY = 1e-30  # hidden states below it add nothing, and their inverse overflows
ROUNDING = np.float32(3 << 22)  # what is added to a number in single precision loses its fraction
ANY_ORDER: Any = {"fastmath": {"contract", "reassoc"}, "error_model": "numpy"}  # of sums


@compiled
def multiply(h, weight, scales, bias, fast, products):
    """A linear layer. h [N, H], weight [R, H], scales, bias [R] -> products [N, R]

    fast: None unless the CPU has the instruction
    """
    _multiply(*_states(h, weight), weight, scales, bias, fast, products)


@compiled
def score_words(h, shelves, scores, *words):
    """f of all words of some shelves. h [N, H], shelves [N, K] -> scores [N, K, W]

    words: the fields of `Rows` of all words, shelf by shelf, which are unpacked because calls are sooner made so; or
        `ShelvedParts`, what such rows are composed from
    """
    states = _read(h, words)
    for number in range(len(h)):
        _visit(states, number, shelves[number], words, scores[number])


@compiled
def score_lists(h, sentence, begins, weight, scales, bias, fast, scores):
    """Products with the rows of a list, that of each state's sentence. h [N, H], weight [R, H] -> scores [N, L]

    sentence: of each state  [N]; begins: the first row of each sentence's list, and the end  [S + 1]
    """
    units, steps, excess = _states(h, weight)
    for number in range(len(h)):
        first, last = begins[sentence[number]], begins[sentence[number] + 1]
        state = units[number], steps[number], excess[number]
        _add_products(*state, weight, scales, bias, first, fast, AHEAD, scores[number, : last - first])


@compiled
def best_listed(h, sentence, begins, weight, scales, bias, fast, places):
    """The row with the largest of those products, −1 if one is not finite. h [N, H], weight [R, H] -> places [N]"""
    units, steps, excess = _states(h, weight)
    scores = np.empty(len(bias), np.float32)
    for number in range(len(h)):
        first, last = begins[sentence[number]], begins[sentence[number] + 1]
        state, own = (units[number], steps[number], excess[number]), scores[: last - first]
        _add_products(*state, weight, scales, bias, first, fast, AHEAD, own)
        best, highest = np.int64(-1), np.float32(-np.inf)
        for place in range(len(own)):
            if own[place] > highest:
                best, highest = first + place, own[place]
        places[number] = best if _nothing(own) == 0 else -1


@compiled
def best_shelves(logits, places, shelves):
    """The most probable shelves, best first. logits [N, L], places [S] -> shelves [N, K]; False if one is not finite"""
    all_scores, scores = np.empty(len(places)), np.empty(shelves.shape[1])
    for number in range(len(logits)):
        if not _score_all(logits[number], places, all_scores):
            return False
        _select(all_scores, shelves[number], scores)
    return True


@compiled
def log_probs_of_shelves(logits, places, shelves, log_probs):
    """log P(s). logits [N, L], places [S], shelves [N, K] -> log_probs [N, K]; False if a logit is not finite"""
    scores = np.empty((1, len(places)))
    for number in range(len(logits)):
        if not _score_all(logits[number], places, scores[0]):
            return False
        highest = np.max(scores)
        log_sum = math.log(_sum_of_odds(scores, highest))
        for rank in range(shelves.shape[1]):
            log_probs[number, rank] = scores[0, shelves[number, rank]] - highest - log_sum
    return True


@compiled
def best_words(trellis_weight, trellis_scales, trellis_bias, fast, places, visit, h, projected, best, *words):
    """The best word of every row, by its place among those of all shelves. h [N, H], projected [N, E] -> best [N]

    It is sought on the shelves that are visited and then, as long as the next shelf is more probable than the best
    word, on that. All probabilities are relative to that of the best shelf: to compare them needs no normaliser, and
    however large scores are, differences keep their digits. Returns whether all is well; where a logit or a score is
    not finite the word is −1.

    trellis_weight, trellis_scales, trellis_bias, fast: `Rows` of its logits
    places: which logit the highest bit of a number adds to the score of the number without it  [S]
    words: as for `score_words`; their bias is −inf where there is none
    """
    width = _count(words) // len(places)
    all_scores, values = np.empty(len(places)), np.empty((visit, width))
    shelves, scores = np.empty(visit + 1, np.int64), np.empty(visit + 1)
    logits = np.empty((len(h), len(trellis_bias)), np.float32)
    _multiply(*_states(h, trellis_weight), trellis_weight, trellis_scales, trellis_bias, fast, logits)
    states = _read(projected, words)
    is_well = True
    for number in range(len(h)):
        best[number] = -1
        if not _score_all(logits[number], places, all_scores):
            is_well = False
            continue
        _select(all_scores, shelves, scores)
        highest = scores[0]
        scores -= highest
        _visit(states, number, shelves[:visit], words, values)
        word, log_prob = _best_visited(values, shelves, scores)
        while log_prob < scores[visit]:
            _visit(states, number, shelves[visit:], words, values)
            place = np.argmax(values[0])
            rival = scores[visit] - math.log(_sum_of_odds(values[:1], values[0, place]))
            if rival > log_prob:
                word, log_prob = shelves[visit] * width + place, rival
            shelves[visit], score = _following(all_scores, shelves[visit])
            scores[visit] = score - highest
        if math.isnan(log_prob):
            is_well = False
        else:
            best[number] = word
    return is_well


@compiled
def best_leaves(weight, scales, bias, fast, children, h, leaves, log_probs):
    """The most probable leaves of a tree, best first, −1 and −inf where there are no more. h [N, H] -> [N, k] twice

    Prefixes wait in a heap. The best is followed until it is no more probable than the last of the leaves.

    weight, scales, bias: of nodes, whose logits say how probable the second child is  [V − 1, H], [V − 1], [V − 1]
    children: nodes, or leaves as −1 − leaf  [V − 1, 2]
    """
    units, steps, excess = _states(h, weight)
    scores, nodes, logit = np.empty(64), np.empty(64, np.int64), np.empty(1, np.float32)
    for number in range(len(h)):
        own, best = leaves[number], log_probs[number]
        own[:], best[:] = -1, -math.inf
        scores[0], nodes[0], size = 0.0, 0, 1
        while size > 0 and scores[0] > best[-1]:
            score, node = scores[0], nodes[0]
            size -= 1
            _sink(scores, nodes, size)
            _add_products(units[number], steps[number], excess[number], weight, scales, bias, node, fast, 0, logit)
            for bit in range(2):
                child, child_score = children[node, bit], score + _log_sigmoid((2 * bit - 1) * np.float64(logit[0]))
                if not child_score > best[-1]:
                    continue
                if child < 0:
                    _insert(best, own, child_score, -1 - child)
                    continue
                if size == len(scores):
                    scores, nodes = np.concatenate((scores, scores)), np.concatenate((nodes, nodes))
                _rise(scores, nodes, size, child_score, child)
                size += 1


@compiled
def _log_sigmoid(logit):
    return min(logit, 0.0) - math.log1p(math.exp(-abs(logit)))


@compiled
def _insert(best, numbers, score, number):
    """Into what is sorted, highest first; of equals the newer is last, and what was last is lost. best, numbers [k]"""
    place = len(best) - 1
    while place > 0 and score > best[place - 1]:
        best[place], numbers[place] = best[place - 1], numbers[place - 1]
        place -= 1
    best[place], numbers[place] = score, number


@compiled
def _rise(scores, nodes, place, score, node):
    """Add to a heap of the size `place`, whose highest score is first."""
    while place > 0 and score > scores[(place - 1) // 2]:
        scores[place], nodes[place] = scores[(place - 1) // 2], nodes[(place - 1) // 2]
        place = (place - 1) // 2
    scores[place], nodes[place] = score, node


@compiled
def _sink(scores, nodes, size):
    """Take the first from a heap, of which `size` are left, and put the last in its place."""
    score, node, place, below = scores[size], nodes[size], 0, 1
    while below < size:
        if below + 1 < size and scores[below + 1] > scores[below]:
            below += 1
        if scores[below] <= score:
            break
        scores[place], nodes[place] = scores[below], nodes[below]
        place, below = below, 2 * below + 1
    scores[place], nodes[place] = score, node


@compiled
def _score_all(logits, places, scores):
    """The scores of all shelves. logits [L], places [S] -> scores [S]; False if a logit is not finite"""
    scores[0], half = 0.0, 1
    while half < len(places):
        for number in range(half):
            scores[half + number] = scores[number] + logits[places[half + number]]
        half *= 2
    return _nothing(logits) == 0


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
def _best_visited(values, shelves, scores):
    """The best of visited words by its place, and its log-probability, or inf if no other shelf is more probable.

    values [K, W]; shelves and their scores relative to the best, those of the next one last  [K + 1]
    """
    visit, width = values.shape
    best, highest, visited = np.int64(-1), -math.inf, 0.0
    for rank in range(visit):
        for place in range(width):
            if values[rank, place] > highest:
                best, highest = shelves[rank] * width + place, values[rank, place]
        visited += math.exp(scores[rank])
    odds_of_next = math.exp(scores[visit])
    if _bound(values.reshape(-1), highest) * odds_of_next <= visited:
        return best, math.inf
    return best, math.log(visited / _sum_of_odds(values, highest))


@compiled
def _sum_of_odds(values, highest):
    """Σ exp(value − highest)"""
    total = 0.0
    for value in values.flat:
        total += math.exp(value - highest)
    return total


@compiled
def _following(scores, number):
    """What comes after a number in the order of `_select`, and its score, −inf after the last. scores [S]"""
    found, highest, last = np.int64(-1), -math.inf, scores[number]
    for other in range(len(scores)):
        score = scores[other]
        if score > highest and (score < last or (score == last and other > number)):
            found, highest = other, score
    return found, highest


@compiled_sums
def _bound(values, highest):
    """At least Σ exp(value − highest), soon computed: exp(−x) ≤ (1 + x / 32)^−32. values [N]"""
    total = np.float32(0)
    for place in range(len(values)):
        power = np.float32(1) + np.float32(highest - values[place]) * np.float32(1 / 32)
        for _ in range(5):
            power *= power
        total += np.float32(1) / power
    return total * np.float32(1.001)  # rounding


@compiled
def _multiply(units, steps, excess, weight, scales, bias, fast, products):
    """All states times all rows, some of those at a time, which then stay in the cache. -> products [N, R]"""
    for first in range(0, len(bias), TOGETHER):
        for number in range(len(units)):
            sums = products[number, first : first + TOGETHER]
            state = units[number], steps[number], excess[number]
            _add_products(*state, weight, scales, bias, first, fast, AHEAD, sums)


def _read(h, words):
    """What is known of hidden states before any word is scored: those of `_states`, and what parts need besides."""


@overload(_read)
def _read_for_kind(h, words):
    return _read_for_parts if len(words) == 1 else _read_for_rows


def _read_for_rows(h, words):
    return _states(h, words[0])


def _read_for_parts(h, words):
    """And the products with all windows [N, T], and with what residuals are multiplied by [N, R]"""
    windows, project = words[0].windows, words[0].project
    of_windows = np.empty((len(h), len(windows.bias)), np.float32)
    of_residuals = np.empty((len(h), len(project.bias)), np.float32)
    states = _states(h, windows.weight)
    _multiply(*states, windows.weight, windows.scales, windows.bias, windows.fast, of_windows)
    of_project = _states(h, project.weight)
    _multiply(*of_project, project.weight, project.scales, project.bias, project.fast, of_residuals)
    return states[0], states[1], states[2], of_windows, of_residuals


def _count(words):
    """How many there are, places without a word included."""


@overload(_count)
def _count_of_kind(words):
    return (lambda words: len(words[0].bias)) if len(words) == 1 else (lambda words: len(words[2]))


def _visit(states, number, shelves, words, scores):
    """f of the words of some shelves, for one of the states. shelves [K] -> scores [K, W]"""


@overload(_visit, jit_options=ANY_ORDER)
def _visit_for_kind(states, number, shelves, words, scores):
    return _visit_parts if len(words) == 1 else _visit_rows


def _visit_rows(states, number, shelves, words, scores):
    """Those of the next shelf are fetched meanwhile."""
    weight, scales, bias, fast = words
    state = states[0][number], states[1][number], states[2][number]
    row_bytes = scores.shape[1] * weight.shape[1] * weight.itemsize
    for rank in range(len(shelves)):
        shelf, following = shelves[rank], shelves[min(rank + 1, len(shelves) - 1)]
        first, ahead = shelf * scores.shape[1], (following - shelf) * row_bytes
        _add_products(*state, weight, scales, bias, first, fast, ahead, scores[rank])


def _visit_parts(states, number, shelves, words, scores):
    (parts,), (units, steps, excess, of_windows, of_residuals) = words, states
    windows, residual, own = of_windows[number], of_residuals[number], parts.own
    width, sums = scores.shape[1], np.empty(scores.shape[1], np.float32)
    for rank in range(len(shelves)):
        shelf, found = shelves[rank], scores[rank]
        if len(parts.numbers):
            _add_windows(windows, parts.layout, parts.numbers[shelf * width : (shelf + 1) * width], found)
        else:
            _add_windows_of_shelf(windows, parts.layout, shelf, parts.shelf_bits, found)
        for place in range(width):
            total, row = np.float32(0), shelf * width + place
            for column in range(len(residual)):
                total += residual[column] * np.float32(parts.residuals[row, column])
            found[place] += total + parts.bias[row]
        first, end = parts.own_begins[shelf], parts.own_begins[shelf + 1]
        if first < end:
            state, of_own = (units[number], steps[number], excess[number]), sums[: end - first]
            _add_products(*state, own.weight, own.scales, own.bias, first, own.fast, 0, of_own)
            for place in range(first, end):
                found[parts.own_places[place]] += sums[place - first]


@compiled
def _add_windows(windows, layout, numbers, found):
    """The sums over the windows of words, by their numbers. numbers [W] -> found [W]"""
    for place in range(len(found)):
        found[place] = 0.0
        for bit in range(layout.shape[1]):
            found[place] += windows[_window(layout, bit, numbers[place])]


@compiled
def _add_windows_of_shelf(windows, layout, shelf, shelf_bits, found):
    """The same where shelf and place are the number: the bits of the shelf once, those of places by doubling."""
    found[0] = 0.0
    for bit in range(shelf_bits):
        found[0] += windows[_window(layout, bit, shelf)]
    for bit in range(shelf_bits, layout.shape[1]):
        half = 1 << (bit - shelf_bits)
        for place in range(min(half, len(found))):
            score, code = found[place], shelf + (place << shelf_bits)
            if place + half < len(found):
                found[place + half] = score + windows[_window(layout, bit, code + (1 << bit))]
            found[place] = score + windows[_window(layout, bit, code)]


@compiled
def _window(layout, bit, number):
    """The window of a number at one of its bits. layout: that of `Windows.layout`"""
    return layout[2, bit] + (number >> layout[0, bit] & layout[1, bit])


def _add_products(units, step, excess, weight, scales, bias, first, fast, ahead, sums):
    """A state times some rows of weights, while what is so many bytes ahead is fetched. units [H] -> sums [W]"""


@overload(_add_products, jit_options=ANY_ORDER)
def _add_products_of_kind(units, step, excess, weight, scales, bias, first, fast, ahead, sums):
    if isinstance(weight.dtype, types.Float):
        return _add_numbers
    return _add_bytes if isinstance(fast, types.NoneType) else _add_lines


def _add_numbers(units, step, excess, weight, scales, bias, first, fast, ahead, sums):
    for place in range(len(sums)):
        total = np.float32(0)
        for unit in range(len(units)):
            total += units[unit] * weight[first + place, unit]
        sums[place] = total + bias[first + place]


def _add_bytes(units, step, excess, weight, scales, bias, first, fast, ahead, sums):
    for place in range(len(sums)):
        total = np.int32(-excess)
        for unit in range(len(units)):
            total += np.int32(units[unit]) * np.int32(weight[first + place, unit])
        sums[place] = np.float32(total) * (step * scales[first + place]) + bias[first + place]


def _add_lines(units, step, excess, weight, scales, bias, first, fast, ahead, sums):
    totals, rest = np.empty(len(sums) + ABREAST, np.int32), len(units) // LINE * LINE
    for place in range(0, len(sums), ABREAST):
        _multiply_lines(units, weight, first + place, ahead, totals, place)
    for place in range(len(sums)):
        total = totals[place] - np.int32(excess)
        for unit in range(rest, len(units)):
            total += np.int32(units[unit]) * np.int32(weight[first + place, unit])
        sums[place] = np.float32(total) * (step * scales[first + place]) + bias[first + place]


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
    for number in range(len(h)):
        largest = _largest(h[number])
        steps = np.float32(BYTE) / largest if largest > TINY else np.float32(0)
        total = _round(h[number], steps, small[number])
        sizes[number], excess[number] = largest / np.float32(BYTE) + _nothing(h[number]), ZERO * total
    return small, sizes, excess


@compiled
def _round(h, steps, small):
    """h [H] -> small [H], and returns their sum"""
    total = np.int32(0)
    for unit in range(len(h)):
        rounded = np.int32(np.float32(h[unit] * steps) + ROUNDING - ROUNDING)
        small[unit] = rounded
        total += rounded
    return total


@compiled_sums
def _nothing(h):
    """0, or NaN if one is not finite. h [H]"""
    total = np.float32(0)
    for unit in range(len(h)):
        total += h[unit] * np.float32(0)
    return total


@compiled_maxima
def _largest(h):
    """The largest size of a number. h [H]"""
    largest = np.float32(0)
    for unit in range(len(h)):
        largest = max(largest, abs(h[unit]))
    return largest


@intrinsic
def _multiply_lines(typing_context, units, weight, row, ahead, totals, place):
    """Sums of products over all whole lines with four rows, the last one repeated if there are no more.

    units: signed bytes [H], weight: unsigned bytes [R, H] -> four of the totals from `place` on
    """

    def generate(context, builder, signature, arguments):
        factors, weights, results = (
            context.make_array(signature.args[number])(context, builder, arguments[number]) for number in (0, 1, 4)
        )
        whole, address = ir.IntType(32), ir.IntType(8).as_pointer()
        vector = ir.VectorType(whole, LINE // 4)
        add_products = ir.FunctionType(vector, [vector, vector, vector])
        name = "llvm.x86.avx512.vpdpbusd.512"
        add_products = cgutils.get_or_insert_function(builder.module, add_products, name)
        prefetch = ir.FunctionType(ir.VoidType(), [address, whole, whole, whole])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [address], prefetch)
        height, width = cgutils.unpack_tuple(builder, weights.shape, 2)
        offset = width.type

        def begin_of(number):
            wanted, last = builder.add(arguments[2], offset(number)), builder.sub(height, offset(1))
            row = builder.select(builder.icmp_signed("<", wanted, last), wanted, last)
            return builder.gep(weights.data, [builder.mul(row, width)])

        def line(begin, unit):
            return builder.load(builder.bitcast(builder.gep(begin, [unit]), vector.as_pointer()), align=1)

        def halved(left, right):
            """The sums of neighbours, those of the left vector first."""
            masks = [ir.Constant(ir.VectorType(whole, 16), list(range(start, 32, 2))) for start in (0, 1)]
            return builder.add(*(builder.shuffle_vector(left, right, mask) for mask in masks))

        begins = [begin_of(number) for number in range(ABREAST)]
        sums = [cgutils.alloca_once_value(builder, ir.Constant(vector, [0] * 16)) for _ in begins]
        end = builder.and_(width, offset(-LINE))
        with cgutils.for_range_slice(builder, offset(0), end, offset(LINE)) as (unit, _):
            signed = line(factors.data, unit)
            for begin, total in zip(begins, sums, strict=True):
                builder.store(builder.call(add_products, [builder.load(total), line(begin, unit), signed]), total)
                fetched = builder.bitcast(builder.gep(begin, [builder.add(unit, arguments[3])]), address)
                builder.call(prefetch, [fetched, whole(0), whole(2), whole(1)])  # to be read, into the second cache
        first, second, third, fourth = (builder.load(total) for total in sums)
        quarters = halved(halved(first, second), halved(third, fourth))
        quarters = halved(quarters, quarters)
        quarters = halved(quarters, quarters)
        four = ir.VectorType(whole, ABREAST)
        found = builder.shuffle_vector(quarters, quarters, ir.Constant(four, list(range(ABREAST))))
        place = builder.gep(results.data, [arguments[5]])
        builder.store(found, builder.bitcast(place, four.as_pointer()), align=4)
        return context.get_dummy_value()

    return types.void(units, weight, types.intp, types.intp, totals, types.intp), generate

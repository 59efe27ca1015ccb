"""The trellis algorithms for arrays in main memory, compiled by numba and cached on disk.

A kernel takes values in float32 or float64, a row a word, and the arrays of a `Lattice`, fills the outputs it is
given, and returns the first row that has a bad value, or −1. It computes in float64 and releases the interpreter
lock, so that threads can share the rows.
"""

from __future__ import annotations

import math

import numpy as np

from trellex.trellis.compilation import compiled_with

# Constants and all kernels that call each other stand here, because before numba takes a kernel from its cache it looks
# for changes in the file of that kernel alone.
CERTAIN = 1e4  # nats; stands for an infinite logit: outweighs ordinary ones, adds up, leaves digits in float32
LARGEST_SINGLE, LARGEST_DOUBLE = 2.0**83, 2.0**990  # those of `arrays`; they stand for logits beyond
ONE = np.uint32(1)  # indices stay unsigned, which spares the check for negative ones

SAFE_SPAN = 600.0  # nats of a score above or below 0, within which sums need no scaling in float64

compiled = compiled_with(nogil=True, error_model="numpy")
# for sums that may be added up in any order, and whose products need not be rounded first
compiled_sums = compiled_with(nogil=True, error_model="numpy", fastmath={"contract", "reassoc"})
# for maxima of numbers, none of them NaN, that may be compared in any order
compiled_maxima = compiled_with(nogil=True, error_model="numpy", fastmath={"nnan", "nsz"})


@compiled
def _log_odds(prob):
    """log q / (1 − q), or NaN where q is not a probability."""
    if 0.0 < prob < 1.0:
        return math.log(prob / (1.0 - prob))
    if prob == 0.0:
        return -CERTAIN
    return CERTAIN if prob == 1.0 else math.nan


@compiled
def _largest(logits):
    """The largest logit of which many can be added up in the type of these."""
    return LARGEST_SINGLE if logits.itemsize == 4 else LARGEST_DOUBLE


@compiled
def _finite(logit, largest):
    """What a logit counts; NaN stays."""
    if abs(logit) > largest:
        return math.copysign(CERTAIN if abs(logit) == math.inf else largest, logit)
    return logit


@compiled
def _accepts(automaton, number):
    """Whether the bits of a number are those of a word. automaton [B, S, 2]"""
    state = 0
    for place in range(automaton.shape[0]):
        state = automaton[place, state, number >> place & 1]
        if state < 0:
            return False
    return True


@compiled
def _read(values, of_probs, logits):
    """What logits, or probabilities, count. values [L] -> logits [L]; False if one is none"""
    largest, is_well = _largest(values), True
    for place in range(len(values)):
        value = np.float64(values[place])
        logits[place] = _log_odds(value) if of_probs else _finite(value, largest)
        is_well = is_well and logits[place] == logits[place]
    return is_well


@compiled
def butterfly(rows, outputs, automaton, of_probs, numbers, scores):
    """The best bit array of every row, if it is a word: then no word is better. rows [N, L] -> [N, 1] twice

    Viterbi for one row at a time over all 2^B bit arrays, the states of a level side by side: state 2q + b is entered
    from the states q and q + half alike, so the q make vectors. Of equally good arrays the one with the lowest number
    wins. Where the best is no word, or a value is none, the number is −1; returns the first such row, or −1.

    outputs, automaton: the `butterfly` of a `Lattice`
    of_probs: whether rows hold probabilities instead of logits
    """
    if outputs.ndim == 1:
        return _complete_butterfly(rows, outputs, automaton, of_probs, numbers, scores)
    num_outputs, half = outputs.ndim, outputs.shape[-1]  # the first is known when this is compiled
    is_one = outputs.reshape((num_outputs, half))
    num_bits, num_steps = automaton.shape[0], rows.shape[1] // num_outputs
    logits = np.empty(rows.shape[1])
    score, even, odd = np.empty(2 * half), np.empty(half), np.empty(half)
    from_upper = np.empty((num_steps, half), np.uint8)  # its bit b; small blocks are allocated faster
    first_open = -1
    for row in range(rows.shape[0]):
        score[:] = -math.inf
        score[0] = 0.0
        is_word = _read(rows[row], of_probs, logits)
        for step in range(num_steps):
            for q in range(half):
                straight, crossed = 0.0, 0.0  # what the outputs add where b = x, and where they are the opposite
                for output in range(num_outputs):
                    logit = logits[step * num_outputs + output]
                    part = is_one[output, q] * logit
                    straight += part
                    crossed += logit - part
                lower, upper = score[q] + straight, score[q + half] + crossed
                even[q] = upper if upper > lower else lower
                even_from_upper = upper > lower
                lower, upper = score[q] + crossed, score[q + half] + straight
                odd[q] = upper if upper > lower else lower
                from_upper[step, q] = even_from_upper | (upper > lower) << 1
            if step >= num_bits:
                odd[:] = -math.inf
            for q in range(half):
                score[2 * q], score[2 * q + 1] = even[q], odd[q]
        number = _number_of(from_upper)
        is_word = is_word and _accepts(automaton, number)
        numbers[row, 0], scores[row, 0] = number if is_word else -1, score[0]
        if first_open < 0 and not is_word:
            first_open = row
    return first_open


@compiled
def _complete_butterfly(rows, first_outputs, automaton, of_probs, numbers, scores):
    """`butterfly` of a complete trellis, in which a 1 after a state adds the state's logit, and a 0 nothing."""
    num_bits, num_steps = automaton.shape[0], len(first_outputs) - 1
    half = 1 << (num_steps - num_bits - 1)
    logits = np.empty(rows.shape[1])
    score, even, odd = np.empty(2 * half), np.empty(half), np.empty(half)
    from_upper = np.empty((num_steps, half), np.uint8)  # its bit b
    first_open = -1
    for row in range(rows.shape[0]):
        score[:] = -math.inf
        score[0] = 0.0
        is_word = _read(rows[row], of_probs, logits)
        for step in range(num_steps):
            first, states = first_outputs[step], first_outputs[step + 1] - first_outputs[step]
            for q in range(half):
                lower, upper = score[q], score[q + half]
                even[q] = upper if upper > lower else lower
                from_upper[step, q] = upper > lower
            for q in range(min(states, half)):
                odd[q] = score[q] + logits[first + q]
            odd[min(states, half) :] = -math.inf
            for q in range(states - half):
                upper = score[q + half] + logits[first + half + q]
                from_upper[step, q] |= (upper > odd[q]) << 1
                odd[q] = upper if upper > odd[q] else odd[q]
            for q in range(half):
                score[2 * q], score[2 * q + 1] = even[q], odd[q]
        numbers[row, 0] = _number_of(from_upper)
        scores[row, 0] = score[0]
        if not (is_word and _accepts(automaton, numbers[row, 0])):
            numbers[row, 0] = -1
            first_open = row if first_open < 0 else first_open
    return first_open


@compiled
def _number_of(from_upper):
    """The number whose bits lead to the last state 0. from_upper: in bit b, where state 2q + b came from  [T, q]"""
    number, q, bit = np.int64(0), np.uint64(0), np.uint64(0)
    for step in range(from_upper.shape[0] - 1, -1, -1):
        number = number << 1 | np.int64(bit)
        state = q + np.uint64(from_upper.shape[1]) if from_upper[step, q] >> bit & np.uint64(1) else q
        q, bit = state >> np.uint64(1), state & np.uint64(1)
    return number


@compiled
def butterfly_bits(probs, outputs, automaton, bits):
    """`butterfly` from probabilities to bits. probs [N, L] -> [N, B]"""
    numbers, scores = np.empty((probs.shape[0], 1), np.int64), np.empty((probs.shape[0], 1))
    first_open = butterfly(probs, outputs, automaton, True, numbers, scores)
    for row in range(bits.shape[0]):
        for place in range(bits.shape[1]):
            bits[row, place] = numbers[row, 0] >> place & 1
    return first_open


@compiled
def _widest(levels):
    """The number of states of the largest level."""
    widest = ONE
    for level in range(levels.shape[0] - 1):
        widest = max(widest, levels[level + 1] - levels[level])
    return widest


LANES = 40  # words side by side: enough for the vector units, few enough for the first-level cache


@compiled
def viterbi(probs, levels, incoming, edges, patterns, bits):
    """The most probable word of every row, many rows at a time. probs [N, L] -> bits [N, B]

    Of equally good ways into a state the first edge wins.
    """
    num_bits = bits.shape[1]
    num_steps = levels.shape[0] - 2
    num_patterns, num_outputs = patterns.shape
    score = np.empty((2, _widest(levels), LANES))
    winner = np.empty((levels[num_steps + 1], LANES), np.uint8)  # which of the edges into a state
    logits = np.zeros((probs.shape[1], LANES))
    metric = np.empty((num_patterns, LANES))
    for first in range(0, probs.shape[0], LANES):
        used = min(LANES, probs.shape[0] - first)
        for lane in range(used):
            for place in range(probs.shape[1]):
                logits[place, lane] = _log_odds(np.float64(probs[first + lane, place]))
                if logits[place, lane] != logits[place, lane]:
                    return first + lane
        here, there = np.uint64(0), np.uint64(1)
        score[here, 0] = 0.0
        for step in range(num_steps):
            for pattern in range(num_patterns):
                for lane in range(LANES):
                    metric[pattern, lane] = 0.0
                for output in range(num_outputs):
                    for lane in range(LANES):
                        metric[pattern, lane] += patterns[pattern, output] * logits[step * num_outputs + output, lane]
            start = levels[step + 1]
            for state in range(start, levels[step + 2]):
                target, edge, end = state - start, incoming[state], incoming[state + ONE]
                other = min(edge + ONE, end - ONE)
                source, pattern = edges[edge, 0], edges[edge, 1]
                other_source, other_pattern = edges[other, 0], edges[other, 1]
                for lane in range(LANES):
                    best = score[here, source, lane] + metric[pattern, lane]
                    rival = score[here, other_source, lane] + metric[other_pattern, lane]
                    score[there, target, lane] = rival if rival > best else best
                    winner[state, lane] = rival > best
                for more in range(other + ONE, end):
                    other_source, other_pattern = edges[more, 0], edges[more, 1]
                    for lane in range(LANES):
                        best = score[there, target, lane]
                        rival = score[here, other_source, lane] + metric[other_pattern, lane]
                        if rival > best:
                            score[there, target, lane] = rival
                            winner[state, lane] = more - edge
            here, there = there, here
        for lane in range(used):
            state = levels[num_steps]
            for step in range(num_steps - 1, -1, -1):
                edge = incoming[state] + winner[state, lane]
                if step < num_bits:
                    bits[first + lane, step] = edges[edge, 2]
                state = levels[step] + edges[edge, 0]
    return -1


@compiled
def _num_patterns(patterns):
    """The number of different outputs of a step, at most. patterns: those of a `Lattice`"""
    if patterns.ndim == 2:
        return patterns.shape[0]
    return np.max(patterns[1:] - patterns[:-1]) + 1


@compiled
def _metrics(logits, patterns, metric):
    """The score of every output pattern at every step. logits [L] -> metric [T, patterns]; False if one is NaN"""
    largest = _largest(logits)
    metric[:] = 0.0
    if patterns.ndim == 1:
        for step in range(metric.shape[0]):
            for place in range(patterns[step], patterns[step + 1]):
                logit = np.float64(logits[place])
                if logit != logit:
                    return False
                metric[step, place - patterns[step] + 1] = _finite(logit, largest)
        return True
    num_patterns, num_outputs = patterns.shape
    for step in range(metric.shape[0]):
        for output in range(num_outputs):
            logit = np.float64(logits[step * num_outputs + output])
            if logit != logit:
                return False
            logit = _finite(logit, largest)
            for pattern in range(num_patterns):
                metric[step, pattern] += patterns[pattern, output] * logit
    return True


@compiled
def topk(logits, levels, incoming, edges, patterns, numbers, scores):
    """The k best words of every row, best first. logits [N, L] -> numbers, scores [N, k]

    The serial list Viterbi algorithm: one forward pass finds the best way into every state. A candidate is a
    state and a fixed way on from it, worth the best way in plus the way on. The best candidate is the next
    word; leaving its path anywhere by another edge makes new candidates. The output rows hold both, the words
    found in front and the candidates behind them. Rows with fewer than k words end in −1 and −inf.
    """
    num_steps = levels.shape[0] - 2
    num_states = levels[num_steps + 1]
    k = numbers.shape[1]
    metric = np.empty((num_steps, _num_patterns(patterns)))
    score = np.empty(num_states)
    number = np.empty(num_states, np.int64)
    winner = np.empty(num_states, np.uint32)
    start_state = np.empty(k, np.uint32)
    start_step = np.empty(k, np.int64)
    way_on = np.empty(k)
    for row in range(logits.shape[0]):
        if not _metrics(logits[row], patterns, metric):
            return row
        score[0] = 0.0
        number[0] = 0
        for step in range(num_steps):
            base = levels[step]
            for state in range(levels[step + 1], levels[step + 2]):
                edge, end = incoming[state], incoming[state + ONE]
                best = score[base + edges[edge, 0]] + metric[step, edges[edge, 1]]
                for rival_edge in range(edge + ONE, end):
                    rival = score[base + edges[rival_edge, 0]] + metric[step, edges[rival_edge, 1]]
                    wins = rival > best  # selected, not branched on: a branch would be guessed wrong half the time
                    best = rival if wins else best
                    edge = rival_edge if wins else edge
                score[state] = best
                winner[state] = edge
                number[state] = number[base + edges[edge, 0]] | np.int64(edges[edge, 2]) << step

        numbers[row, 0], scores[row, 0] = number[num_states - 1], score[num_states - 1]
        start_state[0], start_step[0], way_on[0] = num_states - 1, num_steps, 0.0
        held, rank = 1, 0
        while rank < held:
            if rank == k - 1:
                break
            state, step, tail = start_state[rank], start_step[rank], way_on[rank]
            high_bits = numbers[row, rank] >> min(step, 63) << min(step, 63)
            while step > 0:
                step -= 1
                base = levels[step]
                for edge in range(incoming[state], incoming[state + ONE]):
                    if edge == winner[state]:
                        continue
                    source = base + edges[edge, 0]
                    new_tail = tail + metric[step, edges[edge, 1]]
                    total = min(score[source] + new_tail, scores[row, rank])  # no detour is better, but for rounding
                    if held == k and total < scores[row, k - 1]:
                        continue
                    word = number[source] | np.int64(edges[edge, 2]) << step | high_bits
                    place = held
                    while place > rank + 1 and (
                        total > scores[row, place - 1]
                        or (total == scores[row, place - 1] and word < numbers[row, place - 1])
                    ):
                        place -= 1
                    if place == k:
                        continue
                    held = min(held + 1, k)
                    for moved in range(held - 1, place, -1):
                        numbers[row, moved], scores[row, moved] = (
                            numbers[row, moved - 1],
                            scores[row, moved - 1],
                        )
                        start_state[moved], start_step[moved] = start_state[moved - 1], start_step[moved - 1]
                        way_on[moved] = way_on[moved - 1]
                    numbers[row, place], scores[row, place] = word, total
                    start_state[place], start_step[place], way_on[place] = source, step, new_tail
                edge = winner[state]
                tail += metric[step, edges[edge, 1]]
                high_bits |= np.int64(edges[edge, 2]) << step
                state = base + edges[edge, 0]
            rank += 1
        for missing in range(held, k):
            numbers[row, missing], scores[row, missing] = -1, -math.inf
    return -1


@compiled
def viterbi_complete(probs, levels, incoming, edges, patterns, bits):
    """`viterbi` of a complete trellis. probs [N, L] -> bits [N, B]"""
    logits, numbers, scores = np.empty(probs.shape), np.empty((1, 1), np.int64), np.empty((1, 1))
    for row in range(probs.shape[0]):
        for place in range(probs.shape[1]):
            logits[row, place] = _log_odds(np.float64(probs[row, place]))
        if topk(logits[row : row + 1], levels, incoming, edges, patterns, numbers, scores) >= 0:
            return row
        for place in range(bits.shape[1]):
            bits[row, place] = numbers[0, 0] >> place & 1
    return -1


@compiled
def _forward(levels, incoming, edges, metric, best, mass, weight):
    """The sum over all ways into every state, and how it divides among the edges into it. Returns the log-sum.

    metric [T, patterns] -> best, mass [states]; weight [edges], 1 in all for each state
    """
    span = 0.0
    for step in range(metric.shape[0]):
        highest = 0.0
        for pattern in range(metric.shape[1]):
            highest = max(highest, abs(metric[step, pattern]))
        span += highest
    if span < SAFE_SPAN:
        return _forward_plain(levels, incoming, edges, np.exp(metric), mass, weight)
    return _forward_scaled(levels, incoming, edges, metric, best, mass, weight)


@compiled
def _forward_plain(levels, incoming, edges, factor, mass, weight):
    """`_forward` in plain numbers, for scores of ordinary size. factor: exp(metric)  [T, patterns]"""
    mass[0] = 1.0
    for step in range(levels.shape[0] - 2):
        base = levels[step]
        for state in range(levels[step + 1], levels[step + 2]):
            begin, end = incoming[state], incoming[state + ONE]
            total = 0.0
            for edge in range(begin, end):
                part = mass[base + edges[edge, 0]] * factor[step, edges[edge, 1]]
                weight[edge] = part
                total += part
            scale = 1.0 / total
            for edge in range(begin, end):
                weight[edge] *= scale
            mass[state] = total
    return math.log(mass[-1])


@compiled
def _forward_scaled(levels, incoming, edges, metric, best, mass, weight):
    """`_forward` for scores of any size: a sum is kept as the score of its best way and its mass relative to that."""
    best[0], mass[0] = 0.0, 1.0
    for step in range(levels.shape[0] - 2):
        base = levels[step]
        for state in range(levels[step + 1], levels[step + 2]):
            begin, end = incoming[state], incoming[state + ONE]
            highest = -math.inf
            for edge in range(begin, end):
                weight[edge] = best[base + edges[edge, 0]] + metric[step, edges[edge, 1]]
                highest = max(highest, weight[edge])
            total = 0.0
            for edge in range(begin, end):
                weight[edge] = mass[base + edges[edge, 0]] * math.exp(weight[edge] - highest)
                total += weight[edge]
            for edge in range(begin, end):
                weight[edge] /= total
            best[state], mass[state] = highest, total
    return best[-1] + math.log(mass[-1])


@compiled
def log_partition(logits, levels, incoming, edges, patterns, values, posterior):
    """The log-sum of all words' exp(score), and the probability of every bit. logits [N, L] -> [N], [N, L]

    The posterior is the gradient of the log-sum: the certainty of the last state flows back along the edges in
    the shares of the forward pass. Left out where posterior has no rows.
    """
    num_steps = levels.shape[0] - 2
    num_states = levels[num_steps + 1]
    num_patterns = _num_patterns(patterns)
    metric = np.empty((num_steps, num_patterns))
    best, mass, flow = np.empty(num_states), np.empty(num_states), np.empty(num_states)
    weight = np.empty(edges.shape[0])
    share = np.empty(num_patterns)
    for row in range(logits.shape[0]):
        if not _metrics(logits[row], patterns, metric):
            return row
        values[row] = _forward(levels, incoming, edges, metric, best, mass, weight)
        if posterior.shape[0] == 0:
            continue
        flow[:] = 0.0
        flow[-1] = 1.0
        for step in range(num_steps - 1, -1, -1):
            base = levels[step]
            share[:] = 0.0
            for state in range(levels[step + 1], levels[step + 2]):
                for edge in range(incoming[state], incoming[state + ONE]):
                    part = flow[state] * weight[edge]
                    flow[base + edges[edge, 0]] += part
                    share[edges[edge, 1]] += part
            _add_up(share, patterns, step, posterior[row])
    return -1


@compiled
def _add_up(share, patterns, step, bit_probs):
    """The probabilities of a step's bits. share: of its patterns -> bit_probs [L]"""
    if patterns.ndim == 1:
        for place in range(patterns[step], patterns[step + 1]):
            bit_probs[place] = share[place - patterns[step] + 1]
        return
    num_patterns, num_outputs = patterns.shape
    for output in range(num_outputs):
        total = 0.0
        for pattern in range(num_patterns):
            total += patterns[pattern, output] * share[pattern]
        bit_probs[step * num_outputs + output] = total


SUM_LANES = 64  # words side by side: many, for the compiled code compares addresses before every loop over them


@compiled_sums
def log_partition_in_bulk(logits, odds, levels, incoming, edges, patterns, values, posterior):
    """`log_partition`, many rows at a time. odds: exp(logits), in float64  [N, L]

    Rows whose sums need scaling are left to `log_partition`. In their lanes, as in those without a row, all odds are 1.
    """
    num_rows, length = logits.shape
    num_steps = levels.shape[0] - 2
    num_patterns = _num_patterns(patterns)
    outgoing = _outgoing(levels, incoming, edges, num_patterns)
    is_safe = np.empty(SUM_LANES, np.bool_)
    bit_odds, bit_probs = np.empty((length, SUM_LANES)), np.empty((length, SUM_LANES))
    factor = np.zeros((num_steps, num_patterns + 1, SUM_LANES))  # the last is that of missing edges and stays 0
    mass = np.empty((levels[num_steps + 1], SUM_LANES))
    for first in range(0, num_rows, SUM_LANES):
        bit_odds[:] = 1.0
        for lane in range(SUM_LANES):
            row = first + lane
            is_safe[lane] = row < num_rows and _reach(logits[row], patterns) < SAFE_SPAN
            if is_safe[lane]:
                for place in range(length):
                    bit_odds[place, lane] = odds[row, place]
            elif row < num_rows:
                one = slice(row, row + 1)
                if log_partition(logits[one], levels, incoming, edges, patterns, values[one], posterior[one]) >= 0:
                    return row
        _factors(bit_odds, patterns, factor)
        _forward_in_bulk(levels, incoming, edges, factor, mass)
        for lane in range(SUM_LANES):
            if is_safe[lane]:
                values[first + lane] = math.log(mass[-1, lane])
        if posterior.shape[0] == 0:
            continue
        _backward_in_bulk(levels, outgoing, patterns, factor, mass, bit_probs)
        for lane in range(SUM_LANES):
            if is_safe[lane]:
                for place in range(length):
                    posterior[first + lane, place] = bit_probs[place, lane]
    return -1


@compiled
def _outgoing(levels, incoming, edges, num_patterns):
    """Target (counted within its level) and output pattern of the edges out of a state, by input bit. [states, 2, 2]

    A missing edge has the pattern `num_patterns`.
    """
    outgoing = np.zeros((incoming.shape[0] - 1, 2, 2), np.uint32)
    outgoing[:, :, 1] = num_patterns
    for step in range(levels.shape[0] - 2):
        start = levels[step + 1]
        for state in range(start, levels[step + 2]):
            for edge in range(incoming[state], incoming[state + ONE]):
                source, bit = levels[step] + edges[edge, 0], edges[edge, 2]
                outgoing[source, bit, 0], outgoing[source, bit, 1] = state - start, edges[edge, 1]
    return outgoing


@compiled_sums
def _reach(logits, patterns):
    """How far above or below 0 the score of a word can be, at most; NaN if a logit is. logits [L]"""
    total, spread = 0.0, 0.0
    for place in range(logits.shape[0]):
        logit = np.float64(logits[place])
        total += logit
        spread += abs(logit)
    reach = 0.5 * (spread + abs(total))  # the sum of the positive logits, or of the negative ones if that is more
    if patterns.ndim == 1 and reach >= SAFE_SPAN:
        return _reach_by_steps(logits, patterns)
    return reach


@compiled_maxima
def _reach_by_steps(logits, first_outputs):
    """The same of a complete trellis, where a word counts at most one logit of each step. None of them is NaN."""
    reach = 0.0
    for step in range(first_outputs.shape[0] - 1):
        highest = 0.0
        for place in range(first_outputs[step], first_outputs[step + 1]):
            highest = max(highest, abs(np.float64(logits[place])))
        reach += highest
    return reach


@compiled_sums
def _factors(odds, patterns, factor):
    """By how much an edge multiplies the odds of its way. odds [L, lanes] -> factor [T, patterns + 1, lanes]"""
    if patterns.ndim == 1:
        for step in range(factor.shape[0]):
            factor[step, 0] = 1.0
            for place in range(patterns[step], patterns[step + 1]):
                factor[step, place - patterns[step] + 1] = odds[place]
        return
    num_patterns, num_outputs = patterns.shape
    for step in range(factor.shape[0]):
        for pattern in range(num_patterns):
            factor[step, pattern] = 1.0
            for output in range(num_outputs):
                if patterns[pattern, output] == 1.0:
                    for lane in range(SUM_LANES):
                        factor[step, pattern, lane] *= odds[step * num_outputs + output, lane]


@compiled_sums
def _forward_in_bulk(levels, incoming, edges, factor, mass):
    """The sum over all ways into every state. factor [T, patterns + 1, lanes] -> mass [states, lanes]"""
    mass[0] = 1.0
    for step in range(factor.shape[0]):
        base = levels[step]
        for state in range(levels[step + 1], levels[step + 2]):
            edge, end = incoming[state], incoming[state + ONE]
            source, pattern = base + edges[edge, 0], edges[edge, 1]
            for lane in range(SUM_LANES):
                mass[state, lane] = mass[source, lane] * factor[step, pattern, lane]
            for other in range(edge + ONE, end):
                source, pattern = base + edges[other, 0], edges[other, 1]
                for lane in range(SUM_LANES):
                    mass[state, lane] += mass[source, lane] * factor[step, pattern, lane]


@compiled_sums
def _backward_in_bulk(levels, outgoing, patterns, factor, mass, bit_probs):
    """The probability of every bit. factor [T, patterns + 1, lanes], mass [states, lanes] -> bit_probs [L, lanes]

    The flow of a state is the sum over all ways on from it, as a share of the sum over all words.
    """
    flow = np.empty((2, _widest(levels), SUM_LANES))
    share = np.empty((_num_patterns(patterns) + 1, SUM_LANES))
    here, there = np.uint64(0), np.uint64(1)
    for lane in range(SUM_LANES):
        flow[here, 0, lane] = 1.0 / mass[-1, lane]
    bit_probs[:] = 0.0
    for step in range(factor.shape[0] - 1, -1, -1):
        base = levels[step]
        share[:] = 0.0
        for state in range(base, levels[step + 1]):
            zero, zero_pattern = outgoing[state, 0, 0], outgoing[state, 0, 1]
            one, one_pattern = outgoing[state, 1, 0], outgoing[state, 1, 1]
            for lane in range(SUM_LANES):
                flow[there, state - base, lane] = (
                    flow[here, zero, lane] * factor[step, zero_pattern, lane]
                    + flow[here, one, lane] * factor[step, one_pattern, lane]
                )
            if zero_pattern > 0:  # pattern 0 has no bit to be counted
                for lane in range(SUM_LANES):
                    share[zero_pattern, lane] += mass[state, lane] * flow[here, zero, lane]
            if one_pattern > 0:
                for lane in range(SUM_LANES):
                    share[one_pattern, lane] += mass[state, lane] * flow[here, one, lane]
        _add_up_in_bulk(share, factor[step], patterns, step, bit_probs)
        here, there = there, here


@compiled_sums
def _add_up_in_bulk(share, factor, patterns, step, bit_probs):
    """`_add_up` of many rows. share, factor [patterns + 1, lanes] -> bit_probs [L, lanes], which are 0 before"""
    if patterns.ndim == 1:
        for place in range(patterns[step], patterns[step + 1]):
            pattern = place - patterns[step] + 1
            for lane in range(SUM_LANES):
                bit_probs[place, lane] = share[pattern, lane] * factor[pattern, lane]
        return
    num_patterns, num_outputs = patterns.shape
    for pattern in range(num_patterns):
        for output in range(num_outputs):
            if patterns[pattern, output] == 1.0:
                for lane in range(SUM_LANES):
                    bit_probs[step * num_outputs + output, lane] += share[pattern, lane] * factor[pattern, lane]


@compiled
def sample(logits, levels, incoming, edges, patterns, uniforms, numbers):
    """Draw C words from every row. logits [N, L], uniforms [N, C, T] in [0, 1) -> numbers [N, C]"""
    num_steps = levels.shape[0] - 2
    num_states = levels[num_steps + 1]
    metric = np.empty((num_steps, _num_patterns(patterns)))
    best, mass, weight = np.empty(num_states), np.empty(num_states), np.empty(edges.shape[0])
    for row in range(logits.shape[0]):
        if not _metrics(logits[row], patterns, metric):
            return row
        _forward(levels, incoming, edges, metric, best, mass, weight)
        for draw in range(uniforms.shape[1]):
            state, word = num_states - ONE, np.int64(0)
            for step in range(num_steps - 1, -1, -1):
                rest = uniforms[row, draw, step]
                edge, last = incoming[state], incoming[state + ONE] - ONE
                while edge < last and rest >= weight[edge]:
                    rest -= weight[edge]
                    edge += ONE
                word |= np.int64(edges[edge, 2]) << step
                state = levels[step] + edges[edge, 0]
            numbers[row, draw] = word
    return -1


@compiled
def read_best(weight, bias, outputs, automaton, h, numbers):
    """`butterfly` from hidden states, whose logits are weight · h + bias. weight [L, H], h [N, H] -> numbers [N]"""
    logits, scores = np.empty((h.shape[0], weight.shape[0])), np.empty((h.shape[0], 1))
    _multiply(h, weight, bias, logits)
    return butterfly(logits, outputs, automaton, False, numbers.reshape((-1, 1)), scores)


@compiled
def read_best_with_log_prob(weight, bias, outputs, automaton, levels, incoming, edges, patterns, h, numbers, log_probs):
    """The same with log-probabilities. -> numbers, log_probs [N]"""
    logits, scores = np.empty((h.shape[0], weight.shape[0])), np.empty((h.shape[0], 1))
    _multiply(h, weight, bias, logits)
    first_open = butterfly(logits, outputs, automaton, False, numbers.reshape((-1, 1)), scores)
    if first_open < 0:
        log_partition(logits, levels, incoming, edges, patterns, log_probs, np.empty((0, 0)))
        log_probs[:] = scores[:, 0] - log_probs
    return first_open


@compiled_sums
def _multiply(h, weight, bias, logits):
    """h [N, H], weight [L, H], bias [L] -> logits [N, L]

    Four rows of the weight at a time, so that more of it is on its way from memory; the last is repeated if need be.
    """
    last = weight.shape[0] - 1
    for row in range(h.shape[0]):
        for a in range(0, weight.shape[0], 4):
            b, c, d = min(a + 1, last), min(a + 2, last), min(a + 3, last)
            sum_a, sum_b, sum_c, sum_d = bias[a], bias[b], bias[c], bias[d]
            for unit in range(weight.shape[1]):
                value = h[row, unit]
                sum_a += value * weight[a, unit]
                sum_b += value * weight[b, unit]
                sum_c += value * weight[c, unit]
                sum_d += value * weight[d, unit]
            logits[row, a], logits[row, b], logits[row, c], logits[row, d] = sum_a, sum_b, sum_c, sum_d

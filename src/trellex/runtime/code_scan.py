"""Products of numbers with the codes of all words, read byte by byte from tables of partial sums, compiled.

A code of B bits is B / 8 bytes, of each the lowest bit first; a bit that is 1 adds its number, a 0 takes it off. For a
row of B numbers there is a table of the 256 sums of every byte, so that a word takes B / 8 look-ups.
"""

from __future__ import annotations

import numpy as np

from trellex.trellis.kernels import compiled


@compiled
def score_codes(numbers, codes, bias, scores):
    """numbers [N, B], codes [V, B / 8], bias [V] -> scores [N, V]"""
    sums = np.empty((codes.shape[1], 256), np.float32)
    for row in range(len(numbers)):
        _add_up(numbers[row], sums)
        for word in range(len(codes)):
            scores[row, word] = _score(sums, codes, bias, word)


@compiled
def best_codes(numbers, codes, bias, words):
    """The word of the highest score, of equals the first; −1 if scores are no numbers. numbers [N, B] -> words [N]"""
    sums = np.empty((codes.shape[1], 256), np.float32)
    for row in range(len(numbers)):
        _add_up(numbers[row], sums)
        best, highest = np.int64(-1), np.float32(-np.inf)
        for word in range(len(codes)):
            score = _score(sums, codes, bias, word)
            if score > highest:
                best, highest = word, score
        words[row] = best


@compiled
def _add_up(numbers, sums):
    """All sums of eight numbers, each added or taken off. numbers [B] -> sums [B / 8, 256]"""
    for place in range(len(sums)):
        own = sums[place]
        own[0] = 0
        for bit in range(8):
            number, half = numbers[8 * place + bit], 1 << bit
            for value in range(half):
                own[half + value] = own[value] + number
                own[value] -= number


@compiled
def _score(sums, codes, bias, word):
    total = np.float32(0)
    for place in range(codes.shape[1]):
        total += sums[place, codes[word, place]]
    return total + bias[word]

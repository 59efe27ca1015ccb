"""P(word | h) by clusters of frequency: frequent words and a marker for each tail first, then a word of a tail."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from trellex.arrays import Array, best_of, draw, is_tensor, log_softmax, namespace, pick, places_of, portions
from trellex.heads.distribution import Distribution

MOST_SCORES = 1 << 22  # of all words, to hold at a time, unless those of one row are more


class AdaptiveDistribution(Distribution):
    """A softmax over the S most frequent words and C markers, and one over the words of each tail.

    P(w) is that of the first for a frequent word, and P(tail) · P(w | tail) for a word of a tail, which is never more
    probable than its tail.

    Args:
        cutoffs: the first word of each tail  [C]
        vocab_size: V
    """

    def __init__(self, cutoffs: Sequence[int], vocab_size: int) -> None:
        self.first_of_tails, self.vocab_size = list(cutoffs), vocab_size
        self.frequent = self.first_of_tails[0]  # S

    @abstractmethod
    def _first_logits(self, h: Array) -> Array:
        """Of frequent words, then of tails. h [T, H] -> [T, S + C]"""

    @abstractmethod
    def _tail_logits(self, h: Array, tail: int) -> Array:
        """Of the words of a tail, W of them. h [T, H] -> [T, W]"""

    @property
    def tail_sizes(self) -> list[int]:
        """W of each tail."""
        return np.diff([*self.first_of_tails, self.vocab_size]).tolist()

    @property
    def num_outputs(self) -> int:
        """Those of the first softmax and of the largest tail."""
        return self.frequent + len(self.first_of_tails) + max(self.tail_sizes)

    def _log_prob(self, h: Array, words: Array) -> Array:
        tails = sum((words >= first) * 1 for first in self.first_of_tails)  # 0 for frequent words, 1 for the first tail
        places = namespace(h).where(tails == 0, words, self.frequent - 1 + tails)
        found = pick(log_softmax(self._first_logits(h)), places)
        for tail, first in enumerate(self.first_of_tails):
            rows = places_of(tails == tail + 1)
            if len(rows):
                among = log_softmax(self._tail_logits(h[rows], tail))
                found[rows] = found[rows] + pick(among, words[rows] - first)
        return found

    def _topk(self, h: Array, k: int) -> tuple[Array, Array]:
        """A tail is entered by the rows alone in which it is more probable than the k-th word so far."""
        join, log_firsts = namespace(h).concatenate, log_softmax(self._first_logits(h))
        words, log_probs = best_of(log_firsts[:, : self.frequent], k)
        for tail, first in enumerate(self.first_of_tails):
            log_tail = log_firsts[:, self.frequent + tail]
            rows = places_of(log_tail > log_probs[:, -1])
            if len(rows):
                among = log_softmax(self._tail_logits(h[rows], tail)) + log_tail[rows][:, None]
                more_words, more = best_of(among, min(k, among.shape[1]))
                so_far, words_so_far = join([log_probs[rows], more], -1), join([words[rows], more_words + first], -1)
                words[rows], log_probs[rows] = best_of(so_far, k, words_so_far)
        return words, log_probs

    def _sample(self, h: Array, temperature: float, generator: Any) -> Array:
        """At temperature 1, a frequent word or a tail, and then a word of that.

        At any other, what a tempered tail weighs is known once all its words are: all words are looked at, those of
        some rows at a time.
        """
        random = generator if is_tensor(h) else np.random.default_rng(generator)
        if temperature == 1:
            return self._drawn_in_two_steps(h, random)
        at_a_time = max(1, MOST_SCORES // self.vocab_size)
        parts = [draw(self._every_log_prob(rows) / temperature, random) for rows in portions(h, at_a_time)]
        return namespace(h).concatenate(parts)

    def _drawn_in_two_steps(self, h: Array, random: Any) -> Array:
        """h [T, H] -> words [T]"""
        places = draw(self._first_logits(h), random)
        words = places * 1
        for tail, first in enumerate(self.first_of_tails):
            rows = places_of(places == self.frequent + tail)
            if len(rows):
                words[rows] = first + draw(self._tail_logits(h[rows], tail), random)
        return words

    def _every_log_prob(self, h: Array) -> Array:
        """log P of all words. h [T, H] -> [T, V]"""
        log_firsts = log_softmax(self._first_logits(h))
        tails = [
            log_firsts[:, self.frequent + tail, None] + log_softmax(self._tail_logits(h, tail))
            for tail in range(len(self.first_of_tails))
        ]
        return namespace(h).concatenate([log_firsts[:, : self.frequent], *tails], -1)

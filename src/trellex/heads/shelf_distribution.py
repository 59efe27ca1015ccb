"""P(word | h) by shelves: the first bits of a word's code find a shelf, and a score of its own the word on it."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np

from trellex.arrays import (
    Array,
    Table,
    as_int64,
    best_of,
    doubled,
    draw,
    fetch_few,
    has_kernels,
    is_tensor,
    log_softmax,
    log_sum_exp,
    namespace,
    pick,
    places_of,
    portions,
    uniforms,
)
from trellex.codes import Code
from trellex.heads.distribution import Distribution
from trellex.heads.shelves_spec import ShelvesSpec
from trellex.trellis import CompleteCode
from trellex.trellis.convolutional import FUSED_WORDS

AT_ONCE = (
    FUSED_WORDS  # shelves to find at once, unless those to visit are more; the last one bounds those that were not
)
SHELVES_A_WORD = 4  # to find at once for many words, all of which may follow one hypothesis
MOST_WORDS = 1 << 14  # to look at together, unless those of visited shelves are more
MOST_SCORES = 1 << 22  # of all shelves, to hold at a time, unless those of one row are more
PATIENCE = 16  # rounds of drawing a word that may be refused, after which all words are looked at


class Shelving:
    """Which words are on which shelves: S = 2^b shelves, b < B, of at most W words, equal in the first b bits.

    Args:
        spec: the sizes
        code: word ↔ bits
    """

    def __init__(self, spec: ShelvesSpec, code: Code) -> None:
        self.code, self.vocab_size = code, code.vocab_size
        self.shelf_bits = spec.shelf_bits(code.num_bits)
        self.num_shelves = 1 << self.shelf_bits
        self.width = -(-self.vocab_size // self.num_shelves)  # W

    def words_on(self, shelves: Array) -> Array:
        """The words of shelves, −1 where there is none. [..] -> [.., W]"""
        places = namespace(shelves).arange(self.width, device=shelves.device)
        return self.code.words(shelves[..., None] + (places << self.shelf_bits))

    def place_of(self, words: Array) -> tuple[Array, Array]:
        """The shelves of words, and their places on them. words [..] -> [..], [..]"""
        numbers = self.code.numbers(words)
        return numbers & (self.num_shelves - 1), numbers >> self.shelf_bits


class ShelfDistribution(Shelving, Distribution):
    """Words by their shelves.

    A complete trellis gives the probability of a shelf, P(s). The K most probable shelves are visited: the words on
    them, C, share one softmax, P(w) = P(C) · softmax over C of f(w), where P(C) is the sum over their shelves. A word
    on any other shelf has P(w) = P(s) · softmax over s of f(w). So P sums to 1 whatever K is.

    Args:
        spec: the sizes
        code: word ↔ bits

    Shape:
        logits [T, L] of the trellis, shelves [T, K], scores f [T, K, W], −inf where a shelf has no word
    """

    def __init__(self, spec: ShelvesSpec, code: Code) -> None:
        Shelving.__init__(self, spec, code)
        self.visit = min(spec.visit, self.num_shelves)  # K
        self.ecc = CompleteCode(spec.memory)

    @abstractmethod
    def shelf_logits(self, h: Array) -> Array:
        """Those of the trellis that finds shelves. h [T, H] -> [T, L]"""

    @abstractmethod
    def word_scores(self, h: Array, shelves: Array) -> Array:
        """f of all words of some shelves, −inf where there is none. h [T, H], shelves [T, K] -> [T, K, W]"""

    @property
    def length(self) -> int:
        """L, the number of logits of the trellis."""
        return self.ecc.length(self.shelf_bits)

    def log_prob_of_shelves(self, logits: Array, shelves: Array) -> Array:
        """log P(s). logits [T, L], shelves [T, K] -> [T, K]"""
        scores = self.ecc.score_of_numbers(logits, shelves, self.shelf_bits)
        return scores - self.ecc.log_partition(logits)[:, None]

    def _log_prob(self, h: Array, words: Array) -> Array:
        logits = doubled(self.shelf_logits(h))
        return self.log_prob_among(h, logits, self._visited(logits), words)[0]

    def log_prob_among(
        self, h: Array, logits: Array, visited: Array, words: Array, smoothing: float = 0.0
    ) -> tuple[Array, Array]:
        """log P of words, and of their shelves. visited [T, K], words [T] -> [T], [T]

        smoothing: the share of the mean of log P over all visited words, and over all shelves
        """
        library, (shelf, place) = namespace(h), self.place_of(words)
        shelves = library.concatenate([visited, shelf[:, None]], -1)
        scores, log_shelves = self.word_scores(h, shelves), self.log_prob_of_shelves(logits, shelves)
        scores, log_own = doubled(scores) if logits.dtype.itemsize == 8 else scores, log_shelves[:, -1]
        outside = log_own + pick(log_softmax(scores[:, -1]), place)
        is_own = visited == shelf[:, None]
        rank = (is_own * library.arange(self.visit, device=h.device)).sum(-1)
        among = _visited_log_probs(scores[:, :-1], log_shelves[:, :-1])
        log_prob = library.where(is_own.any(-1), pick(among, rank * self.width + place), outside)
        if smoothing:
            log_prob = log_prob + smoothing * (_mean_of_words(among, scores[:, :-1]) - log_prob)
            log_own = log_own + smoothing * (self._mean_log_prob_of_shelves(logits) - log_own)
        return log_prob, log_own

    @cached_property
    def _mean_shelf(self) -> Table:
        """The mean code word of all shelves, [L], whose score is the mean of theirs."""
        return Table(self.ecc.posterior(np.zeros(self.length)))

    def _mean_log_prob_of_shelves(self, logits: Array) -> Array:
        """The mean of log P(s) over all shelves. [T, L] -> [T]"""
        return logits @ self._mean_shelf.like(logits) - self.ecc.log_partition(logits)

    def best_shelves(self, h: Array, count: int) -> tuple[Array, Array, Array, Array]:
        """The most probable shelves, log P(s), their words, −1 where there is none, and log P of those.

        h [T, H] -> [T, C] twice, [T, C, W] twice; C is count, but at most the number of shelves
        """
        logits = self._fetched_logits(h)
        least = min(self.visit + 1, self.num_shelves)
        shelves = self._shelves_at_once(logits, min(max(count, least), self.num_shelves))[:, : max(count, self.visit)]
        log_shelves = self.log_prob_of_shelves(logits, shelves)
        words, log_probs = self._log_probs_on(h, shelves, log_shelves, self.visit)
        shape = (*shelves.shape, self.width)
        return tuple(  # type: ignore[return-value]
            found[:, :count] for found in (shelves, log_shelves, words.reshape(shape), log_probs.reshape(shape))
        )

    def _fetched_logits(self, h: Array) -> Array:
        """Those of the trellis in double precision, of few rows in main memory unless kernels read them. -> [T, L]"""
        logits = self.shelf_logits(h)
        return doubled(logits if has_kernels(logits) else fetch_few(logits)[0])

    def _visited(self, logits: Array) -> Array:
        """The shelves to visit, in any order. logits [T, L] in double precision -> [T, K]"""
        return self._first_shelves(logits)[:, : self.visit]

    def _first_shelves(self, logits: Array) -> Array:
        """Those to visit and the next, best first, of equal ones the lower number first. -> [T, K + 1], or all of them

        All that reads words asks for just so many: another number could be found in another way, which adds up scores
        in another order, so that rounding would let shelves change places.
        """
        count = min(self.visit + 1, self.num_shelves)
        if self._is_few(count):
            return self.ecc.topk(logits, count, self.num_shelves)[0]
        return self._sorted_shelves(logits, as_int64(logits[:, :0]), count)

    def _other_shelves(self, logits: Array, read: Array, count: int) -> Array:
        """The best of those that were not read, best first. logits [T, L], read [T, R] -> [T, count]"""
        if not self._is_few(read.shape[1] + count):
            return self._sorted_shelves(logits, read, count)
        shelves, scores = self.ecc.topk(logits, read.shape[1] + count, self.num_shelves)
        is_read = (shelves[:, :, None] == read[:, None]).any(-1)
        return best_of(namespace(logits).where(is_read, -float("inf"), scores), count, shelves)[0]

    def _sorted_shelves(self, logits: Array, read: Array, count: int) -> Array:
        """The same by the scores of all, of equal ones the lower number first."""
        at_a_time = max(1, MOST_SCORES // self.num_shelves)
        if len(logits) > at_a_time:
            parts = zip(portions(logits, at_a_time), portions(read, at_a_time), strict=True)
            return namespace(logits).concatenate([self._sorted_shelves(*part, count) for part in parts])
        scores = self.ecc.all_scores(logits, self.shelf_bits)
        scores[namespace(scores).arange(len(scores), device=scores.device)[:, None], read] = -float("inf")
        if is_tensor(scores):
            return scores.sort(dim=-1, descending=True, stable=True).indices[:, :count]
        return np.argsort(-scores, -1, kind="stable")[:, :count]

    def _is_few(self, count: int) -> bool:
        """Whether the trellis finds so many shelves, in time count², sooner than the scores of all are computed."""
        return count**2 <= 16 * self.num_shelves

    def _topk(self, h: Array, k: int) -> tuple[Array, Array]:
        """Best first. Beyond visited shelves no word is more probable than its shelf, so few of those are looked at."""
        logits = self._fetched_logits(h)
        join, shelves = namespace(logits).concatenate, self._first_shelves(logits)
        words, log_probs, following = self._topk_on(h, logits, shelves, k, self.visit, self.visit)
        rows = places_of(log_probs[:, -1] < following)
        read = shelves[rows, : self.visit]
        while len(rows):
            left = self.num_shelves - read.shape[1]
            count = min(max(read.shape[1], -(-k // self.width)), left)
            shelves = self._other_shelves(logits[rows], read, min(count + 1, left))
            more_words, more, following = self._topk_on(h[rows], logits[rows], shelves, k, count)
            words_so_far, so_far = join([words[rows], more_words], -1), join([log_probs[rows], more], -1)
            words[rows], log_probs[rows] = best_of(so_far, k, words_so_far)
            open_rows = places_of(log_probs[rows][:, -1] < following)
            rows, read = rows[open_rows], join([read, shelves[:, :count]], -1)[open_rows]
        return words, log_probs

    def _topk_at_once(self, h: Array, k: int) -> tuple[Array, Array, Array]:
        """Of visited shelves and some further ones: no word beyond is more probable than the next shelf."""
        logits = self._fetched_logits(h)
        shelves = self._shelves_at_once(logits, min(max(self._at_once(logits, k), self.visit + 1), self.num_shelves))
        count = shelves.shape[1] - (shelves.shape[1] < self.num_shelves)
        return self._topk_on(h, logits, shelves, k, count, self.visit)

    def _at_once(self, logits: Array, k: int) -> int:
        """How many shelves are found at once for k words, unless those to visit are more."""
        return max(AT_ONCE, SHELVES_A_WORD * k)

    def _shelves_at_once(self, logits: Array, count: int) -> Array:
        """Those to visit and others, best first, at least as many as `_first_shelves`. logits [T, L] -> [T, count]"""
        shelves = self._first_shelves(logits)
        if shelves.shape[1] == count:
            return shelves
        visited = shelves[:, : self.visit]
        others = self._other_shelves(logits, visited, count - self.visit)
        return namespace(logits).concatenate([visited, others], -1)

    def _best_at_once(self, h: Array) -> Array:
        """The best on visited shelves, unless the next shelf is more probable than that word."""
        logits = self._fetched_logits(h)
        shelves = self._first_shelves(logits)
        words, log_probs, following = self._topk_on(h, logits, shelves, 1, self.visit, self.visit)
        return namespace(words).where(log_probs[:, 0] < following, -1, words[:, 0])

    def _topk_on(
        self, h: Array, logits: Array, shelves: Array, k: int, count: int, visited: int = 0
    ) -> tuple[Array, Array, Array]:
        """The k best words of the first `count` shelves, and log P of the shelf after them. -> [T, k] twice, [T]

        visited: how many of the first are
        """
        library, together, found = namespace(logits), max(visited, MOST_WORDS // self.width), []
        log_shelves = self.log_prob_of_shelves(logits, shelves)
        for first in range(0, count, together):
            some = slice(first, min(first + together, count))
            words, log_probs = self._log_probs_on(h, shelves[:, some], log_shelves[:, some], 0 if first else visited)
            found.append(best_of(log_probs, min(k, log_probs.shape[1]), words))
        words, log_probs = (library.concatenate(parts, -1) for parts in zip(*found, strict=True))
        none = library.full_like(log_shelves[:, 0], -float("inf"))
        return *best_of(log_probs, k, words), log_shelves[:, count] if count < shelves.shape[1] else none

    def _log_probs_on(self, h: Array, shelves: Array, log_shelves: Array, visited: int) -> tuple[Array, Array]:
        """The words of shelves, the first of which may be visited, and log P, on the device of the shelves.

        shelves, log P(s) [T, C] -> words, log P [T, C · W]
        """
        library, words = namespace(h), _flat(self.words_on(shelves))
        scores = _beside(self.word_scores(h, _beside(shelves, h)), log_shelves)
        log_probs = _flat(log_shelves[:, visited:, None] + log_softmax(scores[:, visited:]))
        if visited:
            together = _visited_log_probs(scores[:, :visited], log_shelves[:, :visited])
            log_probs = library.concatenate([together, log_probs], -1)
        return words, library.where(words >= 0, log_probs, -float("inf"))

    def _sample(self, h: Array, temperature: float, generator: Any) -> Array:
        """Shelves are drawn from the tempered trellis; a word on one is taken as often as its own probability asks.

        What a tempered shelf weighs is known once its words are looked at, and bounded before: so it may be refused,
        and another is drawn. At temperature 1 none is.
        """
        library, random = namespace(h), generator if is_tensor(h) else np.random.default_rng(generator)
        logits = doubled(self.shelf_logits(h))
        visited = self._visited(logits)
        log_shelves = self.log_prob_of_shelves(logits, visited)
        words, log_probs = self._log_probs_on(h, visited, log_shelves, self.visit)
        cold, log_share = log_probs / temperature, log_sum_exp(log_shelves / temperature)
        log_weight = log_sum_exp(cold) - log_share  # of visited words, to the share of their shelves
        most = max(0.0, (1 - 1 / temperature) * np.log(self.width))
        highest = library.maximum(log_weight, library.full_like(log_weight, most))
        drawn = pick(words, draw(cold, random))
        rows = library.arange(len(h), device=h.device)
        for _ in range(PATIENCE):
            shelf = self.ecc.sample(logits[rows] / temperature, self.num_shelves, random)
            own = log_softmax(doubled(self.word_scores(h[rows], shelf[:, None])[:, 0])) / temperature
            is_visited = (visited[rows] == shelf[:, None]).any(-1)
            log_kept = library.where(is_visited, log_weight[rows], log_sum_exp(own)) - highest[rows]
            word = pick(self.words_on(shelf), draw(own, random))
            drawn[rows] = library.where(is_visited, drawn[rows], word)
            rows = rows[uniforms(log_kept, random) >= library.exp(log_kept)]
            if len(rows) == 0:
                return drawn
            drawn[rows] = pick(words[rows], draw(cold[rows], random))
        known = h[rows], logits[rows], visited[rows], drawn[rows], log_sum_exp(cold[rows])
        drawn[rows] = self._drawn_from_all(*known, temperature, random)
        return drawn

    def _drawn_from_all(
        self, h: Array, logits: Array, visited: Array, drawn: Array, log_mass: Array, temperature: float, random: Any
    ) -> Array:
        """Go through all other shelves, some at a time: a word of those replaces the last as often as they weigh.

        drawn [T]: from visited words, whose tempered probabilities sum to exp(log_mass) [T]
        """
        library, together = namespace(h), max(1, MOST_WORDS // self.width)
        for first in range(0, self.num_shelves, together):
            end = min(first + together, self.num_shelves)
            shelves = visited[:, :1] * 0 + library.arange(first, end, device=h.device)
            is_visited = (shelves[:, :, None] == visited[:, None]).any(-1)
            log_shelves = self.log_prob_of_shelves(logits, shelves)
            others = library.where(is_visited, -float("inf"), log_shelves)
            words, log_probs = self._log_probs_on(h, shelves, others, 0)
            cold = log_probs / temperature
            log_share = log_sum_exp(cold)
            log_mass = library.logaddexp(log_mass, log_share)
            is_taken = uniforms(log_mass, random) < library.exp(log_share - log_mass)
            drawn = library.where(is_taken, pick(words, draw(cold, random)), drawn)
        return drawn


def _visited_log_probs(scores: Array, log_shelves: Array) -> Array:
    """log P of the words on visited shelves. f [T, K, W], log P(s) [T, K] -> [T, K · W]"""
    return log_sum_exp(log_shelves)[:, None] + log_softmax(_flat(scores))


def _mean_of_words(log_probs: Array, scores: Array) -> Array:
    """The mean over the words that there are. log P [T, K · W], f [T, K, W] -> [T]"""
    is_word = _flat(scores) > -float("inf")
    return namespace(scores).where(is_word, log_probs, 0).sum(-1) / is_word.sum(-1)


def _beside(values: Array, others: Array) -> Array:
    """Tensors where others are, real numbers in their precision; arrays in double precision."""
    if is_tensor(values):
        return values.to(others.device) if not values.is_floating_point() else values.to(others.device, others.dtype)
    return values if values.dtype.kind != "f" else doubled(values)


def _flat(values: Array) -> Array:
    """[T, K, W] -> [T, K · W], of no rows too"""
    return values.reshape(len(values), values.shape[1] * values.shape[2])

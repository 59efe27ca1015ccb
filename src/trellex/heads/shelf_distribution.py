"""P(word | h) by shelves: the first bits of a word's code find a shelf, and a score of its own the word on it."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from trellex.arrays import (
    Array,
    best_of,
    doubled,
    draw,
    fetch_few,
    is_tensor,
    log_sigmoid,
    log_softmax,
    log_sum_exp,
    namespace,
    pick,
)
from trellex.codes import Code
from trellex.heads.distribution import Distribution
from trellex.heads.spec import ShelvesSpec
from trellex.trellis import CompleteCode

PATIENCE = 16  # rounds of drawing a word that may be refused, after which all words are looked at


class ShelfDistribution(Distribution):
    """S = 2^b shelves, b < B, of at most W words, whose numbers are equal in their first b bits.

    A complete trellis gives the probability of a shelf, P(s). The K most probable shelves are visited: the words on
    them, C, share one softmax, P(w) = P(C) · softmax over C of f(w), where P(C) is the sum over their shelves. A word
    on any other shelf has P(w) = P(s) · softmax over s of f(w). So P sums to 1 whatever K is. The N frequent words,
    if any, are on no shelf but always among C; a logit tells them from all others.

    Args:
        spec: the sizes
        code: word ↔ bits, of the words on shelves
        vocab_size: V

    Shape:
        logits [T, L] of the trellis, shelves [T, K], scores f [T, K, W], −inf where a shelf has no word
    """

    def __init__(self, spec: ShelvesSpec, code: Code, vocab_size: int) -> None:
        self.code, self.vocab_size, self.first_rare = code, vocab_size, spec.first_rare
        self.shelf_bits = spec.shelf_bits(code.num_bits)
        self.num_shelves = 1 << self.shelf_bits
        self.width = -(-code.vocab_size // self.num_shelves)  # W
        self.visit = min(spec.visit, self.num_shelves)  # K
        self.ecc = CompleteCode(spec.memory)

    @abstractmethod
    def outputs(self, h: Array) -> tuple[Array, Array]:
        """Logits of the trellis that finds shelves, and of a word's being on one. h [T, H] -> [T, L], [T]"""

    @abstractmethod
    def word_scores(self, h: Array, shelves: Array) -> Array:
        """f of all words of some shelves, −inf where there is none. h [T, H], shelves [T, K] -> [T, K, W]"""

    @abstractmethod
    def frequent_scores(self, h: Array) -> Array:
        """f of the frequent words. h [T, H] -> [T, N]"""

    @property
    def length(self) -> int:
        """L, the number of logits of the trellis."""
        return self.ecc.length(self.shelf_bits)

    def words_on(self, shelves: Array) -> Array:
        """The words of shelves, −1 where there is none. [..] -> [.., W]"""
        places = namespace(shelves).arange(self.width, device=shelves.device)
        words = self.code.words(shelves[..., None] + (places << self.shelf_bits))
        return namespace(words).where(words >= 0, words + self.first_rare, -1) if self.first_rare else words

    def place_of(self, words: Array) -> tuple[Array, Array]:
        """The shelves of words, and their places on them. words [..], none of them frequent -> [..], [..]"""
        numbers = self.code.numbers(words - self.first_rare)
        return numbers & (self.num_shelves - 1), numbers >> self.shelf_bits

    def log_prob_of_shelves(self, logits: Array, rare: Array, shelves: Array) -> Array:
        """log P(s). logits [T, L], of being on a shelf [T], shelves [T, K] -> [T, K]"""
        bits = shelves[..., None] >> namespace(shelves).arange(self.shelf_bits, device=shelves.device) & 1
        log_probs = self.ecc.score(logits[:, None], bits) - self.ecc.log_partition(logits)[:, None]
        return log_probs + log_sigmoid(rare)[:, None] if self.first_rare else log_probs

    def _log_prob(self, h: Array, words: Array) -> Array:
        logits, rare = map(doubled, self.outputs(h))
        visited = self._best_shelves(logits, self.visit)
        return self.log_prob_among(h, logits, rare, visited, words)[0]

    def log_prob_among(self, h: Array, logits: Array, rare: Array, visited: Array, words: Array) -> tuple[Array, Array]:
        """log P of words, and of their shelves, or of being frequent. visited [T, K], words [T] -> [T], [T]"""
        library = namespace(h)
        shelf, place = self.place_of(words.clip(self.first_rare))
        shelves = library.concatenate([visited, shelf[:, None]], -1)
        scores, log_shelves = self.word_scores(h, shelves), self.log_prob_of_shelves(logits, rare, shelves)
        scores = doubled(scores) if logits.dtype.itemsize == 8 else scores
        own, log_group = scores[:, -1], log_shelves[:, -1]
        score = pick(own, place)
        outside = log_group + score - log_sum_exp(own)
        is_visited = (visited == shelf[:, None]).any(-1)
        together, log_visited = scores[:, :-1].reshape(len(h), -1), log_sum_exp(log_shelves[:, :-1])
        if self.first_rare:
            frequent, log_frequent = self.frequent_scores(h), log_sigmoid(-rare)
            frequent, is_frequent = frequent.to(scores.dtype) if is_tensor(h) else frequent, words < self.first_rare
            score = library.where(is_frequent, pick(frequent, words.clip(max=self.first_rare - 1)), score)
            together, log_visited = (
                library.concatenate([frequent, together], -1),
                library.logaddexp(log_frequent, log_visited),
            )
            is_visited, log_group = is_visited | is_frequent, library.where(is_frequent, log_frequent, log_group)
        return library.where(is_visited, log_visited + score - log_sum_exp(together), outside), log_group

    def _best_shelves(self, logits: Array, count: int) -> Array:
        """logits [T, L] -> [T, count]"""
        return self.ecc.topk(logits, count, self.num_shelves)[0]

    def _topk(self, h: Array, k: int) -> tuple[Array, Array]:
        """Best first: a shelf's probability is at least that of any word on it, so few shelves are looked at."""
        count = min(max(self.visit, -(-k // self.width)), self.num_shelves)
        logits, rare = map(doubled, fetch_few(*self.outputs(h)))
        words, log_probs, rows = self._topk_on(h, logits, rare, k, count)
        while len(rows):
            count = min(2 * count, self.num_shelves)
            found, found_log_probs, still_open = self._topk_on(h[rows], logits[rows], rare[rows], k, count)
            words[rows], log_probs[rows] = found, found_log_probs
            rows = rows[still_open]
        return words, log_probs

    def _topk_on(self, h: Array, logits: Array, rare: Array, k: int, count: int) -> tuple[Array, Array, Array]:
        """The k best words of the best shelves, and the rows in which others may be better. -> [T, k] twice, [rows]"""
        shelves = self._best_shelves(logits, min(count + 1, self.num_shelves))
        log_shelves = self.log_prob_of_shelves(logits, rare, shelves)
        words, log_probs = self._log_probs_on(h, rare, shelves[:, :count], log_shelves[:, :count])
        words, log_probs = best_of(log_probs, k, words)
        if count == self.num_shelves:
            return words, log_probs, np.empty(0, np.int64)
        is_open = log_probs[:, -1] < log_shelves[:, count]
        return words, log_probs, np.flatnonzero(is_open.cpu() if is_tensor(is_open) else is_open)

    def _log_probs_on(self, h: Array, rare: Array, shelves: Array, log_shelves: Array) -> tuple[Array, Array]:
        """log P of frequent words and of those on the best shelves.

        shelves, log P(s) [T, C], C ≥ K -> words, log P [T, N + C · W], of the device of the shelves
        """
        library, rows = namespace(h), len(h)
        scores = _beside(self.word_scores(h, _beside(shelves, h)), log_shelves)
        within = log_shelves[:, self.visit :, None] + log_softmax(scores[:, self.visit :])
        words, together = self.words_on(shelves).reshape(rows, -1), scores[:, : self.visit].reshape(rows, -1)
        log_visited = log_sum_exp(log_shelves[:, : self.visit])
        if self.first_rare:
            frequent = library.arange(self.first_rare, device=shelves.device)[None] + 0 * shelves[:, :1]
            words = library.concatenate([frequent, words], -1)
            together = library.concatenate([_beside(self.frequent_scores(h), log_shelves), together], -1)
            log_visited = library.logaddexp(log_sigmoid(-rare), log_visited)
        log_probs = library.concatenate([log_visited[:, None] + log_softmax(together), within.reshape(rows, -1)], -1)
        return words, library.where(words >= 0, log_probs, -float("inf"))

    def _sample(self, h: Array, temperature: float, generator: Any) -> Array:
        """Shelves are drawn from the tempered trellis; a word on one is taken as often as its own probability asks.

        What a tempered shelf weighs is known once its words are looked at, and bounded before: so it may be refused,
        and another is drawn. At temperature 1 none is.
        """
        library, random = namespace(h), generator if is_tensor(h) else np.random.default_rng(generator)
        logits, rare = map(doubled, self.outputs(h))
        visited = self._best_shelves(logits, self.visit)
        log_shelves = self.log_prob_of_shelves(logits, rare, visited)
        words, log_probs = self._log_probs_on(h, rare, visited, log_shelves)
        cold, log_share = log_probs / temperature, log_sum_exp(log_shelves / temperature)
        log_frequent = library.full_like(log_share, -float("inf"))  # the tempered share of being frequent in all draws
        if self.first_rare:
            log_tempered = log_sigmoid(-rare) / temperature
            log_share = library.logaddexp(log_share, log_tempered)
            log_total = self.ecc.log_partition(logits / temperature) - self.ecc.log_partition(logits) / temperature
            log_frequent = log_tempered - library.logaddexp(log_tempered, log_total + log_sigmoid(rare) / temperature)
        log_weight = log_sum_exp(cold) - log_share  # of visited words, to the share of their shelves
        most = max(0.0, (1 - 1 / temperature) * np.log(self.width))
        highest = library.maximum(log_weight, library.full_like(log_weight, most))
        drawn = pick(words, draw(cold, random))
        rows = library.arange(len(h), device=h.device)
        for _ in range(PATIENCE):
            shelf = self.ecc.sample(logits[rows] / temperature, self.num_shelves, random)
            own = log_softmax(doubled(self.word_scores(h[rows], shelf[:, None])[:, 0])) / temperature
            is_visited = (visited[rows] == shelf[:, None]).any(-1)
            is_visited |= _uniforms(log_share[rows], random) < library.exp(log_frequent[rows])
            log_kept = library.where(is_visited, log_weight[rows], log_sum_exp(own)) - highest[rows]
            word = pick(self.words_on(shelf), draw(own, random))
            drawn[rows] = library.where(is_visited, drawn[rows], word)
            rows = rows[_uniforms(log_kept, random) >= library.exp(log_kept)]
            if len(rows) == 0:
                return drawn
            drawn[rows] = pick(words[rows], draw(cold[rows], random))
        every = self._best_shelves(logits[rows], self.num_shelves)
        log_every = self.log_prob_of_shelves(logits[rows], rare[rows], every)
        words, log_probs = self._log_probs_on(h[rows], rare[rows], every, log_every)
        drawn[rows] = pick(words, draw(log_probs / temperature, random))
        return drawn


def _beside(values: Array, others: Array) -> Array:
    """Tensors where others are, real numbers in their precision; arrays in double precision."""
    if is_tensor(values):
        return values.to(others.device) if not values.is_floating_point() else values.to(others.device, others.dtype)
    return values if values.dtype.kind != "f" else doubled(values)


def _uniforms(like: Array, generator: Any) -> Array:
    """As many random numbers in [0, 1). like [T] -> [T]"""
    if is_tensor(like):
        return like.new_empty(like.shape).uniform_(generator=generator)
    return generator.random(like.shape)

"""P(word | h) of hybrids: frequent words by a softmax, rare ones by their codes."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from trellex.arrays import (
    Array,
    best_of,
    doubled,
    draw,
    fetch_few,
    is_tensor,
    largest,
    like,
    log_softmax,
    namespace,
    pick,
)
from trellex.heads.code_distribution import CodeDistribution
from trellex.heads.distribution import Distribution, on_rows


class HybridDistribution(Distribution):
    """Frequent words by a softmax whose last place is the marker OTHER, for all others; behind it, codes.

    P(w) is the softmax's for a frequent word, and P(OTHER) · P(w | bits) for a rare one.

    Attributes:
        bits: the distribution of the rare words
    """

    bits: CodeDistribution

    @property
    def first_rare(self) -> int:
        """The first rare word's id, and the place of OTHER in the softmax."""
        return self.bits.first_rare

    @property
    def decoding(self) -> str:  # type: ignore[override]
        return self.bits.decoding

    @abstractmethod
    def _logits(self, h: Array) -> Array:
        """Of frequent words and OTHER. h [T, H] -> [T, N]"""

    def log_prob_of_rare(self, h: Array) -> Array:
        """log P(OTHER), that of all rare words together. h [.., H] -> [..]"""
        log_probs = log_softmax(self._logits(self._rows(h)))[:, self.first_rare]
        return like(log_probs, h).reshape(h.shape[:-1])

    def _log_prob(self, h: Array, words: Array) -> Array:
        frequent = pick(log_softmax(self._logits(h)), words.clip(max=self.first_rare))
        return frequent + on_rows(self.bits._log_prob, words >= self.first_rare, h, words, self.first_rare)

    def _topk(self, h: Array, k: int) -> tuple[Array, Array]:
        log_probs = log_softmax(self._logits(h))
        frequent, frequent_log_probs = best_of(log_probs[:, : self.first_rare], k)
        rare, rare_log_probs = (like(found, h) for found in self.bits._topk(h, k))
        join = namespace(h).concatenate
        scores = join([frequent_log_probs, log_probs[:, self.first_rare :] + rare_log_probs], -1)
        return best_of(scores, k, join([frequent, rare], -1))

    def _best(self, h: Array) -> Array:
        """Bits are read only where they matter: where OTHER is above the frequent words, for no rare word can be."""
        words, leads = self._best_frequent(h)
        if self.bits.is_best_found_by_kernels(words):  # all of them sooner than these are counted
            rare, log_probs = self._best_rare(h)
            return rare.where(leads + log_probs > 0, words)
        rows = (leads > 0).nonzero()
        rows = rows[:, 0] if is_tensor(rows) else rows[0]
        if len(rows) == 0:
            return words
        rare, log_probs = (like(found, words) for found in self._best_rare(h[rows]))
        words[rows] = namespace(h).where(leads[rows] + log_probs > 0, rare, words[rows])
        return words

    def _best_rare(self, h: Array) -> tuple[Array, Array]:
        """The best rare words, and log P given that it is rare; 0 in the paper's decoding, which does not ask."""
        if self.decoding == "paper":
            words = self.bits._best(h)
            return words, words * 0.0
        return self.bits.best_with_log_prob(h)

    def _best_frequent(self, h: Array) -> tuple[Array, Array]:
        """The best frequent words, and by how much the logit of OTHER exceeds theirs. h [T, H] -> [T], [T]"""
        logits = self._logits(h)
        found = *largest(logits[:, : self.first_rare]), logits[:, self.first_rare]
        words, best, other = found if self.bits.is_best_found_by_kernels(h) else fetch_few(*found)
        return words, doubled(other) - doubled(best)

    def _sample(self, h: Array, temperature: float, generator: Any) -> Array:
        scores = self._logits(h) / temperature
        if temperature != 1.0:  # OTHER stands for all rare words: weigh it by their tempered sum
            scores[:, self.first_rare] += self.bits.log_mass(h, temperature)
        words = draw(scores, generator)
        rare = self.bits._sample(h, temperature, generator)
        return namespace(h).where(words == self.first_rare, rare, words)

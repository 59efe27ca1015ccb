"""A softmax over a few words that were chosen beforehand, others for every sentence."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from trellex.arrays import Array, best_of, draw, log_softmax, pick
from trellex.heads.distribution import SoftmaxDistribution

Ints = NDArray[np.int64]
NO_WORD = -1


class Selection(SoftmaxDistribution):
    """P(word | h, the word is in the list of its sentence). Words outside have the probability 0.

    Hidden states may be arrays or tensors; what is computed of them is read in main memory.

    Args:
        lists: the ids of each sentence's words, rising  [S] of [words]
        hidden_size, vocab_size: H, V

    Attributes:
        words: the same, filled up with −1  [S, L]
        sentence: whose list each row of hidden states has  [T]
    """

    def __init__(self, lists: Sequence[Ints], hidden_size: int, vocab_size: int) -> None:
        self.hidden_size, self.vocab_size = hidden_size, vocab_size
        self.words: Ints = np.full((len(lists), max(map(len, lists))), NO_WORD)
        for row, words in zip(self.words, lists, strict=True):
            row[: len(words)] = words
        self.sentence: Ints = np.arange(len(lists))

    def select(self, rows: Ints) -> Self:
        """The same for these rows of hidden states, in this order, possibly repeated."""
        selected = copy.copy(self)
        selected.sentence = self.sentence[rows]
        return selected

    @abstractmethod
    def _logits(self, h: Array) -> NDArray[Any]:
        """h [T, H] -> [T, L], −inf where a list has no more words"""

    def _log_probs(self, h: Array) -> tuple[Ints, NDArray[Any]]:
        """The words of every row, and their log-probabilities. -> [T, L] twice"""
        words = self.words[self.sentence]
        return words, np.where(words == NO_WORD, -np.inf, log_softmax(self._logits(h)))

    def _log_prob(self, h: Array, words: Array) -> NDArray[Any]:
        listed, log_probs = self._log_probs(h)
        is_it = listed == np.asarray(words)[:, None]
        return np.where(is_it.any(-1), pick(log_probs, is_it.argmax(-1)), -np.inf)

    def _topk(self, h: Array, k: int) -> tuple[Ints, NDArray[Any]]:
        words, log_probs = self._log_probs(h)
        return best_of(log_probs, k, words)

    def _best(self, h: Array) -> Ints:
        return pick(self.words[self.sentence], self._logits(h).argmax(-1))

    def _sample(self, h: Array, temperature: float, generator: Any) -> Ints:
        return pick(self.words[self.sentence], draw(self._logits(h) / temperature, generator))

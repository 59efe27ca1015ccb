"""P(word | h): how words are read from what an output layer computes, in numpy arrays and torch tensors alike.

A distribution says what to compute by an abstract method (`_logits`, `outputs`); torch modules and the runtime's
layers are its subclasses, and may override any way of reading that they can do faster.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from trellex.arrays import (
    Array,
    as_count,
    as_integers,
    best_of,
    draw,
    is_inspectable,
    is_tensor,
    like,
    log_softmax,
    namespace,
    pick,
)


class Distribution(ABC):
    """Words given hidden states.

    Attributes:
        hidden_size: H
        vocab_size: V
        decoding: "exact": the best word is the most probable; "paper": it may be another, see `CodeDistribution`

    Shape:
        h [.., H], words [..]; inside, T rows: h [T, H], words [T]
    """

    hidden_size: int
    vocab_size: int
    decoding = "exact"

    @property
    def num_outputs(self) -> int:
        """How many numbers it computes for a word."""
        return self.vocab_size

    def log_prob(self, h: Array, words: Array) -> Array:
        """log P(word | h), which sums to 1 over the vocabulary. h [.., H], words [..] -> [..]"""
        rows, flat = self._rows(h), self._words(h, words, "words")
        self._check_ids(flat, "words")
        return like(self._log_prob(rows, flat), h).reshape(words.shape)

    def topk(self, h: Array, k: int) -> tuple[Array, Array]:
        """The k most probable words, best first. h [.., H] -> words, log_probs [.., k]

        Where there are fewer than k, words end in −1 and log_probs in −inf.
        """
        words, log_probs = self._topk_decoded(self._rows(h), as_count(k, "k"))
        shape = (*h.shape[:-1], k)
        return like(words, h).reshape(shape), like(log_probs, h).reshape(shape)

    def topk_at_once(self, h: Array, k: int) -> tuple[Array, Array, Array]:
        """`topk` without a second look, for which an accelerator would be waited for, and what that could find.

        h [.., H] -> words, log_probs [.., k], the most that log P of a word that `topk` would find instead can be [..]
        """
        found = self._topk_at_once(self._rows(h), as_count(k, "k"))
        words, log_probs, log_bound = (like(each, h) for each in found)
        shape = h.shape[:-1]
        return words.reshape(*shape, k), log_probs.reshape(*shape, k), log_bound.reshape(shape)

    def best(self, h: Array) -> Array:
        """The first of the words that `topk` gives, faster because it needs no probability. h [.., H] -> words [..]"""
        return like(self._best(self._rows(h)), h).reshape(h.shape[:-1])

    def best_at_once(self, h: Array) -> Array:
        """`best`, or −1 where that takes a second look, for which an accelerator would be waited for. -> words [..]"""
        return like(self._best_at_once(self._rows(h)), h).reshape(h.shape[:-1])

    def sample(self, h: Array, temperature: float = 1.0, generator: Any = None) -> Array:
        """Words drawn with probabilities in proportion to P^(1 / temperature). h [.., H] -> words [..]

        generator: a `torch.Generator` for tensors, a `numpy.random.Generator` for arrays
        """
        if not 1e-3 <= temperature <= 1e3:
            raise ValueError(f"temperature: expected 0.001 to 1,000, got {temperature}; for the best word use topk")
        return like(self._sample(self._rows(h), temperature, generator), h).reshape(h.shape[:-1])

    def _rows(self, h: Array) -> Array:
        """h [.., H] -> [T, H]"""
        if h.ndim == 0 or h.shape[-1] != self.hidden_size:
            raise ValueError(f"h: the last dimension must be {self.hidden_size}, got shape {tuple(h.shape)}")
        return h.reshape(-1, self.hidden_size)

    def _words(self, h: Array, words: Array, name: str) -> Array:
        """words [..], which must be as many as hidden states -> [T]"""
        if words.shape != h.shape[:-1]:
            raise ValueError(f"{name}: expected shape {tuple(h.shape[:-1])}, as h has, got {tuple(words.shape)}")
        return as_integers(words, name).reshape(-1)

    def _check_ids(self, words: Array, name: str) -> None:
        """Raises ValueError if one is not in the vocabulary; on an accelerator that is not looked for. words [T]"""
        if is_inspectable(words) and bool(((words < 0) | (words >= self.vocab_size)).any()):
            found = f"{int(words.min())} … {int(words.max())}"
            raise ValueError(f"{name}: ids go from 0 to {self.vocab_size - 1}, got {found}")

    @abstractmethod
    def _log_prob(self, h: Array, words: Array) -> Array:
        """h [T, H], words [T] -> [T]"""

    @abstractmethod
    def _topk(self, h: Array, k: int) -> tuple[Array, Array]:
        """h [T, H] -> words, log_probs [T, k]"""

    def _topk_decoded(self, h: Array, k: int) -> tuple[Array, Array]:
        """The same, but for the paper's way to find a single word."""
        if k > 1 or self.decoding != "paper":
            return self._topk(h, k)
        words = like(self._best(h), h)
        return words[:, None], self._log_prob(h, words)[:, None]

    def _topk_at_once(self, h: Array, k: int) -> tuple[Array, Array, Array]:
        words, log_probs = self._topk_decoded(h, k)
        return words, log_probs, namespace(log_probs).full_like(log_probs[:, 0], -float("inf"))

    def _best(self, h: Array) -> Array:
        return self._topk(h, 1)[0][:, 0]

    def _best_at_once(self, h: Array) -> Array:
        return self._best(h)

    @abstractmethod
    def _sample(self, h: Array, temperature: float, generator: Any) -> Array:
        """h [T, H] -> words [T]"""


class SoftmaxDistribution(Distribution):
    """A score for every word."""

    @abstractmethod
    def _logits(self, h: Array) -> Array:
        """h [T, H] -> [T, V]"""

    def _log_prob(self, h: Array, words: Array) -> Array:
        return pick(log_softmax(self._logits(h)), words)

    def _topk(self, h: Array, k: int) -> tuple[Array, Array]:
        return best_of(log_softmax(self._logits(h)), k)

    def _best(self, h: Array) -> Array:
        return self._logits(h).argmax(-1)

    def _sample(self, h: Array, temperature: float, generator: Any) -> Array:
        return draw(self._logits(h) / temperature, generator)


def on_rows(function: Any, chosen: Array, h: Array, words: Array, otherwise: int) -> Array:
    """A function of the chosen rows, 0 elsewhere. chosen [T], h [T, H], words [T] -> [T]

    On an accelerator it is computed for all rows, with the word `otherwise` in those that were not chosen, because to
    count the chosen ones would wait for the device.
    """
    if not is_inspectable(h):
        return function(h, words.where(chosen, otherwise)).where(chosen, 0.0)
    if not is_tensor(h):
        found = np.zeros(len(h))
        rows = np.flatnonzero(chosen)
        if len(rows):
            found[rows] = function(h[rows], words[rows])
        return found
    rows = chosen.nonzero()[:, 0]
    values = function(h[rows], words[rows])
    return values.new_zeros(len(h)).index_copy(0, rows, values)

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
    doubled,
    draw,
    fetch_few,
    has_kernels,
    is_inspectable,
    is_tensor,
    largest,
    like,
    log_softmax,
    log_sum_exp,
    namespace,
    number_to_bits,
    pick,
)
from trellex.codes import Code
from trellex.heads.code_spec import CodeSpec
from trellex.trellis import between

UNK = 0


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


class CodeDistribution(Distribution):
    """Words by their codes, from the logits of their redundant bits.

    With K > 1 sets of bits it is a mixture: P(w) = Σ π_k P_k(w). Independent bits can hold one guess; a mixture, K.

    Args:
        spec: the error-correcting code, which words bits may spell, and how the best is chosen: "exact", the most
            probable; or "paper", the best of all bit arrays, and UNK if it belongs to no word
        code: word ↔ bits, of those words alone, numbered from 0; or a frequency code of the whole vocabulary
        vocab_size: V

    Shape:
        logits [T, K, L] of redundant bits; log π [T, K]
    """

    def __init__(self, spec: CodeSpec, code: Code, vocab_size: int) -> None:
        self.code, self.ecc, self.vocab_size = code, spec.error_correction(), vocab_size
        self.first_rare, self.decoding = spec.first_rare, spec.decoding
        self.offset = vocab_size - code.vocab_size  # the word whose number in the code is 0
        skips = self.first_rare > self.offset
        self.automaton = between(self.first_rare, vocab_size, code.num_bits) if skips else code.automaton
        self._words_allowed: dict[str, Any] = {"size": code.vocab_size, "automaton": self.automaton}  # for the trellis

    @abstractmethod
    def outputs(self, h: Array) -> tuple[Array, Array]:
        """Logits of the redundant bits, and log π. h [T, H] -> [T, K, L], [T, K]"""

    def _exact_outputs(self, h: Array, fetched: bool = False) -> tuple[Array, Array]:
        """The same in double precision, because scores are large and their differences small; if asked, `fetch_few`."""
        outputs = self.outputs(h)
        logits, log_weights = fetch_few(*outputs) if fetched and not self.is_read_by_kernels(h) else outputs
        return doubled(logits), doubled(log_weights)

    def is_read_by_kernels(self, h: Array) -> bool:
        """Whether Triton's kernels read words where h is; they know no words but the numbers below a size."""
        return self.automaton is None and has_kernels(h)

    def is_best_found_by_kernels(self, h: Array) -> bool:
        """Whether they find the best word, which the paper's decoding looks for among all bit arrays."""
        return self.is_read_by_kernels(h) or (self.decoding == "paper" and has_kernels(h))

    @property
    def length(self) -> int:
        """L, the number of redundant bits."""
        return self.ecc.length(self.code.num_bits)

    def redundant_bits(self, words: Array) -> Array:
        """words [..] -> [.., L]"""
        return self.ecc.encode(self.code.bits(words - self.offset))

    def scores(self, logits: Array, words: Array) -> Array:
        """What the logits of all parts say for words. logits [T, K, L], words [T, ..] -> [T, .., K]"""
        bits, rows = self.code.bits(words - self.offset), (slice(None), *(None,) * (words.ndim - 1))
        parts = [self.ecc.score(logits[:, part][rows], bits) for part in range(logits.shape[1])]
        return namespace(logits).stack(parts, -1)

    def log_partition(self, logits: Array) -> Array:
        """logits [.., L] -> [..]"""
        return self.ecc.log_partition(logits, **self._words_allowed)

    def posterior(self, logits: Array) -> Array:
        """How probable a 1 is in each place of the code word, over all words. logits [.., L] -> [.., L]"""
        return self.ecc.posterior(logits, **self._words_allowed)

    def mixed(self, log_probs: Array, log_weights: Array) -> Array:
        """log Σ π_k P_k. log_probs, log_weights [.., K] -> [..]"""
        return log_probs[..., 0] if log_probs.shape[-1] == 1 else log_sum_exp(log_probs + log_weights)

    def decoded_bits(self, h: Array) -> Array:
        """The bits that the decoding reads, in the paper's be they a word's or not. h [T, H] -> [T, B]"""
        logits, log_weights = self._exact_outputs(h, fetched=True)
        if self.decoding == "paper":
            return number_to_bits(self._best_arrays(logits), self.code.num_bits)
        return self.code.bits(self._topk_of(logits, log_weights, 1)[0][:, 0] - self.offset)

    def _best_arrays(self, logits: Array) -> Array:
        """The numbers of the best bit arrays, be they a word's or not. [T, 1, L] -> [T]"""
        return self.ecc.topk(logits[:, 0], 1)[0][:, 0]

    def _log_prob(self, h: Array, words: Array) -> Array:
        logits, log_weights = self._exact_outputs(h)
        return self.mixed(self.scores(logits, words) - self.log_partition(logits), log_weights)

    def _topk(self, h: Array, k: int) -> tuple[Array, Array]:
        if k > 1:
            logits, log_weights = self._exact_outputs(h, fetched=True)
            return self._topk_of(logits, log_weights, k)
        words, log_probs = self.best_with_log_prob(h)
        return words[:, None], log_probs[:, None]

    def best_with_log_prob(self, h: Array) -> tuple[Array, Array]:
        """The most probable words, whatever the decoding. h [T, H] -> words, log_probs [T]"""
        logits, log_weights = self._exact_outputs(h, fetched=True)
        if logits.shape[1] == 1:
            numbers, scores, normaliser = self.ecc.best(logits[:, 0], **self._words_allowed)
            return self._words_of(numbers), scores - normaliser
        words, log_probs = self._topk_of(logits, log_weights, 1)
        return words[:, 0], log_probs[:, 0]

    def _topk_of(self, logits: Array, log_weights: Array, k: int) -> tuple[Array, Array]:
        """The k most probable words, −1 and −inf where there are fewer. -> words, log_probs [T, k]

        Of a mixture: the most probable among the k best words of each part, weighed by all parts. Those are the k
        best of all unless one of them is among the k best of no part.
        """
        numbers, scores = self.ecc.topk(logits, k, **self._words_allowed)  # [T, K, k]
        normaliser = self.log_partition(logits)
        if logits.shape[1] == 1:
            return self._words_of(numbers[:, 0]), scores[:, 0] - normaliser
        library = namespace(logits)
        words = library.sort(self._words_of(numbers).reshape(len(logits), logits.shape[1] * k))  # [T, K · k], −1 first
        words = words.values if is_tensor(logits) else words
        repeated = library.concatenate([words[:, :1] < 0, words[:, 1:] == words[:, :-1]], -1)
        scores = self.scores(logits, words.clip(self.first_rare))
        log_probs = self.mixed(scores - normaliser[:, None], log_weights[:, None])
        return best_of(library.where(repeated, -float("inf"), log_probs), k, words)

    def _best(self, h: Array) -> Array:
        """Of a single part it needs no normaliser."""
        logits, log_weights = self._exact_outputs(h, fetched=not self.is_best_found_by_kernels(h))
        if self.decoding == "paper":
            return self.words_or_unknown(self._best_arrays(logits))
        if logits.shape[1] > 1:
            return self._topk_of(logits, log_weights, 1)[0][:, 0]
        return self._words_of(self.ecc.topk(logits[:, 0], 1, **self._words_allowed)[0][:, 0])

    def _sample(self, h: Array, temperature: float, generator: Any) -> Array:
        """The temperature is that of the part and the word together: (π_k P_k(w))^(1 / temperature)."""
        logits, log_weights = self._exact_outputs(h)
        if logits.shape[1] == 1:
            chosen = logits[:, 0]
        else:
            chosen = pick(logits, draw(self._log_masses(logits, log_weights, temperature), generator))
        return self._words_of(self.ecc.sample(chosen / temperature, generator=generator, **self._words_allowed))

    def log_mass(self, h: Array, temperature: float) -> Array:
        """The log of what `sample` normalises: log Σ_k Σ_w (π_k P_k(w))^(1 / temperature). h [T, H] -> [T]"""
        return log_sum_exp(self._log_masses(*self._exact_outputs(h), temperature))

    def _log_masses(self, logits: Array, log_weights: Array, temperature: float) -> Array:
        """log Σ_w (π_k P_k(w))^(1 / temperature) of every part. -> [T, K]"""
        cold = self.log_partition(logits) - log_weights
        return self.log_partition(logits / temperature) - cold / temperature

    def words_or_unknown(self, numbers: Array) -> Array:
        """The vocabulary's words of bit arrays' numbers, UNK where there is none, as in the paper."""
        return self._in_vocabulary(self.code.words(numbers)).clip(UNK)

    def _words_of(self, numbers: Array) -> Array:
        """The vocabulary's words of numbers, −1 where there is none."""
        return self._in_vocabulary(self.code.words(numbers))

    def _in_vocabulary(self, words: Array) -> Array:
        """Words of the code as words of the vocabulary; −1 stays."""
        return words if self.offset == 0 else namespace(words).where(words >= 0, words + self.offset, -1)


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

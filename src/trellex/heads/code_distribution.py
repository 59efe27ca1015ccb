"""P(word | h) by the codes of words: read from the logits of redundant bits, on the trellis."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from trellex.arrays import (
    Array,
    best_of,
    doubled,
    draw,
    fetch_few,
    has_kernels,
    is_tensor,
    log_sum_exp,
    namespace,
    number_to_bits,
    pick,
)
from trellex.codes import Code
from trellex.heads.code_spec import CodeSpec
from trellex.heads.distribution import Distribution
from trellex.trellis import between

UNK = 0


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

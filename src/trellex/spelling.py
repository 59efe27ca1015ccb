"""Spelling: which words the logits of redundant bits spell, in numpy arrays and torch tensors alike."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from trellex.arrays import Array, best_of, is_tensor, log_sum_exp, namespace, sigmoid
from trellex.codes import Code
from trellex.trellis import ConvolutionalCode

DECODINGS = ("exact", "paper")


class Spelling:
    """A code and its redundancy, read together.

    With K > 1 sets of bits the words are those of a mixture: P(w) = Σ π_k P_k(w).

    Args:
        code: word ↔ bits
        ecc: bits ↔ redundant bits
        automaton: accepts the bit arrays of the words that may be spelt; all of the code's unless given  [B, S, 2]

    Shape:
        logits [T, K, L], best in double precision; log π [T, K]; words [T]
    """

    def __init__(self, code: Code, ecc: ConvolutionalCode, automaton: NDArray[Any] | None = None) -> None:
        self.code, self.ecc = code, ecc
        self.automaton = code.automaton if automaton is None else automaton

    @property
    def length(self) -> int:
        """L, the number of redundant bits."""
        return self.ecc.length(self.code.num_bits)

    def redundant_bits(self, words: Array) -> Array:
        """words [..] -> [.., L]"""
        return self.ecc.encode(self.code.bits(words))

    def log_partition(self, logits: Array) -> Array:
        """logits [.., L] -> [..]"""
        return self.ecc.log_partition(logits, size=self.code.vocab_size, automaton=self.automaton)

    def posterior(self, logits: Array) -> Array:
        """The probability that each redundant bit is 1. logits [.., L] -> [.., L]"""
        return self.ecc.posterior(logits, size=self.code.vocab_size, automaton=self.automaton)

    def log_prob(self, logits: Array, log_weights: Array, words: Array) -> Array:
        """log P of words [T] -> [T]"""
        scores = (logits * self.redundant_bits(words)[:, None]).sum(-1)
        return self.mixed(scores - self.log_partition(logits), log_weights)

    def log_masses(self, logits: Array, log_weights: Array, temperature: float) -> Array:
        """log Σ_w (π_k P_k(w))^(1 / temperature) of every part. -> [T, K]"""
        cold = self.log_partition(logits) - log_weights
        return self.log_partition(logits / temperature) - cold / temperature

    def mixed(self, log_probs: Array, log_weights: Array) -> Array:
        """log Σ π_k P_k. log_probs, log_weights [.., K] -> [..]"""
        return log_probs[..., 0] if log_probs.shape[-1] == 1 else log_sum_exp(log_probs + log_weights)

    def topk(self, logits: Array, log_weights: Array, k: int) -> tuple[Array, Array]:
        """The k most probable words, −1 and −inf where there are fewer. -> words, log_probs [T, k]

        Of a mixture: the most probable among the k best words of each part, weighed by all parts. Those are the k
        best of all unless one of them is among the k best of no part.
        """
        numbers, scores = self.ecc.topk(logits, k, size=self.code.vocab_size, automaton=self.automaton)  # [T, K, k]
        normaliser = self.log_partition(logits)
        if logits.shape[1] == 1:
            return self.code.words(numbers[:, 0]), scores[:, 0] - normaliser
        library = namespace(logits)
        words = library.sort(self.code.words(numbers).reshape(len(logits), logits.shape[1] * k))  # [T, K · k], −1 first
        words = words.values if is_tensor(logits) else words
        repeated = library.concatenate([words[:, :1] < 0, words[:, 1:] == words[:, :-1]], -1)
        bits = self.redundant_bits(words.clip(0))
        scores = library.einsum("tcl,tkl->tck", bits.double() if is_tensor(bits) else bits, logits)
        log_probs = self.mixed(scores - normaliser[:, None], log_weights[:, None])
        return best_of(library.where(repeated, -float("inf"), log_probs), words, k)

    def best(self, logits: Array, log_weights: Array) -> Array:
        """The first of the words that `topk` gives; of a single part it needs no normaliser. -> words [T]"""
        if logits.shape[1] > 1:
            return self.topk(logits, log_weights, 1)[0][:, 0]
        numbers, _ = self.ecc.topk(logits[:, 0], 1, size=self.code.vocab_size, automaton=self.automaton)
        return self.code.words(numbers[:, 0])

    def sample(self, logits: Array, generator: Any = None) -> Array:
        """A word drawn for every row of a single part, by what the trellis takes as generator. [T, L] -> words [T]"""
        size, automaton = self.code.vocab_size, self.automaton
        return self.code.words(self.ecc.sample(logits, size=size, generator=generator, automaton=automaton))

    def decode(self, logits: Array) -> Array:
        """The paper's decoding: the best of all bit arrays, −1 if it belongs to no word. logits [T, L] -> words [T]"""
        return self.code.ids(self.ecc.decode(sigmoid(logits)))


def check_decoding(decoding: str) -> str:
    if decoding not in DECODINGS:
        raise ValueError(f"decoding: expected one of {', '.join(DECODINGS)}, got {decoding!r}")
    return decoding

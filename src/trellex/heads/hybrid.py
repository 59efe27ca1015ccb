"""The paper's Hybrid-N and Hybrid-N-EC: softmax for frequent words, codes for the rest."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from trellex.codes import Code, FrequencyCode
from trellex.heads.binary import UNK
from trellex.heads.bits import BitLayer, check_decoding
from trellex.heads.head import Cost, Head, at_least_single, linear_cost, padded_topk
from trellex.trellis import ConvolutionalCode, between


class HybridHead(Head):
    """A softmax over the N − 1 most frequent words and the marker OTHER; behind OTHER, bits spell a rare word.

    P(w) is the softmax's for a frequent word, and P(OTHER) · P(w | bits) for a rare one: O(H (N + log V)).

    Args:
        hidden_size: H
        vocab_size: V
        softmax_size: N, OTHER included
        ecc: bits ↔ redundant bits of rare words
        code: a code of the V − N + 1 rare words, numbered from 0; None: as in the paper, the frequency code of the
            whole vocabulary, in which the frequent words' arrays go unused
        loss: see `BitLayer`
        softmax_weight, bits_weight: λ_H and λ_B, the weights of the two losses
        decoding: "paper": `topk` for k = 1 first decides between OTHER and the frequent words, then takes the best
            bit array, UNK if it belongs to no word; "exact": the most probable word of all
        options: see `Head`
    """

    def __init__(
        self,
        hidden_size: int,
        vocab_size: int,
        softmax_size: int,
        ecc: ConvolutionalCode,
        *,
        code: Code | None = None,
        loss: str = "squared",
        softmax_weight: float = 1.0,
        bits_weight: float = 1.0,
        decoding: str = "paper",
        **options: Any,
    ) -> None:
        super().__init__(hidden_size, vocab_size, **options)
        if not 2 <= softmax_size < vocab_size:
            raise ValueError(
                f"softmax_size: N = {softmax_size} does not fit a vocabulary of {vocab_size} words: "
                "it must be at least 2 and leave at least 2 rare words; choose a smaller N or plain softmax"
            )
        self.other = softmax_size - 1  # the marker's place in the softmax, and the id of the first rare word
        self.softmax = nn.Linear(hidden_size, softmax_size)
        if code is None:
            paper_code = FrequencyCode(vocab_size)
            rare = between(self.other, vocab_size, paper_code.num_bits)
            self.bits, self.offset = BitLayer(hidden_size, paper_code, ecc, loss, rare), 0
        else:
            if code.vocab_size != vocab_size - self.other:
                raise ValueError(f"code: expected {vocab_size - self.other} rare words, got {code.vocab_size}")
            self.bits, self.offset = BitLayer(hidden_size, code, ecc, loss), self.other
        self.softmax_weight, self.bits_weight = softmax_weight, bits_weight
        self.decoding = check_decoding(decoding)

    def _log_softmax(self, h: Tensor) -> Tensor:
        """h [T, H] -> [T, N]"""
        return at_least_single(self.softmax(h)).log_softmax(-1)

    def _two_parts(self, words: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Place in the softmax, whether it is rare, and the word in the bits' numbering. words [T] -> [T] thrice"""
        rare = words >= self.other
        return words.clamp(max=self.other), rare, words.clamp(min=self.other) - self.offset

    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        place, rare, rare_word = self._two_parts(target)
        softmax_loss = -self._log_softmax(h).gather(-1, place[:, None])[:, 0]
        return self.softmax_weight * softmax_loss + self.bits_weight * self.bits.loss(h, rare_word).where(rare, 0.0)

    def log_prob(self, h: Tensor, words: Tensor) -> Tensor:
        return self._log_prob(self._log_softmax(h), h, words)

    def _log_prob(self, log_softmax: Tensor, h: Tensor, words: Tensor) -> Tensor:
        """log_softmax [T, N], h [T, H], words [T] -> [T]"""
        place, rare, rare_word = self._two_parts(words)
        frequent = log_softmax.gather(-1, place[:, None])[:, 0]
        return frequent + self.bits.log_prob(h, rare_word).where(rare, 0.0)

    def topk(self, h: Tensor, k: int) -> tuple[Tensor, Tensor]:
        log_softmax = self._log_softmax(h)
        if self.decoding == "paper" and k == 1:
            place = log_softmax.argmax(-1)
            words = self._to_vocabulary(self.bits.decode(h)).clamp(min=UNK).where(place == self.other, place)
            return words[:, None], self._log_prob(log_softmax, h, words)[:, None]
        rare_words, rare_log_probs = self.bits.topk(h, k)
        frequent_words = torch.arange(self.other, device=h.device).expand(len(h), -1)
        words = torch.cat([frequent_words, self._to_vocabulary(rare_words)], -1)
        scores = torch.cat([log_softmax[:, : self.other], log_softmax[:, self.other :] + rare_log_probs], -1)
        return padded_topk(scores, words, k)

    def _to_vocabulary(self, rare_words: Tensor) -> Tensor:
        """From the bits' numbering to that of the vocabulary; −1 stays."""
        return (rare_words + self.offset).where(rare_words >= 0, -1)

    def sample(self, h: Tensor, temperature: float = 1.0) -> Tensor:
        logits = at_least_single(self.softmax(h)) / temperature
        if temperature != 1.0:  # OTHER stands for all rare words: weigh it by their tempered sum
            logits[:, self.other] += self.bits.log_mass(h, temperature)
        place = torch.multinomial(logits.softmax(-1), 1)[:, 0]
        return self._to_vocabulary(self.bits.sample(h, temperature)).where(place == self.other, place)

    def cost(self) -> Cost:
        return linear_cost(self.softmax, self.bits.linear, bits=self.bits.linear.out_features)

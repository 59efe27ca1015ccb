"""The paper's Hybrid-N and Hybrid-N-EC: softmax for frequent words, codes for the rest."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from trellex.arrays import best_of
from trellex.heads.binary import UNK
from trellex.heads.bits import BitLayer, fetch_few
from trellex.heads.head import Cost, Head, at_least_single, linear_cost, on_rows


class HybridHead(Head):
    """A softmax over the N − 1 most frequent words and the marker OTHER; behind OTHER, bits spell a rare word.

    P(w) is the softmax's for a frequent word, and P(OTHER) · P(w | bits) for a rare one: O(H (N + log V)).

    In the paper's decoding `topk` for k = 1 first decides between OTHER and the frequent words, then takes the best bit
    array, and UNK if it belongs to no word.

    Args:
        vocab_size: V
        softmax_size: N, OTHER included
        bits: the layer that predicts the bits of rare words; its code is either one of the V − N + 1 rare words,
            numbered from 0, or, as in the paper, one of the whole vocabulary, restricted to them
        softmax_weight, bits_weight: λ_H and λ_B, the weights of the two losses
        options: see `Head`
    """

    def __init__(
        self,
        vocab_size: int,
        softmax_size: int,
        bits: BitLayer,
        *,
        softmax_weight: float = 1.0,
        bits_weight: float = 1.0,
        **options: Any,
    ) -> None:
        super().__init__(bits.hidden_size, vocab_size, **options)
        self.other = softmax_size - 1  # the marker's place in the softmax, and the id of the first rare word
        self.softmax = nn.Linear(bits.hidden_size, softmax_size)
        self.bits = bits.check_smoothing(self.label_smoothing)
        self.offset = vocab_size - bits.spelling.code.vocab_size
        if self.offset not in (0, self.other):
            raise ValueError(f"bits: expected a code of {vocab_size - self.other} rare words, got {bits.spelling.code}")
        self.softmax_weight, self.bits_weight = softmax_weight, bits_weight

    def _log_softmax(self, h: Tensor) -> Tensor:
        """h [T, H] -> [T, N]"""
        return at_least_single(self.softmax(h)).log_softmax(-1)

    def _two_parts(self, words: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Place in the softmax, whether it is rare, and the word in the bits' numbering. words [T] -> [T] thrice"""
        rare = words >= self.other
        return words.clamp(max=self.other), rare, words.clamp(min=self.other) - self.offset

    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        place, rare, rare_word = self._two_parts(target)
        log_softmax = self._log_softmax(h)
        softmax_loss = -log_softmax.gather(-1, place[:, None])[:, 0]
        if self.label_smoothing:
            return self._smoothed(h, log_softmax, softmax_loss, rare, rare_word)
        return self.softmax_weight * softmax_loss + self.bits_weight * on_rows(self.bits.loss, rare, h, rare_word)

    def _smoothed(
        self, h: Tensor, log_softmax: Tensor, softmax_loss: Tensor, rare: Tensor, rare_word: Tensor
    ) -> Tensor:
        """(1 − ε) of the target's loss and ε of the mean over all words, of which a share r is rare. -> [T]"""
        epsilon, rare_share = self.label_smoothing, 1 - self.other / self.vocab_size
        mean = -(log_softmax[:, : self.other].sum(-1) / self.vocab_size + rare_share * log_softmax[:, self.other])
        of_mean = epsilon * rare_share  # how much of the bits' loss goes to the mean over the rare words, in any row
        weight = (1 - epsilon) * rare.to(log_softmax.dtype) + of_mean
        bits_loss = weight * self.bits.loss(h, rare_word, of_mean / weight)
        return self.softmax_weight * torch.lerp(softmax_loss, mean, epsilon) + self.bits_weight * bits_loss

    def _log_prob(self, h: Tensor, words: Tensor) -> Tensor:
        return self._joined(self._log_softmax(h), h, words)

    def _joined(self, log_softmax: Tensor, h: Tensor, words: Tensor) -> Tensor:
        """log_softmax [T, N], h [T, H], words [T] -> [T]"""
        place, rare, rare_word = self._two_parts(words)
        frequent = log_softmax.gather(-1, place[:, None])[:, 0]
        return frequent + self.bits.log_prob(h, rare_word).where(rare, 0.0)

    def _topk(self, h: Tensor, k: int) -> tuple[Tensor, Tensor]:
        if self.bits.decoding == "paper" and k == 1:
            words = self._best(h)
            return words[:, None], self._log_prob(h, words)[:, None]
        log_softmax = self._log_softmax(h)
        rare_words, rare_log_probs = self.bits.topk(h, k)
        frequent_words = torch.arange(self.other, device=h.device).expand(len(h), -1)
        words = torch.cat([frequent_words, self._to_vocabulary(rare_words)], -1)
        scores = torch.cat([log_softmax[:, : self.other], log_softmax[:, self.other :] + rare_log_probs], -1)
        return best_of(scores, words, k)

    def _best(self, h: Tensor) -> Tensor:
        """Bits are read only where they matter: where OTHER is above the frequent words, for no rare word can be."""
        logits = self.softmax(h)
        logit, words, other = fetch_few(*logits[:, : self.other].max(-1), logits[:, self.other])
        rows = (other > logit).nonzero()[:, 0]
        if len(rows) == 0:
            return words.to(h.device)
        if self.bits.decoding == "paper":
            words[rows] = self._to_vocabulary(self.bits.best(h[rows]).to(rows.device)).clamp(min=UNK)
            return words.to(h.device)
        rare_words, rare_log_probs = (best[:, 0].to(rows.device) for best in self.bits.topk(h[rows], 1))
        is_better = other[rows] + rare_log_probs > logit[rows]
        words[rows] = self._to_vocabulary(rare_words).where(is_better, words[rows])
        return words.to(h.device)

    def _to_vocabulary(self, rare_words: Tensor) -> Tensor:
        """From the bits' numbering to that of the vocabulary; −1 stays."""
        return (rare_words + self.offset).where(rare_words >= 0, -1)

    def _sample(self, h: Tensor, temperature: float, generator: torch.Generator | None) -> Tensor:
        logits = at_least_single(self.softmax(h)) / temperature
        if temperature != 1.0:  # OTHER stands for all rare words: weigh it by their tempered sum
            logits[:, self.other] += self.bits.log_mass(h, temperature)
        place = torch.multinomial(logits.softmax(-1), 1, generator=generator)[:, 0]
        rare_word = self._to_vocabulary(self.bits.sample(h, temperature, generator))
        return rare_word.where(place == self.other, place)

    def cost(self) -> Cost:
        return linear_cost(self.softmax) + self.bits.cost()

"""The paper's Hybrid-N and Hybrid-N-EC: softmax for frequent words, codes for the rest."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from trellex.arrays import bounded
from trellex.heads.bits import BitLayer
from trellex.heads.code_spec import HybridSpec
from trellex.heads.cross_entropy import cross_entropy
from trellex.heads.distribution import on_rows
from trellex.heads.head import Cost, Head, at_least_single, linear_cost
from trellex.heads.hybrid_distribution import HybridDistribution


class HybridHead(HybridDistribution, Head):
    """A softmax over the N − 1 most frequent words and the marker OTHER; behind it, bits: O(H (N + log V))."""

    spec: HybridSpec
    bits: BitLayer

    def __init__(self, spec: HybridSpec, hidden_size: int, vocab: Any, embedding: nn.Embedding | None = None) -> None:
        super().__init__(spec, hidden_size, vocab)
        bits = BitLayer(spec, hidden_size, vocab)
        self.softmax = nn.Linear(hidden_size, spec.size)
        self.bits, self.code = bits, bits.code

    def _logits(self, h: Tensor) -> Tensor:
        return at_least_single(self.softmax(h))

    def _best_at_once(self, h: Tensor) -> Tensor:
        """The same in few launches, where kernels read the bits."""
        if self.decoding == "paper" or not self.bits.is_read_at_once(h):
            return super()._best_at_once(h)
        from trellex.heads import fused_choices

        numbers, scores, log_sums = self.bits.best_numbers(h)
        return fused_choices.of_hybrid(self._logits(h), numbers, scores, log_sums, self.bits.code.table_like(numbers))

    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        rare, rare_word = target >= self.first_rare, target.clamp(min=self.first_rare)
        if self.label_smoothing:
            return self._smoothed(h, target, rare, rare_word)
        softmax_loss = cross_entropy(self.softmax, h, target.clamp(max=self.first_rare))
        bits_loss = on_rows(self.bits.loss, rare, h, rare_word, self.first_rare)
        return self.spec.softmax_weight * softmax_loss + self.spec.bits_weight * bits_loss

    def _smoothed(self, h: Tensor, target: Tensor, rare: Tensor, rare_word: Tensor) -> Tensor:
        """(1 − ε) of the target's loss and ε of the mean over all words, of which a share r is rare. -> [T]"""
        log_softmax = self._logits(h).log_softmax(-1)
        softmax_loss = bounded(-log_softmax.gather(-1, target.clamp(max=self.first_rare)[:, None])[:, 0])
        epsilon, rare_share = self.label_smoothing, 1 - self.first_rare / self.vocab_size
        of_frequent = log_softmax[:, : self.first_rare].sum(-1) / self.vocab_size
        mean = bounded(-(of_frequent + rare_share * log_softmax[:, self.first_rare]))
        of_mean = epsilon * rare_share  # how much of the bits' loss goes to the mean over the rare words, in any row
        weight = (1 - epsilon) * rare.to(log_softmax.dtype) + of_mean
        bits_loss = weight * self.bits.loss(h, rare_word, of_mean / weight)
        return self.spec.softmax_weight * torch.lerp(softmax_loss, mean, epsilon) + self.spec.bits_weight * bits_loss

    def cost(self) -> Cost:
        return linear_cost(self.softmax) + self.bits.cost()

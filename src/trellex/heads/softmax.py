"""The conventional output layer: a score for every word of the vocabulary."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from trellex.arrays import best_of
from trellex.heads.head import Cost, Head, at_least_single, linear_cost


class SoftmaxHead(Head):
    """Softmax over all V words: what the others are measured against. O(HV) time and memory."""

    def __init__(self, hidden_size: int, vocab_size: int, **options: Any) -> None:
        super().__init__(hidden_size, vocab_size, **options)
        self.linear = nn.Linear(hidden_size, vocab_size)

    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        logits = at_least_single(self.linear(h))
        return nn.functional.cross_entropy(logits, target, reduction="none", label_smoothing=self.label_smoothing)

    def _log_prob(self, h: Tensor, words: Tensor) -> Tensor:
        return at_least_single(self.linear(h)).log_softmax(-1).gather(-1, words[:, None])[:, 0]

    def _topk(self, h: Tensor, k: int) -> tuple[Tensor, Tensor]:
        log_probs = at_least_single(self.linear(h)).log_softmax(-1)
        every = torch.arange(self.vocab_size, device=h.device).expand_as(log_probs)
        return best_of(log_probs, every, k)

    def _best(self, h: Tensor) -> Tensor:
        return self.linear(h).argmax(-1)

    def _sample(self, h: Tensor, temperature: float, generator: torch.Generator | None) -> Tensor:
        probs = (at_least_single(self.linear(h)) / temperature).softmax(-1)
        return torch.multinomial(probs, 1, generator=generator)[:, 0]

    def cost(self) -> Cost:
        return linear_cost(self.linear)

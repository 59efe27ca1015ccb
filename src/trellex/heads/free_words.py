"""Scores of words by signs that learn: every word's code, found by training."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from trellex.heads.head import Cost
from trellex.heads.projected_words import ProjectedWords

DEVIATION = 0.1  # of latents at the beginning: few of Adam's steps turn a sign


class FreeWords(ProjectedWords):
    """f(w) = z(h) · b_w / √B + bias_w, where b_w are the signs of B latents of the word.

    The division keeps scores as large as those of a linear layer, and steps of z as well.

    Args:
        hidden_size: H
        vocab_size: V
        num_bits: B

    Attributes:
        latent: what training moves  [V, B]
    """

    def __init__(self, hidden_size: int, vocab_size: int, num_bits: int) -> None:
        super().__init__(hidden_size, num_bits, vocab_size)
        self.latent = nn.Parameter(torch.empty(vocab_size, num_bits))
        nn.init.normal_(self.latent, std=DEVIATION)

    @property
    def vectors(self) -> Tensor:
        """b / √B  [V, B]"""
        return signs(self.latent) * self.latent.shape[1] ** -0.5

    def read(self, words: Tensor) -> Tensor:
        return signs(embedding(words, self.latent)) * self.latent.shape[1] ** -0.5

    def cost(self, scored: int) -> Cost:
        """Latents are counted as the parameters they are in training; translating needs a bit of each."""
        return super().cost(scored) + Cost(0, 0, self.latent.numel(), 0)


class _Signs(torch.autograd.Function):
    """Signs, with the gradient of the identity between −1 and 1 and none beyond: the straight-through estimator."""

    @staticmethod
    def forward(latent: Tensor) -> Tensor:
        return torch.ones((), dtype=latent.dtype, device=latent.device).copysign(latent)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:  # type: ignore[override]
        (latent,) = ctx.saved_tensors
        return gradient * (latent.abs() <= 1)


def signs(latent: Tensor) -> Tensor:
    """−1 or 1 each, differentiated straight through. [..] -> [..]"""
    return _Signs.apply(latent)  # type: ignore[no-untyped-call]

"""Vectors of source words, known or not: what has no id of its own is read by its code."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import embedding

from trellex.nmt.composed_embedding import ComposedEmbedding


class OpenEmbedding(ComposedEmbedding):
    """Composed vectors that also read ids from V on: V + n is a word of the number n, and has no residual.

    Training knows no such words.
    """

    def forward(self, words: Tensor) -> Tensor:
        """words [..] -> vectors [.., E]"""
        if self.training:
            return super().forward(words)
        is_known = words < self.num_embeddings
        known = words * is_known
        numbers = torch.where(is_known, self.code.numbers(known), words - self.num_embeddings)
        return self.composed(numbers, embedding(known, self.residual) * is_known[..., None]) + self.own_of(words)

"""Scores of words by their vectors, which are the decoder's own: few parameters for many words."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from trellex.heads.projected_words import ProjectedWords


class TiedWords(ProjectedWords):
    """f(w) = u(h) · E[w] + b_w, with few parameters of its own.

    Args:
        hidden_size: H
        embedding: E, the vectors of all V words; whoever owns it trains, moves and saves it
    """

    def __init__(self, hidden_size: int, embedding: nn.Embedding) -> None:
        super().__init__(hidden_size, embedding.embedding_dim, embedding.num_embeddings)
        self._embedding = [embedding]  # in a list: a module of its own would be saved a second time
        with torch.no_grad():  # however long vectors are, scores begin no larger than those of a linear layer
            length = embedding.weight.square().mean().sqrt() * embedding.embedding_dim**0.5
            self.project.weight /= length.clamp(min=1)

    @property
    def vectors(self) -> Tensor:
        """E  [V, size of a vector]"""
        return self._embedding[0].weight

    @property
    def is_sparse(self) -> bool:  # type: ignore[override]
        """As `nn.Embedding` lets one ask."""
        return self._embedding[0].sparse

"""Scores of words by their vectors, which are the decoder's own: few parameters for many words."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from trellex.heads.head import Cost, linear_cost


class TiedWords(nn.Module):
    """f(w) = u(h) · E[w] + b_w. It stands where a linear layer from H to V would, with few parameters of its own.

    Args:
        hidden_size: H
        embedding: E, the vectors of all V words; whoever owns it trains, moves and saves it

    Attributes:
        project: u, from H to the size of a vector
        bias: b  [V]
    """

    def __init__(self, hidden_size: int, embedding: nn.Embedding) -> None:
        super().__init__()
        self._embedding = [embedding]  # in a list: a module of its own would be saved a second time
        self.project = nn.Linear(hidden_size, embedding.embedding_dim, bias=False)
        self.bias = nn.Parameter(torch.zeros(embedding.num_embeddings))
        with torch.no_grad():  # however long vectors are, scores begin no larger than those of a linear layer
            length = embedding.weight.square().mean().sqrt() * embedding.embedding_dim**0.5
            self.project.weight /= length.clamp(min=1)

    @property
    def vectors(self) -> Tensor:
        """E  [V, size of a vector]"""
        return self._embedding[0].weight

    @property
    def is_sparse(self) -> bool:
        """Whether the gradient of the vectors is to hold those alone that were read, as `nn.Embedding` lets one ask."""
        return self._embedding[0].sparse

    def forward(self, h: Tensor) -> Tensor:
        """f of all words. h [.., H] -> [.., V]"""
        return nn.functional.linear(self.project(h), self.vectors, self.bias)

    def cost(self, scored: int) -> Cost:
        """What u and the scores of so many words take; the parameters are those it adds to the embedding's."""
        return linear_cost(self.project, is_output=False) + Cost(
            scored, 0, self.bias.numel(), scored * self.project.out_features
        )


def factors_of(layer: nn.Linear | TiedWords, h: Tensor) -> tuple[Tensor, Tensor]:
    """What is multiplied for scores: states and the vectors of all words. h [.., H] -> [.., E], [V, E]"""
    return (layer.project(h), layer.vectors) if isinstance(layer, TiedWords) else (h, layer.weight)

"""Scores of words by vectors of theirs that are not a linear layer's own."""

from __future__ import annotations

from abc import abstractmethod

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, linear

from trellex.heads.head import Cost, linear_cost


class ProjectedWords(nn.Module):
    """f(w) = u(h) · v_w + b_w. It stands where a linear layer from H to V would; what v_w is, subclasses say.

    Args:
        hidden_size: H
        size: E, of a vector
        vocab_size: V

    Attributes:
        project: u, from H to the size of a vector
        bias: b  [V]
    """

    is_sparse = False  # whether the gradient of the vectors is to hold those alone that were read

    def __init__(self, hidden_size: int, size: int, vocab_size: int) -> None:
        super().__init__()
        self.project = nn.Linear(hidden_size, size, bias=False)
        self.bias = nn.Parameter(torch.zeros(vocab_size))

    @property
    @abstractmethod
    def vectors(self) -> Tensor:
        """Those of all words  [V, E]"""

    def read(self, words: Tensor) -> Tensor:
        """Those of some. words [..] -> [.., E]"""
        return embedding(words, self.vectors, sparse=self.is_sparse)

    def forward(self, h: Tensor) -> Tensor:
        """f of all words. h [.., H] -> [.., V]"""
        return linear(self.project(h), self.vectors, self.bias)

    def cost(self, scored: int) -> Cost:
        """What u and the scores of so many words take; the parameters are those beside the vectors."""
        return linear_cost(self.project, is_output=False) + Cost(
            scored, 0, self.bias.numel(), scored * self.project.out_features
        )


def states_of(layer: nn.Linear | ProjectedWords, h: Tensor) -> Tensor:
    """What vectors are multiplied with. h [.., H] -> [.., E]"""
    return h if isinstance(layer, nn.Linear) else layer.project(h)


def vectors_of(layer: nn.Linear | ProjectedWords) -> Tensor:
    """Those of all words  [V, E]"""
    return layer.weight if isinstance(layer, nn.Linear) else layer.vectors


def read_vectors(layer: nn.Linear | ProjectedWords, words: Tensor) -> Tensor:
    """Those of some words, for which no table of all is made. words [..] -> [.., E]"""
    return embedding(words, layer.weight) if isinstance(layer, nn.Linear) else layer.read(words)

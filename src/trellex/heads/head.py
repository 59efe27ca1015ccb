"""What every output layer is: a module that turns hidden states into words and a loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn

REDUCTIONS = ("none", "mean", "sum")


@dataclass(frozen=True)
class Cost:
    """What an output layer takes.

    Attributes:
        outputs: numbers it computes for a word, the paper's #out
        bits: redundant bits among them, the paper's B; 0 for softmax
        parameters: weights and biases
        multiply_adds: multiply-adds for a word
    """

    outputs: int
    bits: int
    parameters: int
    multiply_adds: int


class Head(nn.Module, ABC):
    """An output layer over V words.

    Args:
        hidden_size: H
        vocab_size: V; ids are sorted by frequency, as those of `Vocabulary` are
        ignore_index: targets with this id cost nothing
        reduction: "none" for a value a token, or "mean" over the tokens that are not ignored, or "sum"

    Shape:
        h [T, H], target and words [T]
    """

    def __init__(self, hidden_size: int, vocab_size: int, *, ignore_index: int = -100, reduction: str = "none") -> None:
        super().__init__()
        if reduction not in REDUCTIONS:
            raise ValueError(f"reduction: expected one of {', '.join(REDUCTIONS)}, got {reduction!r}")
        self.hidden_size = hidden_size
        self.vocab_size = vocab_size
        self.ignore_index = ignore_index
        self.reduction = reduction

    def loss(self, h: Tensor, target: Tensor) -> Tensor:
        """What training minimises. h [T, H], target [T] -> [T], or a single number after reduction"""
        counted = target != self.ignore_index
        values = self._loss(h, target.where(counted, 0)).where(counted, 0.0)
        if self.reduction == "none":
            return values
        return values.sum() if self.reduction == "sum" else values.sum() / counted.sum()

    @abstractmethod
    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        """h [T, H], target [T] of real words -> [T]"""

    @abstractmethod
    def log_prob(self, h: Tensor, words: Tensor) -> Tensor:
        """log P(word | h), which sums to 1 over the vocabulary. h [T, H], words [T] -> [T]"""

    @abstractmethod
    def topk(self, h: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The k most probable words, best first. h [T, H] -> words, log_probs [T, k]

        Where there are fewer than k, words end in −1 and log_probs in −inf.
        """

    @abstractmethod
    def sample(self, h: Tensor, temperature: float = 1.0) -> Tensor:
        """A word drawn for every row. h [T, H] -> words [T]"""

    @abstractmethod
    def cost(self) -> Cost:
        """Outputs, bits, parameters and multiply-adds of this layer."""


def linear_cost(*layers: nn.Linear, bits: int = 0) -> Cost:
    """The cost of layers side by side on the hidden state."""
    return Cost(
        outputs=sum(layer.out_features for layer in layers),
        bits=bits,
        parameters=sum(parameter.numel() for layer in layers for parameter in layer.parameters()),
        multiply_adds=sum(layer.in_features * layer.out_features for layer in layers),
    )


def at_least_single(values: Tensor) -> Tensor:
    """Half precision as float32; float32 and float64 as they are."""
    return values if values.dtype == torch.float64 else values.float()


def padded_topk(scores: Tensor, words: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k best of some candidates, padded with −1 and −inf. scores, words [T, C] -> words, scores [T, k]"""
    best, order = scores.topk(min(k, scores.shape[1]), -1)
    missing = (0, k - best.shape[1])
    chosen = words.gather(-1, order).where(best > -torch.inf, -1)
    return nn.functional.pad(chosen, missing, value=-1), nn.functional.pad(best, missing, value=-torch.inf)

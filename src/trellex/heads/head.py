"""What every output layer is in torch: a module that turns hidden states into words and a loss."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import Tensor, nn

from trellex.codes import Code
from trellex.heads.distribution import Distribution, on_rows
from trellex.heads.spec import HeadSpec

if TYPE_CHECKING:
    from trellex.heads.bits import BitLayer


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

    def __add__(self, other: Cost) -> Cost:
        """What two layers take together."""
        return Cost(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


class Head(Distribution, nn.Module):
    """An output layer over V words.

    Args:
        hidden_size: H
        vocab_size: V; ids are sorted by frequency, as those of `Vocabulary` are
        ignore_index: targets with this id cost nothing
        reduction: "none" for a value a token, or "mean" over the tokens that are not ignored, or "sum"
        label_smoothing: the share of the loss that is the mean over all words instead of the target's alone

    Attributes:
        spec: what it was built from
        bits: the layer that predicts bits, if there is one
        code: the code of the words, if they have one: a part of the model, like its weights

    Shape:
        h [.., H], target and words [..]; inside, T rows: h [T, H], target and words [T]
    """

    spec: HeadSpec
    bits: BitLayer | None
    code: Code | None

    def __init__(
        self,
        hidden_size: int,
        vocab_size: int,
        *,
        ignore_index: int = -100,
        reduction: str = "none",
        label_smoothing: float = 0.0,
    ) -> None:
        nn.Module.__init__(self)
        self.bits = self.code = None
        self.hidden_size = hidden_size
        self.vocab_size = vocab_size
        self.ignore_index = ignore_index
        self.reduction = reduction
        self.label_smoothing = label_smoothing

    @classmethod
    @abstractmethod
    def from_spec(cls, spec: Any, hidden_size: int, vocab: Any, embedding: nn.Embedding | None) -> Self:
        """The layer of a description of its family. vocab: a size, or a vocabulary with counts"""

    def loss(self, h: Tensor, target: Tensor) -> Tensor:
        """What training minimises. h [.., H], target [..] -> [..], or a single number after reduction"""
        rows, words = self._rows(h), self._words(h, target, "target")
        counted = words != self.ignore_index
        values: Tensor = on_rows(self._loss, counted, rows, words, 0)
        if self.reduction == "none":
            return values.view(target.shape)
        return values.sum() if self.reduction == "sum" else values.sum() / counted.sum()

    forward = loss

    @abstractmethod
    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        """h [T, H], target [T] of real words -> [T]"""

    @abstractmethod
    def cost(self) -> Cost:
        """Outputs, bits, parameters and multiply-adds of this layer."""


def linear_cost(layer: nn.Linear, *, is_output: bool = True, is_bits: bool = False) -> Cost:
    """The cost of one linear layer, whose outputs count as those of the whole unless other layers follow."""
    return Cost(
        outputs=layer.out_features if is_output else 0,
        bits=layer.out_features if is_bits else 0,
        parameters=sum(parameter.numel() for parameter in layer.parameters()),
        multiply_adds=layer.in_features * layer.out_features,
    )


def at_least_single(values: Tensor) -> Tensor:
    """Half precision as float32; float32 and float64 as they are."""
    return values if values.dtype == torch.float64 else values.float()


def size_of(vocab: Any) -> int:
    """V of a vocabulary, or of its size."""
    return vocab if isinstance(vocab, int) else len(vocab)

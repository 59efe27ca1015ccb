"""What every output layer is in torch: a module that turns hidden states into words and a loss."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from trellex.codes import Code
from trellex.heads.code_distribution import CodeDistribution
from trellex.heads.distribution import Distribution, on_rows
from trellex.heads.spec import HeadSpec, size_of


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
        spec: what it is; `build_head` takes it in any form
        hidden_size: H
        vocab: V, or a vocabulary with counts; ids are sorted by frequency, as those of `Vocabulary` are
        embedding: the decoder's word vectors, if the head is built on them

    Attributes:
        bits: the layer that predicts bits, if there is one
        code: the code of the words, if they have one: a part of the model, like its weights

    Shape:
        h [.., H], target and words [..]; inside, T rows: h [T, H], target and words [T]
    """

    def __init__(self, spec: Any, hidden_size: int, vocab: Any, embedding: nn.Embedding | None = None) -> None:
        nn.Module.__init__(self)
        self.spec: HeadSpec = spec
        self.hidden_size, self.vocab_size = hidden_size, size_of(vocab)
        self.ignore_index, self.reduction = spec.ignore_index, spec.reduction
        self.label_smoothing = spec.label_smoothing
        self.bits: CodeDistribution | None = None
        self.code: Code | None = None

    def loss(self, h: Tensor, target: Tensor) -> Tensor:
        """What training minimises. h [.., H], target [..] -> [..], or a single number after reduction"""
        rows, words = self._rows(h), self._words(h, target, "target")
        counted = words != self.ignore_index
        self._check_ids(words.where(counted, 0), "target")
        values: Tensor = on_rows(self._loss, counted, rows, words, 0)
        if self.reduction == "none":
            return values.view(target.shape)
        return values.sum() if self.reduction == "sum" else values.sum() / counted.sum()

    forward = loss

    def _rows(self, h: Tensor) -> Tensor:
        check_tensor(h, "h")
        if not h.is_floating_point():
            raise ValueError(f"h: expected real numbers, got {h.dtype}; convert them with h.float()")
        return super()._rows(h)

    def _words(self, h: Tensor, words: Tensor, name: str) -> Tensor:
        check_tensor(words, name)
        if words.device != h.device:
            raise ValueError(f"{name}: is on {words.device}, but h is on {h.device}; use {name}.to(h.device)")
        return super()._words(h, words, name)

    def renumber(self, code: Code) -> None:
        """Give the words that bits spell the numbers of another code of as many."""
        if self.bits is None:
            raise ValueError(f"code: words of {self.spec.label} are not spelt by bits")
        self.code = self.bits.code = code

    @abstractmethod
    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        """h [T, H], target [T] of real words -> [T]"""

    @abstractmethod
    def cost(self) -> Cost:
        """Outputs, bits, parameters and multiply-adds of this layer."""


def check_tensor(values: Any, name: str) -> None:
    """Raises ValueError that tells how to make a tensor of what is none; `name` is the argument that it speaks of."""
    if not isinstance(values, Tensor):
        kind, is_array = type(values), isinstance(values, np.ndarray)
        found = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
        remedy = f"torch.from_numpy({name})" if is_array else f"torch.tensor({name})"
        raise ValueError(f"{name}: expected a torch tensor, got {found}; use {remedy}")


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

"""What every output layer is: a module that turns hidden states into words and a loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import astuple, dataclass

import torch
from torch import Tensor, nn

from trellex.arrays import as_count, as_integers

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

    def __add__(self, other: Cost) -> Cost:
        """What two layers take together."""
        return Cost(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))


class Head(nn.Module, ABC):
    """An output layer over V words.

    Args:
        hidden_size: H
        vocab_size: V; ids are sorted by frequency, as those of `Vocabulary` are
        ignore_index: targets with this id cost nothing
        reduction: "none" for a value a token, or "mean" over the tokens that are not ignored, or "sum"
        label_smoothing: the share of the loss that is the mean over all words instead of the target's alone

    Shape:
        h [.., H], target and words [..]; inside, T rows: h [T, H], target and words [T]
    """

    def __init__(
        self,
        hidden_size: int,
        vocab_size: int,
        *,
        ignore_index: int = -100,
        reduction: str = "none",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__()
        if reduction not in REDUCTIONS:
            raise ValueError(f"reduction: expected one of {', '.join(REDUCTIONS)}, got {reduction!r}")
        if not isinstance(label_smoothing, (int, float)) or not 0 <= label_smoothing < 1:
            raise ValueError(f"label_smoothing: expected a share of at least 0 and below 1, got {label_smoothing!r}")
        self.hidden_size = hidden_size
        self.vocab_size = vocab_size
        self.ignore_index = ignore_index
        self.reduction = reduction
        self.label_smoothing = label_smoothing

    def loss(self, h: Tensor, target: Tensor) -> Tensor:
        """What training minimises. h [.., H], target [..] -> [..], or a single number after reduction"""
        rows, words = self._rows(h), self._words(h, target, "target")
        counted = words != self.ignore_index
        values = on_rows(self._loss, counted, rows, words)
        if self.reduction == "none":
            return values.view(target.shape)
        return values.sum() if self.reduction == "sum" else values.sum() / counted.sum()

    forward = loss

    def log_prob(self, h: Tensor, words: Tensor) -> Tensor:
        """log P(word | h), which sums to 1 over the vocabulary. h [.., H], words [..] -> [..]"""
        return self._log_prob(self._rows(h), self._words(h, words, "words")).view(words.shape)

    def topk(self, h: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The k most probable words, best first. h [.., H] -> words, log_probs [.., k]

        Where there are fewer than k, words end in −1 and log_probs in −inf.
        """
        k = as_count(k, "k")
        words, log_probs = self._topk(self._rows(h), k)
        shape = (*h.shape[:-1], k)
        return words.view(shape), log_probs.view(shape)

    def best(self, h: Tensor) -> Tensor:
        """The first of the words that `topk` gives, faster because it needs no probability. h [.., H] -> words [..]"""
        return self._best(self._rows(h)).view(h.shape[:-1])

    def sample(self, h: Tensor, temperature: float = 1.0, generator: torch.Generator | None = None) -> Tensor:
        """Words drawn with probabilities in proportion to P^(1 / temperature). h [.., H] -> words [..]"""
        if not 1e-3 <= temperature <= 1e3:
            raise ValueError(f"temperature: expected 0.001 to 1,000, got {temperature}; for the best word use topk")
        return self._sample(self._rows(h), temperature, generator).view(h.shape[:-1])

    def _rows(self, h: Tensor) -> Tensor:
        """h [.., H] -> [T, H]"""
        if h.ndim == 0 or h.shape[-1] != self.hidden_size:
            raise ValueError(f"h: the last dimension must be {self.hidden_size}, got shape {tuple(h.shape)}")
        return h.reshape(-1, self.hidden_size)

    def _words(self, h: Tensor, words: Tensor, name: str) -> Tensor:
        """words [..], which must be as many as hidden states -> [T]"""
        if words.shape != h.shape[:-1]:
            raise ValueError(f"{name}: expected shape {tuple(h.shape[:-1])}, as h has, got {tuple(words.shape)}")
        flat: Tensor = as_integers(words, name).reshape(-1)
        return flat

    @abstractmethod
    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        """h [T, H], target [T] of real words -> [T]"""

    @abstractmethod
    def _log_prob(self, h: Tensor, words: Tensor) -> Tensor:
        """h [T, H], words [T] -> [T]"""

    @abstractmethod
    def _topk(self, h: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """h [T, H] -> words, log_probs [T, k]"""

    def _best(self, h: Tensor) -> Tensor:
        return self._topk(h, 1)[0][:, 0]

    @abstractmethod
    def _sample(self, h: Tensor, temperature: float, generator: torch.Generator | None) -> Tensor:
        """h [T, H] -> words [T]"""

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


def on_rows(loss: Callable[[Tensor, Tensor], Tensor], chosen: Tensor, h: Tensor, words: Tensor) -> Tensor:
    """The loss of the chosen rows, 0 elsewhere. chosen [T], h [T, H], words [T] -> [T]

    On an accelerator it is computed for all rows, because to count the chosen ones would wait for the device.
    """
    if h.device.type != "cpu":
        return loss(h, words.where(chosen, 0)).where(chosen, 0.0)
    rows = chosen.nonzero()[:, 0]
    values = loss(h[rows], words[rows])
    return values.new_zeros(len(h)).index_copy(0, rows, values)


def at_least_single(values: Tensor) -> Tensor:
    """Half precision as float32; float32 and float64 as they are."""
    return values if values.dtype == torch.float64 else values.float()

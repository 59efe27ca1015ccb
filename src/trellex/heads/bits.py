"""The part that binary and hybrid output layers share: bits predicted from the hidden state, and what they spell."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Self

import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from trellex.arrays import as_count
from trellex.codes import Code
from trellex.heads.head import Cost, at_least_single, linear_cost
from trellex.spelling import Spelling, check_decoding
from trellex.trellis import ConvolutionalCode
from trellex.trellis.convolutional import WORTH_FETCHING

LOSSES = ("squared", "cross_entropy", "trellis")


class BitLayer(nn.Module):
    """Logistic regressions for the redundant bits of a word's code (Oda et al. 2017, equations 6 to 11).

    With K > 1 parts it is a mixture of codes: K sets of bits with weights π that h decides, and
    P(w) = Σ π_k P_k(w). Independent bits can hold one guess; a mixture can hold K.

    Args:
        hidden_size: H
        code: word ↔ bits
        ecc: bits ↔ redundant bits
        loss: "squared" distance as in the paper, "cross_entropy" of independent bits, or "trellis": the negative
            log-probability, normalised over exactly the words; by default squared for one part, trellis for more
        automaton: accepts the bit arrays of the words that may be spelt; all of the code's unless given  [B, S, 2]
        mixtures: K
        hidden_layer: the size of a layer of rectified linear units before the bits; None: no such layer
        decoding: how `topk` chooses: "exact", the most probable words; or "paper", the best of all bit arrays, be it
            a word's or not, which needs K = 1

    Shape:
        h [T, H], words [T]; L redundant bits
    """

    def __init__(
        self,
        hidden_size: int,
        code: Code,
        ecc: ConvolutionalCode,
        *,
        loss: str | None = None,
        automaton: NDArray[Any] | None = None,
        mixtures: int = 1,
        hidden_layer: int | None = None,
        decoding: str = "exact",
    ) -> None:
        super().__init__()
        self.mixtures = as_count(mixtures, "mixtures")
        loss = loss or ("squared" if mixtures == 1 else "trellis")
        if loss not in LOSSES:
            raise ValueError(f"loss: expected one of {', '.join(LOSSES)}, got {loss!r}")
        if mixtures > 1 and loss != "trellis":
            raise ValueError(f"loss: a mixture needs the loss 'trellis', got {loss!r}; leave it out, or set mixtures 1")
        if mixtures > 1 and decoding == "paper":
            raise ValueError("decoding: the paper's is not defined for a mixture; use 'exact', or set mixtures 1")
        self.hidden_size, self.loss_name, self.decoding = hidden_size, loss, check_decoding(decoding)
        self.spelling = Spelling(code, ecc, automaton)
        self.hidden = None if hidden_layer is None else nn.Linear(hidden_size, as_count(hidden_layer, "hidden_layer"))
        inputs = hidden_size if self.hidden is None else self.hidden.out_features
        self.linear = nn.Linear(inputs, self.mixtures * self.spelling.length)
        self.weights = nn.Linear(inputs, self.mixtures) if self.mixtures > 1 else None

    def outputs(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of the bits and log π, in at least single precision. h [T, H] -> [T, K, L], [T, K]"""
        if self.hidden is not None:
            h = self.hidden(h).relu()
        logits = at_least_single(self.linear(h)).view(len(h), self.mixtures, self.spelling.length)
        if self.weights is None:
            return logits, logits.new_zeros(len(h), 1)
        return logits, at_least_single(self.weights(h)).log_softmax(-1)

    def _exact_outputs(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """The same in double precision, because scores are large and their differences small."""
        logits, log_weights = self.outputs(h)
        return logits.double(), log_weights.double()

    @cached_property
    def mean_bits(self) -> Tensor:
        """The mean code word, [L]: what the bits' probabilities are when all words are equally probable."""
        level = torch.zeros(self.spelling.length, dtype=torch.float64, device="cpu")
        return self.spelling.posterior(level)

    def loss(self, h: Tensor, words: Tensor, smoothing: float | Tensor = 0.0) -> Tensor:
        """What training minimises. h [T, H], words [T] -> [T]

        `smoothing` [T] is the share of the loss that goes to the mean over all words instead of the given one. Every
        loss of a single part is linear in the code word, so the mean loss is exactly that of the mean code word.
        """
        logits, log_weights = self.outputs(h)
        bits = self.spelling.redundant_bits(words).to(logits.dtype)
        if isinstance(smoothing, Tensor) or smoothing:
            share = torch.as_tensor(smoothing, dtype=bits.dtype, device=bits.device)
            bits = torch.lerp(bits, self.mean_bits.to(bits), share[..., None])
        if self.loss_name == "trellis":
            scores = (logits * bits[:, None]).sum(-1)
            return -self.spelling.mixed(scores - self.spelling.log_partition(logits), log_weights)
        logits = logits[:, 0]
        if self.loss_name == "cross_entropy":
            return (nn.functional.softplus(logits) - logits * bits).sum(-1)
        spread = bits - bits.square()  # of the bits that are means, 0 otherwise
        return ((logits.sigmoid() - bits).square() + spread).sum(-1)

    def log_prob(self, h: Tensor, words: Tensor) -> Tensor:
        """log P(word | h) among the words. h [T, H], words [T] -> [T]"""
        logits, log_weights = self.outputs(h)
        exact = logits.double()  # scores are large and their differences small
        return self.spelling.log_prob(exact, log_weights, words).to(logits.dtype)

    def topk(self, h: Tensor, k: int) -> tuple[Tensor, Tensor]:
        """The k most probable words, of a mixture nearly always; see `Spelling`. h [T, H] -> words, log_probs [T, k]"""
        outputs = self.outputs(h)
        logits, log_weights = fetch_few(*outputs)
        words, log_probs = self.spelling.topk(logits.double(), log_weights, k)
        return words.to(h.device), log_probs.to(outputs[0])

    def best(self, h: Tensor) -> Tensor:
        """The best word, without its probability. In the paper's decoding it is the one of the best of all bit arrays,
        and −1 if that belongs to no word. h [T, H] -> words [T]
        """
        logits, log_weights = fetch_few(*self.outputs(h))
        if self.decoding == "paper":
            words = self.spelling.decode(logits[:, 0].double())
        else:
            words = self.spelling.best(logits.double(), log_weights.double())
        return words.to(h.device)

    def sample(self, h: Tensor, temperature: float = 1.0, generator: torch.Generator | None = None) -> Tensor:
        """A word drawn for every row. h [T, H] -> words [T]

        The temperature is that of the part and the word together: (π_k P_k(w))^(1 / temperature).
        """
        logits, log_weights = self._exact_outputs(h)
        if self.mixtures == 1:
            chosen = logits[:, 0]
        else:
            masses = self.spelling.log_masses(logits, log_weights, temperature).softmax(-1)
            part = torch.multinomial(masses, 1, generator=generator)
            chosen = logits.take_along_dim(part[..., None], 1)[:, 0]
        return self.spelling.sample(chosen / temperature, generator)

    def log_mass(self, h: Tensor, temperature: float) -> Tensor:
        """The log of what `sample` normalises: log Σ_k Σ_w (π_k P_k(w))^(1 / temperature). h [T, H] -> [T]"""
        return self.spelling.log_masses(*self._exact_outputs(h), temperature).logsumexp(-1)

    def check_smoothing(self, label_smoothing: float) -> Self:
        """Raises ValueError if the loss of this layer cannot be smoothed."""
        if label_smoothing and self.mixtures > 1:
            raise ValueError(
                "label_smoothing: a mixture's mean over all words is not in its mean code word; set it to 0"
            )
        return self

    def cost(self) -> Cost:
        cost = linear_cost(self.linear, is_bits=True)
        if self.weights is not None:
            cost += linear_cost(self.weights)
        return cost if self.hidden is None else cost + linear_cost(self.hidden, is_output=False)


def fetch_few(*values: Tensor) -> tuple[Tensor, ...]:
    """Values of few rows in main memory: to read words takes many small operations, which accelerators start slowly."""
    return tuple(value.cpu() if len(value) <= WORTH_FETCHING else value for value in values)

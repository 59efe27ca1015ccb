"""The part that binary and hybrid output layers share: redundant bits predicted from the hidden state."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from trellex.arrays import Table, bounded
from trellex.heads.code_distribution import CodeDistribution
from trellex.heads.code_spec import CodeSpec
from trellex.heads.head import Cost, at_least_single, linear_cost
from trellex.heads.spec import size_of


class BitLayer(CodeDistribution, nn.Module):
    """Logistic regressions for the redundant bits of a word's code (Oda et al. 2017, equations 6 to 11).

    Args:
        spec: the loss is "squared" as in the paper, "cross_entropy" of independent bits, or "trellis": the negative
            log-probability, normalised over exactly the words; of several sets of bits, h decides the weights π
        hidden_size: H
        vocab: V, or a vocabulary with counts

    Shape:
        h [T, H], words [T]; L redundant bits
    """

    def __init__(self, spec: CodeSpec, hidden_size: int, vocab: Any) -> None:
        nn.Module.__init__(self)
        CodeDistribution.__init__(self, spec, spec.build_code(vocab), size_of(vocab))
        self.hidden_size, self.loss_name, self.mixtures = hidden_size, spec.loss_name, spec.mixtures
        self.hidden = None if spec.hidden_layer is None else nn.Linear(hidden_size, spec.hidden_layer)
        inputs = spec.hidden_layer or hidden_size
        self.linear = nn.Linear(inputs, self.mixtures * self.length)
        self.weights = nn.Linear(inputs, self.mixtures) if self.mixtures > 1 else None

    def outputs(self, h: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of the bits and log π, in at least single precision. h [T, H] -> [T, K, L], [T, K]"""
        h = self._read(h)
        logits = bounded(at_least_single(self.linear(h))).view(len(h), self.mixtures, self.length)
        if self.weights is None:
            return logits, logits.new_zeros(len(h), 1)
        return logits, bounded(at_least_single(self.weights(h))).log_softmax(-1)

    def _read(self, h: Tensor) -> Tensor:
        """What the logits are read from. h [T, H] -> [T, H]"""
        return h if self.hidden is None else self.hidden(h).relu()

    def is_read_at_once(self, h: Tensor) -> bool:
        """Whether `best_numbers` can be asked: a single set of bits, which a kernel reads."""
        return self.mixtures == 1 and self.is_best_found_by_kernels(h)

    def best_numbers(self, h: Tensor, with_sum: bool = True) -> tuple[Tensor, Tensor, Tensor]:
        """The numbers of the best words, their scores and, if asked for, the log-sums over all words, by one kernel.

        In the paper's decoding they are those of the best bit arrays. h [T, H] -> [T] three times
        """
        from trellex.trellis import fused_words

        logits = at_least_single(self.linear(self._read(h)))
        size = 1 << self.code.num_bits if self.decoding == "paper" else self.code.vocab_size
        return fused_words.best(logits, self.ecc.register, self.code.num_bits, size, with_sum)

    @cached_property
    def mean_bits(self) -> Table:
        """The mean code word, [L]: what the bits' probabilities are when all words are equally probable."""
        return Table(self.ecc.posterior(np.zeros(self.length), **self._words_allowed))

    def loss(self, h: Tensor, words: Tensor, smoothing: float | Tensor = 0.0) -> Tensor:
        """What training minimises. h [T, H], words [T] -> [T]

        `smoothing` [T] is the share of the loss that goes to the mean over all words instead of the given one. Every
        loss of a single part is linear in the code word, so the mean loss is exactly that of the mean code word.
        """
        logits, log_weights = self.outputs(h)
        is_smoothed = isinstance(smoothing, Tensor) or smoothing > 0
        share = smoothing.to(logits)[..., None] if isinstance(smoothing, Tensor) else smoothing
        if self.loss_name == "trellis":
            scores = self.scores(logits, words)
            if is_smoothed:
                scores = torch.lerp(scores, logits @ self.mean_bits.like(logits), share)
            return -self.mixed(scores - self.log_partition(logits), log_weights)
        logits = logits[:, 0]
        bits = self.redundant_bits(words).to(logits.dtype)
        if is_smoothed:
            bits = torch.lerp(bits, self.mean_bits.like(bits), share)
        if self.loss_name == "cross_entropy":
            return (nn.functional.softplus(logits) - logits * bits).sum(-1)
        spread = bits - bits.square()  # of the bits that are means, 0 otherwise
        return ((logits.sigmoid() - bits).square() + spread).sum(-1)

    def cost(self) -> Cost:
        cost = linear_cost(self.linear, is_bits=True)
        if self.weights is not None:
            cost += linear_cost(self.weights)
        return cost if self.hidden is None else cost + linear_cost(self.hidden, is_output=False)

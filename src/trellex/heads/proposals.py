"""Proposals: which words a softmax looks at while it is trained by samples, and how often each is to be expected."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from torch import Tensor

from trellex.arrays import Table
from trellex.heads.bits import BitLayer
from trellex.heads.code_spec import BinarySpec
from trellex.heads.head import at_least_single
from trellex.heads.softmax_spec import SoftmaxSpec
from trellex.heads.spec import size_of

MEMORY = 6  # of a code's trellis


class Samples(NamedTuple):
    """Words that were drawn for T rows, and how often each of them was to be expected among the S of a row.

    Attributes:
        words: those of all rows [S], or of each [T, S]
        log_counts: the log of their expected counts  [S] or [T, S]
        log_target_counts: the same of the targets  [T]
        may_repeat: whether a word may be there more than once
        loss: what the proposal itself is to minimise, if it learns  [T]
    """

    words: Tensor
    log_counts: Tensor
    log_target_counts: Tensor
    may_repeat: bool
    loss: Tensor | float = 0.0


class Proposal(Protocol):
    """A distribution q of words that is easy to draw from. All that is random follows torch's global generator."""

    def draw(self, h: Tensor, target: Tensor, count: int) -> Samples:
        """So many words. h [T, H], target [T]"""


class LogUniform:
    """Zipf's law, words being sorted by frequency: q(w) = log((w + 2) / (w + 1)) / log(V + 1); without repetition.

    All rows share their words. A word arrives at a random time, exponential with rate q(w), and the first S are taken.
    Given when the others arrive, the S-th of them at τ, a word is taken with probability 1 − exp(−q(w) τ): to divide by
    it makes sums over the sample unbiased (Kool et al. 2019). If all words are drawn it is 1.

    Args:
        vocab_size: V
    """

    def __init__(self, vocab_size: int) -> None:
        self.vocab_size = vocab_size

    @cached_property
    def rates(self) -> Table:
        """q  [V]"""
        return Table(np.diff(np.log(np.arange(1.0, self.vocab_size + 2))) / math.log(self.vocab_size + 1))

    def draw(self, h: Tensor, target: Tensor, count: int) -> Samples:
        like = at_least_single(h[:0, 0])
        if count >= self.vocab_size:
            words = torch.arange(self.vocab_size, device=h.device)
            return Samples(words, like.new_zeros(len(words)), like.new_zeros(len(target)), may_repeat=False)
        rates: Tensor = self.rates.like(like)
        times = torch.empty_like(rates).exponential_() / rates
        first = times.topk(count + 1, largest=False)
        words, last, following = first.indices[:-1], first.values[-2], first.values[-1]
        of_target = following.where(times[target] <= last, last)  # the others' S-th, be the target taken or not
        counts = _log_taken(rates[words] * following), _log_taken(rates[target] * of_target)
        return Samples(words, *counts, may_repeat=False)


def _log_taken(expected: Tensor) -> Tensor:
    """The log of the probability that something arrives of which so many are expected."""
    return (-torch.expm1(-expected)).log()


class CodeProposal(BitLayer):
    """q(w | h) of a complete trellis: exact samples for every row, with repetition, and exact probabilities, O(log V).

    It reads the hidden state without changing it, and learns to give the target a high probability.

    Args:
        spec: the code of the words, and the memory of the trellis
        hidden_size: H
        vocab: V, or a vocabulary
    """

    def __init__(self, spec: SoftmaxSpec, hidden_size: int, vocab: Any) -> None:
        code, memory = spec.build_code(vocab), spec.memory or MEMORY
        complete = BinarySpec(type="binary-ec", generators="complete", memory=memory, code=code)
        super().__init__(complete, hidden_size, vocab)

    def draw(self, h: Tensor, target: Tensor, count: int) -> Samples:
        logits, _ = self.outputs(h.detach())  # [T, 1, L]
        normaliser = self.log_partition(logits)  # [T, 1]
        log_q = (self.scores(logits, target) - normaliser)[:, 0]
        with torch.no_grad():
            words = self._words_of(self.ecc.sample(logits[:, 0], count=count, **self._words_allowed))  # [T, S]
            log_counts = (self.scores(logits, words) - normaliser[:, None])[..., 0] + math.log(count)
        return Samples(words, log_counts, log_q.detach() + math.log(count), may_repeat=True, loss=-log_q)


def proposal_of(spec: SoftmaxSpec, hidden_size: int, vocab: Any) -> Proposal:
    """The one that a softmax asks for."""
    if spec.proposal == "code":
        return CodeProposal(spec, hidden_size, vocab)
    return LogUniform(size_of(vocab))

"""The conventional output layer: a score for every word of the vocabulary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from trellex.heads.head import Cost, at_least_single, linear_cost
from trellex.heads.proposals import CodeProposal, proposal_of
from trellex.heads.scored import ScoredHead
from trellex.heads.selection import Selection
from trellex.heads.softmax_spec import SoftmaxSpec
from trellex.heads.tied import TiedWords


class SoftmaxHead(ScoredHead):
    """Softmax over all V words: what the others are measured against. O(HV) time and memory.

    Tied, its scores are those of the decoder's word vectors, and the memory is that of the scores alone.
    """

    spec: SoftmaxSpec
    linear: nn.Linear | TiedWords

    def __init__(self, spec: SoftmaxSpec, hidden_size: int, vocab: Any, embedding: Any = None) -> None:
        super().__init__(spec, hidden_size, vocab)
        self.linear = TiedWords(hidden_size, embedding) if spec.tied else nn.Linear(hidden_size, self.vocab_size)
        self.proposal = None if spec.loss == "full" else proposal_of(spec, hidden_size, vocab)
        if isinstance(self.proposal, CodeProposal):
            self.code = self.proposal.code
        if spec.loss == "nce":  # scores are to be log P, which equal chances are nearer to than a sum of V
            nn.init.constant_(self.linear.bias, -math.log(self.vocab_size))

    def cost(self) -> Cost:
        """That of reading words; training by drawn words computes the scores of those alone, and has its proposal."""
        if isinstance(self.linear, TiedWords):
            return self.linear.cost(self.vocab_size)
        return linear_cost(self.linear)

    def selection(self, lists: Sequence[NDArray[np.int64]]) -> SelectedWords:
        """The same over a list of words a sentence. lists: ids, rising  [S] of [words]"""
        return SelectedWords(self, lists)


class SelectedWords(Selection):
    """Rows of the weights, gathered once for every sentence; a product each, so that none depends on the others."""

    def __init__(self, head: SoftmaxHead, lists: Sequence[NDArray[np.int64]]) -> None:
        super().__init__(lists, head.hidden_size, head.vocab_size)
        linear = head.linear
        self._project: nn.Module = linear.project if isinstance(linear, TiedWords) else nn.Identity()
        weight = linear.vectors if isinstance(linear, TiedWords) else linear.weight
        places = (torch.from_numpy(words).to(weight.device) for words in lists)
        self._gathered = [(weight[words], linear.bias[words]) for words in places]

    def _logits(self, h: Tensor) -> NDArray[Any]:
        h = self._project(h)
        logits = at_least_single(h).new_full((len(h), self.words.shape[1]), -torch.inf)
        for sentence in np.unique(self.sentence):
            weight, bias = self._gathered[sentence]
            rows = torch.from_numpy(np.flatnonzero(self.sentence == sentence)).to(h.device)
            logits[rows, : len(bias)] = nn.functional.linear(h[rows], weight, bias).to(logits.dtype)
        return logits.cpu().numpy()

"""Differentiated softmax: the rarer a band of words, the fewer of the hidden units it is scored by."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from trellex.heads.cross_entropy import of_scores
from trellex.heads.distribution import SoftmaxDistribution
from trellex.heads.head import Cost, Head, at_least_single, linear_cost
from trellex.heads.rival_spec import DifferentiatedSpec


class DifferentiatedHead(SoftmaxDistribution, Head):
    """One softmax over all words, whose matrix has a block for every band of them and is 0 elsewhere."""

    spec: DifferentiatedSpec

    def __init__(self, spec: DifferentiatedSpec, hidden_size: int, vocab: Any, _: Any = None) -> None:
        super().__init__(spec, hidden_size, vocab)
        bands = spec.bands(self.vocab_size, hidden_size)
        self.bands = nn.ModuleList(nn.Linear(units, words) for words, units in bands)
        self.units = [units for _, units in bands]

    def _logits(self, h: Tensor) -> Tensor:
        blocks = zip(self.bands, torch.split(h, self.units, -1), strict=True)  # type: ignore[no-untyped-call]
        return at_least_single(torch.cat([band(block) for band, block in blocks], -1))

    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        return of_scores(self._logits(h), target, self.label_smoothing)

    def cost(self) -> Cost:
        return sum((linear_cost(band) for band in self.bands), Cost(0, 0, 0, 0))  # type: ignore[arg-type]

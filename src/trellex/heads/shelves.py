"""Shelves: codes find a shelf of words, and the decoder's own word vectors one of them."""

from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from trellex.arrays import bounded, doubled, is_inspectable
from trellex.codes import Code
from trellex.heads.head import Cost, Head, at_least_single, linear_cost
from trellex.heads.shelf_distribution import ShelfDistribution
from trellex.heads.shelf_scores import scores_by_shelf
from trellex.heads.spec import ShelvesSpec
from trellex.heads.tied import TiedWords

FEW_SHELVES = 4096  # the scores of all of them take fewer operations than a search


class ShelvesHead(ShelfDistribution, Head):
    """Only the words of the most probable shelves are scored: O(H (log V + KW)); of its parameters, a bias a word."""

    spec: ShelvesSpec
    code: Code

    def __init__(self, spec: ShelvesSpec, hidden_size: int, vocab: Any, embedding: nn.Embedding) -> None:
        Head.__init__(self, spec, hidden_size, vocab)
        self.words = TiedWords(hidden_size, embedding)
        ShelfDistribution.__init__(self, spec, spec.build_code(vocab))
        self.shelves = nn.Linear(hidden_size, self.length)

    def shelf_logits(self, h: Tensor) -> Tensor:
        return bounded(at_least_single(self.shelves(h)))

    def word_scores(self, h: Tensor, shelves: Tensor) -> Tensor:
        words = self.words.vectors, self.words.bias
        return scores_by_shelf(
            self.words.project(h), shelves, self.words_on, *words, self.num_shelves, self.words.is_sparse
        )

    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        logits = self.shelf_logits(h)
        visited = self._visited(doubled(logits.detach()))
        log_prob, log_shelf = self.log_prob_among(h, logits, visited, target, self.label_smoothing)
        return -log_prob - self.spec.shelf_weight * log_shelf

    def _visited(self, logits: Tensor) -> Tensor:
        """Of few shelves on an accelerator, by the scores of all.

        They are the same: sums of logits in single precision are exact in double precision, unless those are far apart.
        """
        if is_inspectable(logits) or self.num_shelves > FEW_SHELVES:
            return super()._visited(logits)
        return self.ecc.all_scores(logits, self.shelf_bits).topk(self.visit, -1, sorted=False).indices

    def cost(self) -> Cost:
        return linear_cost(self.shelves, is_bits=True) + self.words.cost(self.visit * self.width)

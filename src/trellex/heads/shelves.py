"""Shelves: codes find a shelf of words, and the decoder's own word vectors one of them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from trellex.arrays import bounded, doubled, has_kernels, is_inspectable, places_of
from trellex.codes import Code
from trellex.heads.head import Cost, Head, at_least_single, linear_cost
from trellex.heads.shelf_distribution import ShelfDistribution
from trellex.heads.shelf_scores import WIDEST, scores_by_shelf
from trellex.heads.shelves_spec import ShelvesSpec
from trellex.heads.tied import TiedWords

FEW_SHELVES = 1 << 12  # the scores of all of them take fewer operations than a search
MOST_RANKED = 1 << 14  # shelves whose scores a kernel holds
MOST_CHOSEN = 1 << 14  # words among which a kernel chooses


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
        return self._scores(self.words.project(h), shelves)

    def _scores(self, states: Tensor, shelves: Tensor) -> Tensor:
        """states [T, E], shelves [T, K] -> [T, K, W]"""
        words = self.words.vectors, self.words.bias
        if self._is_read_by_row(states, shelves, *words):
            from trellex.heads.fused_shelves import scores_by_read

            places = self.width, self.shelf_bits
            return scores_by_read(states, shelves, self.code.table_like(shelves), *words, *places)
        return scores_by_shelf(states, shelves, self.words_on, *words, self.num_shelves, self.words.is_sparse)

    def _is_read_by_row(self, states: Tensor, shelves: Tensor, *words: Tensor) -> bool:
        """Whether a kernel reads shelves for each of few rows anew, which needs no gradient. words: vectors, bias"""
        if not has_kernels(states) or states.dtype == torch.float64:
            return False
        is_learnt = torch.is_grad_enabled() and any(each.requires_grad for each in (states, *words))
        return not is_learnt and self.width <= WIDEST and shelves.numel() <= self.num_shelves

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

    def _first_shelves(self, logits: Tensor) -> Tensor:
        return self._ranked(logits)[0] if self._is_ranked(logits) else super()._first_shelves(logits)

    def _shelves_at_once(self, logits: Tensor, count: int) -> Tensor:
        return self._ranked(logits, count)[0] if self._is_ranked(logits) else super()._shelves_at_once(logits, count)

    def _at_once(self, logits: Tensor, k: int) -> int:
        """Where no kernel ranks all shelves, one on the trellis finds some, and any more would be waited for."""
        return super()._at_once(logits, k if self._is_ranked(logits) else 1)

    def _best(self, h: Tensor) -> Tensor:
        if not self._is_chosen_by_kernels(h):
            return super()._best(h)
        words = self._best_at_once(h)
        rows = places_of(words < 0)
        if len(rows):
            words[rows] = super()._best(h[rows])
        return words

    def _best_at_once(self, h: Tensor) -> Tensor:
        """In few launches, where kernels rank all shelves, and read those after the visited ones where they must."""
        if not self._is_chosen_by_kernels(h):
            return super()._best_at_once(h)
        from trellex.heads import fused_choices

        logits, states = at_least_single(self.shelves(h)), self.words.project(h)
        shelves, log_shelves = self._ranked(logits)
        scores, words = self._scores(states, shelves[:, : self.visit]), self.code.table_like(shelves)
        found = *fused_choices.of_shelves(scores, shelves, log_shelves, words, self.shelf_bits), self.visit
        trellis, table = (logits, self.ecc, self.shelf_bits), (self.words.vectors, self.words.bias, words)
        return fused_choices.on_further_shelves(*found, shelves, log_shelves, *trellis, states, *table)

    def _is_chosen_by_kernels(self, h: Tensor) -> bool:
        is_narrow = self.width <= WIDEST and self.visit * self.width <= MOST_CHOSEN
        return is_narrow and h.dtype != torch.float64 and self._is_ranked(h)

    def _is_ranked(self, values: Tensor) -> bool:
        return has_kernels(values) and self.num_shelves <= MOST_RANKED

    def _ranked(self, logits: Tensor, count: int | None = None) -> tuple[Tensor, Tensor]:
        """Those to visit and the next, best first, and log P(s), by a kernel. [T, L] -> [T, count] twice

        count: K + 1, or all there are, unless given; the order does not depend on it
        """
        from trellex.trellis.fused_ranking import ranked

        return ranked(logits, count or min(self.visit + 1, self.num_shelves), self.ecc.register, self.shelf_bits)

    def cost(self) -> Cost:
        return linear_cost(self.shelves, is_bits=True) + self.words.cost(self.visit * self.width)

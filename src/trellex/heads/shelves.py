"""Shelves: codes find a shelf of words, and the decoder's own word vectors one of them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from trellex.arrays import bounded, is_inspectable
from trellex.codes import Code
from trellex.heads.head import Cost, Head, at_least_single, linear_cost
from trellex.heads.shelf_distribution import ShelfDistribution
from trellex.heads.spec import ShelvesSpec
from trellex.heads.tied import TiedWords

MOST_TOGETHER = 32  # rows that read one shelf together
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
        scores = _scores_by_shelf(self.words.project(h), shelves, self.words_on, self.words.vectors, self.num_shelves)
        words = self.words_on(shelves)
        scores = bounded(at_least_single(scores) + self.words.bias[words.clamp(min=0)])
        return scores.masked_fill(words < 0, -torch.inf)

    def _loss(self, h: Tensor, target: Tensor) -> Tensor:
        logits = self.shelf_logits(h)
        visited = self._shelves_to_visit(logits.detach())
        log_prob, log_shelf = self.log_prob_among(h, logits, visited, target)
        return -log_prob - self.spec.shelf_weight * log_shelf

    def _shelves_to_visit(self, logits: Tensor) -> Tensor:
        """The most probable ones, in any order: of few shelves on an accelerator, by the scores of all. -> [T, K]"""
        if is_inspectable(logits) or self.num_shelves > FEW_SHELVES:
            return self._best_shelves(logits, self.visit)
        return self.ecc.all_scores(logits, self.shelf_bits).topk(self.visit, -1, sorted=False).indices

    def cost(self) -> Cost:
        return linear_cost(self.shelves, is_bits=True) + self.words.cost(self.visit * self.width)


def _scores_by_shelf(states: Tensor, shelves: Tensor, words_on: Any, vectors: Tensor, num_shelves: int) -> Tensor:
    """Products with the vectors of all words on some shelves. states [T, E], shelves [T, K] -> [T, K, W]

    Rows that read the same shelf read it together, in blocks of up to R rows: a product of matrices a block. How many
    blocks there are is known from the sizes alone, so that an accelerator need not be waited for.
    """
    pairs = shelves.numel()
    together = min(MOST_TOGETHER, 1 << (pairs // num_shelves).bit_length())
    num_blocks = (pairs + min(pairs, num_shelves) * (together - 1)) // together
    shelf, order = shelves.flatten().sort(stable=True)
    place = torch.arange(pairs, device=shelf.device)
    is_first = torch.cat([place[:1] == 0, shelf[1:] != shelf[:-1]])
    first = place.where(is_first, 0).cummax(0).values  # where the run of this shelf begins
    opens_block = (place - first) % together == 0
    block = opens_block.long().cumsum(0) - 1
    slot = block * together + (place - first) % together
    rows = states.new_zeros(num_blocks * together, states.shape[1]).index_copy(
        0, slot, states[order // shelves.shape[1]]
    )
    shelf_of_block = shelf.new_zeros(num_blocks).index_copy(0, block, shelf)
    words = words_on(shelf_of_block).clamp(min=0)  # [blocks, W]
    products = rows.view(num_blocks, together, states.shape[1]) @ nn.functional.embedding(words, vectors).transpose(
        1, 2
    )
    found = products.new_empty(pairs, words.shape[1]).index_copy(0, order, products.flatten(0, 1)[slot])
    return found.view(*shelves.shape, words.shape[1])

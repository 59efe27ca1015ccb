"""A desk for beams: every sentence has slots for its open hypotheses, and the best of what could follow go on."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from trellex.nmt.desk import Desk, overwrite
from trellex.text.vocabulary import EOS

NONE = -torch.inf  # the total of a slot without an open hypothesis


class BeamDesk(Desk):
    """What is chosen are the hypotheses that a sentence keeps, best first, as the common search would keep them.

    Of each: the place of the one that it follows, among the open ones of the sentence; its last word, −1 where no more
    are kept; log P of that; and whether words that were not looked at could have been better after the open hypothesis
    of this slot. [N, 4, W]
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._slots = torch.arange(self.width, device=self._device)
        self._total = torch.zeros(self.sentences, self.width, dtype=torch.float64, device=self._device)
        self._room = torch.zeros(self.sentences, dtype=torch.int64, device=self._device)  # for more that end
        self._chosen = torch.zeros(self.sentences, 4, self.width, dtype=torch.float64, device=self._device)

    @property
    def _carried(self) -> tuple[Tensor, ...]:
        return *super()._carried, self._total, self._room

    def _encoded(self) -> None:
        super()._encoded()
        self._total.fill_(NONE)
        self._total[:, 0].fill_(0)
        self._room.fill_(self.width)

    def _stepped(self) -> None:
        hidden, state = self._network.step(self._state, self._words)
        hidden = hidden.reshape(self.sentences, self.width, -1)
        words, log_probs, log_bounds = self._head.topk_at_once(hidden, self.width)
        log_probs, log_bounds = log_probs.float(), log_bounds.float()  # as models tell them
        sums = self._total[..., None] + log_probs  # [N, W, W]
        costs, order = sums.flatten(1).neg().sort(stable=True)  # NaN, too, comes last
        total, order = -costs[:, : self.width], order[:, : self.width]
        word, log_prob = (values.flatten(1).gather(1, order) for values in (words, log_probs))
        word, parent = word.where((total > NONE) & (self._slots < self._room[:, None]), -1), order // self.width
        chosen = self._place_of(parent), word, log_prob, self._may_miss(log_bounds, total)
        overwrite(self._chosen.unbind(1), chosen)

        is_end = word == EOS
        self._room.sub_(is_end.sum(1))
        self._total.copy_(total.where((word >= 0) & ~is_end, NONE))
        self._words.copy_(word.clamp(min=0).flatten())
        rows = parent.flatten() + self._sentence * self.width
        overwrite(self._state, state.select(rows, with_sources=False))

    def _place_of(self, slot: Tensor) -> Tensor:
        """Its place among the open ones of the sentence. [N, W] -> [N, W]"""
        return ((self._total > NONE).cumsum(1) - 1).gather(1, slot)

    def _may_miss(self, log_bounds: Tensor, total: Tensor) -> Tensor:
        """Whether a word that was not looked at could have been kept after a slot.

        log_bounds: the most that log P of such a word can be  [N, W]
        total: the best of those that were, best first  [N, W]
        """
        last_kept = total.gather(1, (self._room - 1).clamp(min=0)[:, None])  # NONE if there are too few
        most = self._total + log_bounds
        return (most >= last_kept) & (most > NONE)

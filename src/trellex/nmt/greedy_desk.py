"""A desk for greedy search: a row for each sentence, and the best word for each row."""

from __future__ import annotations

from typing import Any

from trellex.nmt.desk import Desk, overwrite


class GreedyDesk(Desk):
    """What is chosen are the next words, −1 where the best is not known. [N]"""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._chosen = self._words.clone()

    def _stepped(self) -> None:
        hidden, state = self._network.step(self._state, self._words)
        self._chosen.copy_(self._head.best_at_once(hidden))
        self._words.copy_(self._chosen.clamp(min=0))
        overwrite(self._state, state)

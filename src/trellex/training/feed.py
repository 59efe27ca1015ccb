"""A feed: what the steps of a training take, from the rows of a corpus to tensors on the device."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from trellex.nmt.model import PADDING, target_pair
from trellex.text.batches import as_rows, batches
from trellex.text.parallel import Ids, ParallelIds
from trellex.text.vocabulary import EOS
from trellex.training.processes import Processes
from trellex.training.recipe import TrainingSettings

ROWS, COLUMNS = 16, 4  # of what is widened, multiples of these


class Batch(NamedTuple):
    """What a step takes, in main memory.

    Attributes:
        ids: of this process's rows: source [rows, longest], lengths [rows], read and predict [rows, longest]
        tokens: of the target, EOS included, of all processes
    """

    ids: tuple[Tensor, ...]
    tokens: int


class Feed:
    """The batches of a training. They follow from its settings alone, so that any may be prepared at any time.

    Args:
        split: what is trained on
        is_widened: whether batches come in few shapes, as recordings need
    """

    def __init__(self, split: ParallelIds, settings: TrainingSettings, processes: Processes, is_widened: bool) -> None:
        self._split, self._settings, self._processes = split, settings, processes
        self._is_widened = is_widened

    def epoch(self, number: int) -> list[Any]:
        """The batches of an epoch: index arrays into the split."""
        return batches(
            self._split.source_lengths,
            self._split.target_lengths,
            sentences=self._settings.batch_sentences,
            tokens=self._settings.batch_tokens,
            seed=self._settings.seed,
            epoch=number,
        )

    def after(self, step: int) -> Iterator[Any]:
        """The batches from the one after a step on, for ever: index arrays into the split."""
        for number in count():
            of_epoch = self.epoch(number)
            yield from of_epoch[step:]
            step = max(0, step - len(of_epoch))

    def some(self, number: int, tokens: int) -> Iterator[Any]:
        """The first batches of an epoch, until they have so many tokens."""
        for rows in self.epoch(number):
            if tokens <= 0:
                break
            tokens -= self.tokens_of(rows)
            yield rows

    def largest(self) -> Any:
        """The batch of the first epoch with most words to predict, as it is widened."""
        lengths = self._split.target_lengths
        return max(self.epoch(0), key=lambda rows: -(-len(rows) // ROWS) * -(-int(lengths[rows].max() + 1) // COLUMNS))

    def tokens_of(self, rows: Any) -> int:
        """The target tokens of these pairs, EOS included."""
        return int(self._split.target_lengths[rows].sum()) + len(rows)

    def prepared(self, rows: Any) -> Batch:
        """This process's share of a global batch."""
        mine = rows[self._processes.rank :: self._processes.count]
        return Batch(self._ids(mine, rows), self.tokens_of(rows))

    def tensors(self, rows: Any) -> tuple[Tensor, ...]:
        """A whole batch on the device."""
        return self.on_device(self._ids(rows, rows))

    def on_device(self, ids: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(each.to(self._processes.device, non_blocking=True) for each in ids)

    def _ids(self, rows: Any, all_rows: Any) -> tuple[Tensor, ...]:
        """Padded ids of these rows. A process left without any takes one that does not count."""
        empty = len(rows) == 0
        rows = all_rows[:1] if empty else rows
        source, lengths = self._split.sources(rows)
        target_in, target_out = target_pair(*self._split.targets(rows))
        if empty:
            target_out[:] = PADDING
        batch = as_rows(source, lengths, EOS), lengths, target_in, target_out
        return tuple(map(self._on_host, self._widened(*batch)))

    def _widened(self, source: Ids, lengths: Ids, read: Ids, predict: Ids) -> tuple[Ids, Ids, Ids, Ids]:
        """With rows that do not count, and longer ones."""
        if not self._is_widened:
            return source, lengths, read, predict
        rows = -len(source) % ROWS
        of_source, of_target = ((0, -each.shape[1] % COLUMNS) for each in (source, read))
        return (
            np.pad(source, ((0, rows), of_source), constant_values=EOS),
            np.pad(lengths, (0, rows), constant_values=1),
            np.pad(read, ((0, rows), of_target), constant_values=EOS),
            np.pad(predict, ((0, rows), of_target), constant_values=PADDING),
        )

    def _on_host(self, ids: Ids) -> Tensor:
        """For a GPU in pinned memory, from which it is copied while the device works."""
        tensor = torch.from_numpy(ids)
        return tensor.pin_memory() if self._processes.device.type == "cuda" else tensor

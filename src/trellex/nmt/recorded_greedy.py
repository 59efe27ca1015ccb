"""Recorded greedy search: a GPU chooses word after word by replayed CUDA graphs, and the host reads them meanwhile."""

from __future__ import annotations

import threading
import warnings
from collections import OrderedDict, deque
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from trellex.heads import Head
from trellex.nmt.desk import Desk, Words
from trellex.nmt.network import Network
from trellex.nmt.recorder import Recorder, WaitsForDeviceError
from trellex.text.vocabulary import EOS

COLUMNS = 8  # of a desk, a multiple of this
FEW_ROWS, MOST_ROWS = 8, 1024  # of a desk; fewer would hardly be faster, and more are read in another way
MOST_DESKS = 256
AHEAD = 1  # steps that the device is given before the host has read the words of the last


class RecordedGreedy:
    """Greedy search that does not wait for the device at every word: it is given steps in advance.

    Sentences that have ended go on until the host knows; from then on, when at most half of many rows are left, with
    fewer. Where an output layer cannot tell the best word without waiting, the sentence is left to the common search;
    if it never can, or memory is short, all are.

    Args:
        is_recorded: whether steps are recorded as CUDA graphs, for a network on a GPU
    """

    def __init__(self, network: Network, head: Head, is_recorded: bool = True) -> None:
        self._network, self._head = network, head
        self._recorder: Recorder | None = None
        self._is_recorded, self._is_checked, self._is_given_up = is_recorded, False, False
        self._desks: OrderedDict[tuple[int, int], Desk] = OrderedDict()  # the last used last
        self._memory = torch.empty(0, dtype=torch.uint8)  # of all desks, for one is used at a time
        self._weights: list[int] = []  # where they are
        self._lock = threading.Lock()  # a desk serves one search at a time

    def __call__(self, sources: Sequence[NDArray[Any]], limits: Sequence[int]) -> list[list[int] | None]:
        """The best words of each sentence, at most so many, up to EOS; None where the common search must find them."""
        if self._is_given_up or not sources:
            return [None] * len(sources)
        with self._lock, torch.inference_mode(), _current(self._device):
            self._check_weights()
            parts = [slice(first, first + MOST_ROWS) for first in range(0, len(sources), MOST_ROWS)]
            try:
                return [words for part in parts for words in self._translations(sources[part], np.array(limits[part]))]
            except RuntimeError as error:
                if not self._is_recorded:
                    raise
                if not isinstance(error, (WaitsForDeviceError, torch.OutOfMemoryError)):
                    warnings.warn(f"greedy search cannot be recorded, and is slower without: {error}", stacklevel=2)
            self._is_given_up = True
            self._forget()
        return [None] * len(sources)

    def _translations(self, sources: Sequence[NDArray[Any]], limits: NDArray[np.int64]) -> list[list[int] | None]:
        longest = max(map(len, sources))
        desk = self._desk(len(sources), -(-longest // COLUMNS) * COLUMNS)
        desk.begin(sources)
        if not self._is_checked:
            desk.check()
            self._is_checked = True
            desk.begin(sources)
        sentences = np.arange(len(sources))  # in the rows of the desk
        is_open = np.ones(len(sources), bool)
        found = np.full((len(sources), limits.max()), EOS)
        under_way: deque[tuple[NDArray[np.int64], Words]] = deque()
        for place in range(-AHEAD, limits.max()):
            if place + AHEAD < limits.max():
                under_way.append((sentences, desk.choose()))
            if place < 0:
                continue
            of_sentences, chosen = under_way.popleft()
            words = chosen.arrived()[: len(of_sentences)]
            found[of_sentences, place] = words
            is_open[of_sentences] &= (words >= 0) & (words != EOS) & (place + 1 < limits[of_sentences])
            left = np.flatnonzero(is_open[sentences])
            if len(left) == 0:
                break
            if desk.rows > FEW_ROWS and 2 * len(left) <= desk.rows:
                smaller = self._desk(max(len(left), FEW_ROWS), desk.columns)
                smaller.take(desk, left)
                desk, sentences = smaller, sentences[left]
        return [_until_end(words[:limit]) for words, limit in zip(found, limits, strict=True)]

    def _desk(self, rows: int, columns: int) -> Desk:
        """One for at least so many rows. One that needs more memory than there is makes all others useless."""
        shape = 1 << (rows - 1).bit_length(), columns
        if shape not in self._desks:
            if self._is_recorded and self._recorder is None:
                self._recorder = Recorder()
            desk = Desk(self._network, self._head, shape, self._recorder)
            if desk.size > len(self._memory):
                self._desks.clear()
                self._memory = torch.empty(desk.size, dtype=torch.uint8, device=self._device)
            desk.move(self._memory)
            self._desks[shape] = desk
            if len(self._desks) > MOST_DESKS:
                self._desks.popitem(last=False)
        self._desks.move_to_end(shape)
        return self._desks[shape]

    @property
    def _device(self) -> torch.device:
        return self._network.embedding.weight.device

    def _check_weights(self) -> None:
        """Recordings look for weights where they were: those that moved make them useless.

        Vectors that are composed from weights are composed anew by asking for them.
        """
        weights = [each.data_ptr() for part in (self._network, self._head) for each in part.parameters()]
        weights.append(self._network.embedding.weight.data_ptr())
        if weights != self._weights:
            self._forget()
            self._weights = weights

    def _forget(self) -> None:
        self._desks.clear()
        self._recorder, self._memory = None, self._memory[:0].clone()


def _current(device: torch.device) -> AbstractContextManager[Any]:
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()


def _until_end(words: NDArray[np.int64]) -> list[int] | None:
    """Up to EOS, if it is there; None if a word before it is not known. [T]"""
    ends = np.flatnonzero((words == EOS) | (words < 0))
    if len(ends) == 0:
        return words.tolist()
    return None if words[ends[0]] < 0 else words[: ends[0] + 1].tolist()

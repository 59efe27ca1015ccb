"""A desk: sentences being translated at a fixed place in memory, word by word, without waiting for the device."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trellex.heads import Head
from trellex.nmt.network import Network
from trellex.nmt.recorder import Recorder, Replayed
from trellex.text.batches import pad
from trellex.text.vocabulary import BOS, EOS

ALIGNED = 256  # bytes at which tensors begin


class Chosen:
    """What was chosen, on its way to the host. chosen [N, ..], which may be written anew meanwhile"""

    def __init__(self, chosen: Tensor) -> None:
        self._values = chosen.to("cpu", non_blocking=True, copy=True)
        self._arrival = torch.cuda.current_stream(chosen.device).record_event() if chosen.is_cuda else None

    def arrived(self) -> NDArray[Any]:
        if self._arrival is not None:
            self._arrival.synchronize()
        return self._values.numpy()


class Desk(ABC):
    """Sentences, some rows of each, where recordings look for them.

    Args:
        shape: N, W and S: the most sentences, the rows of each and the most words of a source; where there are fewer
            sentences, what stands in the place of others does not count
        recorder: of a GPU; without one every step is computed directly
    """

    _chosen: Tensor  # of the last step  [N, ..]

    def __init__(self, network: Network, head: Head, shape: tuple[int, int, int], recorder: Recorder | None) -> None:
        self.sentences, self.width, self.columns = shape
        self._network, self._head = network, head
        self._device = network.embedding.weight.device
        self._source = torch.full((self.sentences, self.columns), EOS, device=self._device)
        self._lengths = torch.ones(self.sentences, dtype=torch.int64, device=self._device)
        self._sentence = torch.arange(self.sentences, device=self._device).repeat_interleave(self.width)  # of a row
        self._words = torch.full((self.sentences * self.width,), BOS, device=self._device)
        self._state: Any = network.start(self._source, self._lengths).select(self._sentence)
        self._recorder, self._encode, self._step = recorder, Replayed(recorder), Replayed(recorder)

    @property
    def size(self) -> int:
        """The bytes that it needs."""
        return sum(_aligned(values.nbytes) for values in self._state)

    def move(self, memory: Tensor) -> None:
        """Where it shall be. memory [bytes]"""
        places, first = [], 0
        for values in self._state:
            place = memory[first : first + values.nbytes]
            places.append(place.view(values.dtype).view(values.shape))
            first += _aligned(values.nbytes)
        self._state = type(self._state)(*places)

    @property
    def is_recorded(self) -> bool:
        return self._step.is_recorded

    def begin(self, sources: Sequence[NDArray[Any]]) -> None:
        """Read source sentences, at most N of at most S words."""
        ids = pad([*sources, np.zeros(self.columns, np.int64)], EOS)[:-1]
        self._source[: len(ids)] = torch.from_numpy(ids)
        self._lengths[: len(ids)] = torch.tensor([len(source) for source in sources])
        self._encode(self._encoded)

    def take(self, other: Desk, sentences: NDArray[np.int64]) -> None:
        """Go on with some sentences of another desk of as many rows of each and as many columns."""
        index = torch.from_numpy(np.resize(sentences, self.sentences))
        if self._words.is_cuda:
            index = index.pin_memory().to(self._device, non_blocking=True)
        taken = [values[index] for values in other._by_sentence(other._carried)]  # all, before any is overwritten
        overwrite(self._by_sentence(self._carried), taken)

    def choose(self) -> Chosen:
        """What follows in every sentence."""
        self._step(self._stepped)
        return Chosen(self._chosen)

    def check(self) -> None:
        """Raises WaitsForDeviceError if choosing words does, and so cannot be recorded."""
        if self._recorder is not None:
            self._recorder.direct(self._stepped)  # tables find their way to the device, and kernels are compiled
            self._recorder.direct(self._stepped, may_wait=False)

    @property
    def _carried(self) -> tuple[Tensor, ...]:
        """What goes on from step to step, one sentence after another."""
        return *self._state, self._words

    def _by_sentence(self, places: Iterable[Tensor]) -> list[Tensor]:
        """The same places, of each sentence together. -> [N, rows, ..] each"""
        return [values.view(self.sentences, -1, *values.shape[1:]) for values in places]

    def _encoded(self) -> None:
        state = self._network.start(self._source, self._lengths)  # of each sentence, for all its rows
        overwrite(self._by_sentence(self._state), (values[:, None] for values in state))
        self._words.fill_(BOS)

    @abstractmethod
    def _stepped(self) -> None:
        """Read the words, write what was chosen, and those to read next with their state."""


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def overwrite(places: Iterable[Tensor], values: Iterable[Any]) -> None:
    for place, value in zip(places, values, strict=True):
        if place is not value:
            place.copy_(value)

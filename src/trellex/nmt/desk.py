"""A desk: sentences being translated at a fixed place in memory, word by word, without waiting for the device."""

from __future__ import annotations

from collections.abc import Sequence
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


class Words:
    """Chosen words on their way to the host. chosen [N], which may be written anew meanwhile"""

    def __init__(self, chosen: Tensor) -> None:
        self._values = chosen.to("cpu", non_blocking=True, copy=True)
        self._arrival = torch.cuda.current_stream(chosen.device).record_event() if chosen.is_cuda else None

    def arrived(self) -> NDArray[np.int64]:
        if self._arrival is not None:
            self._arrival.synchronize()
        return self._values.numpy()


class Desk:
    """Sentences, a row each, where recordings look for them.

    Args:
        shape: N and S, the most sentences and the most words of a source; what stands in other rows does not count
        recorder: of a GPU; without one every step is computed directly
    """

    def __init__(self, network: Network, head: Head, shape: tuple[int, int], recorder: Recorder | None) -> None:
        self.rows, self.columns = shape
        self._network, self._head = network, head
        device = network.embedding.weight.device
        self._source = torch.full(shape, EOS, device=device)
        self._lengths = torch.ones(self.rows, dtype=torch.int64, device=device)
        self._words = torch.full((self.rows,), BOS, device=device)
        self._chosen = self._words.clone()
        self._state: Any = network.start(self._source, self._lengths)
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

    def take(self, other: Desk, rows: NDArray[np.int64]) -> None:
        """Go on with some rows of another desk of as many columns."""
        index = torch.from_numpy(np.resize(rows, self.rows))
        if self._words.is_cuda:
            index = index.pin_memory().to(self._words.device, non_blocking=True)
        taken = [values[index] for values in (*other._state, other._words)]  # all, before any is overwritten
        _overwrite((*self._state, self._words), taken)

    def choose(self) -> Words:
        """The next word of every row, −1 where the best is not known."""
        self._step(self._stepped)
        return Words(self._chosen)

    def check(self) -> None:
        """Raises WaitsForDeviceError if choosing words does, and so cannot be recorded."""
        if self._recorder is not None:
            self._recorder.direct(self._stepped)  # tables find their way to the device, and kernels are compiled
            self._recorder.direct(self._stepped, may_wait=False)

    def _encoded(self) -> None:
        _overwrite(self._state, self._network.start(self._source, self._lengths))
        self._words.fill_(BOS)

    def _stepped(self) -> None:
        hidden, state = self._network.step(self._state, self._words)
        self._chosen.copy_(self._head.best_at_once(hidden))
        self._words.copy_(self._chosen.clamp(min=0))
        _overwrite(self._state, state)


def _aligned(size: int) -> int:
    return -(-size // ALIGNED) * ALIGNED


def _overwrite(places: Any, values: Any) -> None:
    for place, value in zip(places, values, strict=True):
        if place is not value:
            place.copy_(value)

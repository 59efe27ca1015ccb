"""What recorded searches share: desks in one memory, recordings that follow the weights, and giving up for good."""

from __future__ import annotations

import threading
import warnings
from abc import ABC
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, TypeVar

import torch
from numpy.typing import NDArray

from trellex.heads import Head
from trellex.nmt.desk import Desk
from trellex.nmt.network import Network
from trellex.nmt.recorder import Recorder, WaitsForDeviceError, is_refused_for_others, wait_for_others
from trellex.nmt.steps_ahead import StepsAhead

COLUMNS = 8  # of a desk, a multiple of this
MOST_ROWS = 1024  # of a desk; more are read in another way
MOST_DESKS = 256

Found = TypeVar("Found")


class RecordedSearch(ABC):
    """A search that does not wait for the device at every word: it is given steps in advance.

    Where an output layer cannot tell the best words without waiting, a sentence is left to the common search; if it
    never can, all are that need as many, one or several, and where memory is short, all of that width.

    Args:
        is_recorded: whether steps are recorded as CUDA graphs, for a network on a GPU
    """

    name: ClassVar[str]
    desk_type: ClassVar[type[Desk]]

    def __init__(self, network: Network, head: Head, is_recorded: bool = True) -> None:
        self._network, self._head = network, head
        self._recorder: Recorder | None = None
        self._is_recorded = is_recorded
        self._at_once: dict[bool, bool] = {}  # whether one word is found without waiting, and whether several are
        self._given_up: set[int] = set()  # widths that cannot be recorded
        self._desks: OrderedDict[tuple[int, int, int], Desk] = OrderedDict()  # the last used last
        self._memory = torch.empty(0, dtype=torch.uint8)  # of all desks, for one is used at a time
        self._weights: list[int] = []  # where they are
        self._lock = threading.Lock()  # a desk serves one search at a time

    def _in_parts(
        self, count: int, width: int, search: Callable[[range], Sequence[Found | None]]
    ) -> list[Found | None]:
        """What is found for so many sentences, as many at a time as a desk has; None where the common search must."""
        found: list[Found | None] = []
        most = 1 << ((MOST_ROWS // width).bit_length() - 1)
        with self._lock, torch.inference_mode(), _current(self._device):
            if width in self._given_up or not self._at_once.get(width > 1, True):  # as another thread may have found
                return [None] * count
            self._check_weights()
            parts = [range(first, min(first + most, count)) for first in range(0, count, most)]
            try:
                for part in parts:
                    found += search(part)
            except RuntimeError as error:
                if not self._is_recorded:
                    raise
                self._give_up(width, error)
        return found + [None] * (count - len(found))

    def _give_up(self, width: int, error: RuntimeError) -> None:
        """Leave what is not found yet to the common search, for this time or for good."""
        if is_refused_for_others(error):
            return wait_for_others()
        if isinstance(error, WaitsForDeviceError):
            self._at_once[width > 1] = False
        else:
            self._given_up.add(width)
            if not isinstance(error, torch.OutOfMemoryError):
                warnings.warn(f"{self.name} cannot be recorded, and is slower without: {error}", stacklevel=4)
        return self._forget()

    def _steps(self, sources: Sequence[NDArray[Any]], width: int, most: int) -> StepsAhead:
        """What is chosen for sentences, at most so many times."""
        columns = -(-max(map(len, sources)) // COLUMNS) * COLUMNS
        desk = self._desk(len(sources), width, columns)
        desk.begin(sources)
        if (width > 1) not in self._at_once:
            desk.check()
            self._at_once[width > 1] = True
            desk.begin(sources)
        return StepsAhead(desk, len(sources), most, lambda left: self._desk(left, width, columns))

    def _desk(self, sentences: int, width: int, columns: int) -> Desk:
        """One for at least so many sentences. One that needs more memory than there is makes all others useless."""
        shape = 1 << (sentences - 1).bit_length(), width, columns
        if shape not in self._desks:
            if self._is_recorded and self._recorder is None:
                self._recorder = Recorder()
            desk = self.desk_type(self._network, self._head, shape, self._recorder)
            if desk.size > len(self._memory):
                self._forget_desks()
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
        self._forget_desks()
        self._recorder = None

    def _forget_desks(self) -> None:
        self._desks.clear()
        self._memory = self._memory[:0].clone()


def _current(device: torch.device) -> AbstractContextManager[Any]:
    return torch.cuda.device(device) if device.type == "cuda" else nullcontext()

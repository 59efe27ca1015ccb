"""Recorded steps: CUDA graphs of training steps, one for each shape of batches, each replayed by a single call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from trellex.memory import is_out_of_memory
from trellex.nmt.recorder import WARM_UP, Recorder, WaitsForDeviceError

MOST_RECORDED = 512  # shapes; steps of others are taken directly


class _Recording(NamedTuple):
    graph: torch.cuda.CUDAGraph
    batch: tuple[Tensor, ...]  # where the graph looks for it
    loss: Tensor


class RecordedSteps:
    """Takes steps on a GPU, directly at first and then by recordings.

    A step that waits for the device cannot be recorded. One of the first may not wait, to find out; if it must, or if
    memory runs out, all steps are taken directly.

    Args:
        step: takes the tensors of a batch and returns the loss; what else it reads and changes stays in its place
        largest: gives a batch of the largest shape, which is recorded first: others then find room in its memory
    """

    def __init__(self, step: Callable[..., Tensor], largest: Callable[[], Sequence[Tensor]]) -> None:
        self._step, self._largest = step, largest
        self._taken, self._is_direct = 0, False
        self._recordings: dict[tuple[torch.Size, ...], _Recording] = {}
        self._recorder = Recorder()

    def __call__(self, *batch: Tensor) -> Tensor:
        recording = self._recording_of(batch)
        if recording is None:
            return self._directly(*batch)
        for place, values in zip(recording.batch, batch, strict=True):
            place.copy_(values)
        recording.graph.replay()
        return recording.loss.clone()

    def forget(self) -> None:
        """Record anew, the first steps directly again, because something else than the batch has changed its place."""
        self._recordings.clear()
        self._recorder.release()
        self._taken = 0

    def _recording_of(self, batch: Sequence[Tensor]) -> _Recording | None:
        """Made if there is none yet; None if the step is to be taken directly."""
        shape = tuple(values.shape for values in batch)
        if shape not in self._recordings:
            if self._taken < WARM_UP or self._is_direct or len(self._recordings) >= MOST_RECORDED:
                return None
            try:
                if not self._recordings:
                    largest = self._largest()
                    self._recordings[tuple(values.shape for values in largest)] = self._recorded(*largest)
                self._recordings[shape] = self._recorded(*batch)
            except RuntimeError as error:  # a recording that ends takes memory by another way than tensors do
                if not is_out_of_memory(error):
                    raise
                warnings.warn(f"memory is too short to record steps, which are slower without: {error}", stacklevel=2)
                self.forget()
                self._is_direct = True
                return None
        return self._recordings[shape]

    def _directly(self, *batch: Tensor) -> Tensor:
        """The first of them, in which optimisers make their moments, too."""
        self._taken += 1
        compute = partial(self._step, *batch)
        if self._is_direct or self._taken != WARM_UP:
            return self._recorder.direct(compute)
        chance = torch.cuda.get_rng_state()
        try:
            return self._recorder.direct(compute, may_wait=False)
        except WaitsForDeviceError:
            self._is_direct = True
        torch.cuda.set_rng_state(chance)
        return self._recorder.direct(compute)

    def _recorded(self, *batch: Tensor) -> _Recording:
        places = tuple(values.clone() for values in batch)
        graph, loss = self._recorder.recorded(partial(self._step, *places))
        return _Recording(graph, places, loss)

"""Recorded steps: CUDA graphs of training steps, one for each shape of batches, each replayed by a single call.

A step is a thousand small kernels, which a GPU ends sooner than the host launches them one by one.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

WARM_UP = 3  # steps before any is recorded, in which libraries prepare themselves and optimisers their moments
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
        self._stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        self._memory = torch.cuda.graph_pool_handle()

    def __call__(self, *batch: Tensor) -> Tensor:
        recording = self._recording_of(batch)
        if recording is None:
            return self._directly(*batch)
        for place, values in zip(recording.batch, batch, strict=True):
            place.copy_(values)
        recording.graph.replay()
        return recording.loss.clone()

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
            except torch.OutOfMemoryError:
                self._recordings.clear()
                self._is_direct = True
                return None
        return self._recordings[shape]

    def _directly(self, *batch: Tensor) -> Tensor:
        """On the stream of recordings, so that what belongs to a stream is ready for them."""
        self._taken += 1
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            loss = self._without_waiting(*batch) if self._taken == WARM_UP else self._step(*batch)
        torch.cuda.current_stream().wait_stream(self._stream)
        return loss

    def _without_waiting(self, *batch: Tensor) -> Tensor:
        chance = torch.cuda.get_rng_state()
        try:
            with _waiting_refused():
                return self._step(*batch)
        except RuntimeError as error:
            if "synchronizing" not in str(error):
                raise
            self._is_direct = True
        torch.cuda.set_rng_state(chance)
        return self._step(*batch)

    def _recorded(self, *batch: Tensor) -> _Recording:
        """Nothing is computed yet. All recordings share memory, for none is replayed beside another."""
        places = tuple(values.clone() for values in batch)
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.stream(self._stream):
            graph.capture_begin(pool=self._memory, capture_error_mode="thread_local")
            try:
                loss = self._step(*places)
            finally:
                graph.capture_end()
        return _Recording(graph, places, loss)


@contextmanager
def _waiting_refused() -> Iterator[None]:
    """PyTorch raises RuntimeError where it would wait for the device."""
    mode = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that this is new
        torch.cuda.set_sync_debug_mode("error")
        try:
            yield
        finally:
            torch.cuda.set_sync_debug_mode(mode)

"""A recorder: what a GPU computes, kept as CUDA graphs, each replayed by a single call.

Small kernels end sooner than the host launches them one by one.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import TypeVar

import torch

REFUSED = "synchronizing"  # PyTorch's word for what waits where that is refused
WARM_UP = 3  # times that something is computed before it is recorded, in which libraries prepare themselves

Result = TypeVar("Result")

# threads of one process: none may wait for the device while another records, or sees to it that nothing waits
_ONE_AT_A_TIME = threading.Lock()


class WaitsForDeviceError(RuntimeError):
    """What waits for the device cannot be recorded."""


def is_refused_for_others(error: Exception) -> bool:
    """Whether it waited for the device at the very time when another thread saw to it that nothing waits."""
    return REFUSED in str(error) and not isinstance(error, WaitsForDeviceError)


def wait_for_others() -> None:
    """Until no other thread records, or sees to it that nothing waits."""
    with _ONE_AT_A_TIME:
        pass


@cache
def _stream_of(device: int) -> torch.cuda.Stream:
    """What all recorders of a device share, for libraries keep memory for each stream that they have seen."""
    return torch.cuda.Stream(device)  # type: ignore[no-untyped-call]


class Recorder:
    """Records apart from the current stream. All its recordings share memory, for none is replayed beside another."""

    def __init__(self) -> None:
        self._stream = _stream_of(torch.cuda.current_device())
        self.release()

    def release(self) -> None:
        """Let the memory go with the last recording."""
        self._memory = torch.cuda.graph_pool_handle()
        self._first: torch.cuda.CUDAGraph | None = None  # as long as there is one, the memory can be shared

    def direct(self, compute: Callable[[], Result], may_wait: bool = True) -> Result:
        """Computed on the stream of recordings, so that what belongs to a stream is ready for them.

        Where it may not wait for the device, WaitsForDeviceError is raised; in other threads, too, for so long.
        """
        current = torch.cuda.current_stream()
        self._stream.wait_stream(current)
        try:
            with torch.cuda.stream(self._stream), _ONE_AT_A_TIME if may_wait else _waiting_refused():
                return compute()
        finally:
            current.wait_stream(self._stream)

    def recorded(self, compute: Callable[[], Result]) -> tuple[torch.cuda.CUDAGraph, Result]:
        """The recording, and where it will leave its result. Nothing is computed yet."""
        graph = torch.cuda.CUDAGraph()
        with _ONE_AT_A_TIME, torch.cuda.stream(self._stream):
            torch.cuda.synchronize()
            if self._first is None:
                with suppress(RuntimeError):  # some versions refuse, once a recording could not end
                    torch.cuda.empty_cache()  # in the midst of a recording PyTorch gives back none of what it keeps
            graph.capture_begin(pool=self._memory, capture_error_mode="thread_local")
            try:
                result = compute()
            except BaseException:
                with suppress(RuntimeError):  # which would hide what failed
                    graph.capture_end()
                raise
            graph.capture_end()
        self._first = self._first or graph
        return graph, result


class Replayed:
    """Computes the same again and again, directly at first, then by a recording.

    recorder: of a GPU; without one all is computed directly
    """

    def __init__(self, recorder: Recorder | None) -> None:
        self._recorder, self._taken = recorder, 0
        self._graph: torch.cuda.CUDAGraph | None = None

    @property
    def is_recorded(self) -> bool:
        return self._graph is not None

    def __call__(self, compute: Callable[[], None]) -> None:
        """compute: does not wait for the device; what it reads and changes stays in its place"""
        if self._recorder is None:
            return compute()
        if self._taken < WARM_UP:
            self._recorder.direct(compute)
            self._taken += 1
            return None
        if self._graph is None:
            self._graph, _ = self._recorder.recorded(compute)
        return self._graph.replay()


@contextmanager
def _waiting_refused() -> Iterator[None]:
    """Raises WaitsForDeviceError where PyTorch would wait for the device."""
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        mode = torch.cuda.get_sync_debug_mode()
        warnings.simplefilter("ignore")  # that this is new
        torch.cuda.set_sync_debug_mode("error")
        try:
            yield
        except RuntimeError as error:
            if REFUSED not in str(error):
                raise
            raise WaitsForDeviceError(str(error)) from error
        finally:
            torch.cuda.set_sync_debug_mode(mode)

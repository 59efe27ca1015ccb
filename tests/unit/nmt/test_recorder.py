"""A recorder asks the GPU for what it needs in the right order; here of one that only logs what it is asked."""

from contextlib import nullcontext
from unittest.mock import Mock

import pytest
import torch

from trellex.nmt import recorder as recorder_module
from trellex.nmt.recorder import Recorder, WaitsForDeviceError, is_refused_for_others, wait_for_others


@pytest.fixture
def log(monkeypatch):
    """Of what is done to a GPU that need not be there."""
    found = []

    class Graph:
        def capture_begin(self, **_):
            found.append("begin")

        def capture_end(self):
            found.append("end")

    for name in ("synchronize", "empty_cache"):
        monkeypatch.setattr(torch.cuda, name, lambda name=name: found.append(name))
    stand_ins = {"CUDAGraph": Graph, "current_device": int, "current_stream": Mock, "graph_pool_handle": object}
    for name, stand_in in stand_ins.items():
        monkeypatch.setattr(torch.cuda, name, stand_in)
    monkeypatch.setattr(recorder_module, "_stream_of", Mock())
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: 0)
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", found.append)
    monkeypatch.setattr(torch.cuda, "stream", lambda _: nullcontext())
    return found


def test_memory_that_pytorch_keeps_is_given_back_before_the_first_recording(log):
    """Or what was computed directly, or recorded before, would leave no room for it."""
    recorder, recording = Recorder(), ["synchronize", "begin", "computed", "end"]
    for _ in range(2):
        for _ in range(2):
            recorder.recorded(lambda: log.append("computed"))
        assert log == ["synchronize", "empty_cache", *recording[1:], *recording]
        recorder.release()
        log.clear()


def test_a_recording_ends_where_it_fails(log):
    recorder = Recorder()

    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        recorder.recorded(interrupted)
    assert log[-1] == "end"
    recorder.recorded(lambda: None)
    assert log.count("empty_cache") == 2  # for nothing had been recorded


def test_what_failed_is_told_where_its_recording_cannot_end_either(log, monkeypatch):
    recorder = Recorder()
    monkeypatch.setattr(torch.cuda.CUDAGraph, "capture_end", Mock(side_effect=RuntimeError("cannot end")))
    with pytest.raises(torch.OutOfMemoryError, match="none left"):
        recorder.recorded(Mock(side_effect=torch.OutOfMemoryError("none left")))
    with pytest.raises(RuntimeError, match="cannot end"):
        recorder.recorded(lambda: None)


def test_memory_that_is_not_given_back_prevents_nothing(log, monkeypatch):
    monkeypatch.setattr(torch.cuda, "empty_cache", Mock(side_effect=RuntimeError("captures_underway")))
    assert Recorder().recorded(lambda: 7)[1] == 7


@pytest.mark.parametrize("may_wait", [True, False])
def test_what_waits_is_found_where_it_may_not(log, may_wait):
    refusal = RuntimeError("called a synchronizing CUDA operation")
    with pytest.raises(RuntimeError) as found:
        Recorder().direct(Mock(side_effect=refusal), may_wait)
    assert isinstance(found.value, WaitsForDeviceError) != may_wait
    assert is_refused_for_others(found.value) == may_wait  # another thread saw to it that nothing waits
    assert log == ([] if may_wait else ["error", 0])
    wait_for_others()  # which ends, for nobody is kept out


def test_other_errors_stay_what_they_are(log):
    with pytest.raises(torch.OutOfMemoryError):
        Recorder().direct(Mock(side_effect=torch.OutOfMemoryError("none left")), may_wait=False)
    assert log == ["error", 0]
    assert Recorder().direct(lambda: 7, may_wait=False) == 7

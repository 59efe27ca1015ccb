"""A recorder asks the GPU for what it needs in the right order; here of one that only logs what it is asked."""

from contextlib import nullcontext

import pytest
import torch

from trellex.nmt.recorder import Recorder


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
    for name, stand_in in {"CUDAGraph": Graph, "Stream": object, "graph_pool_handle": object}.items():
        monkeypatch.setattr(torch.cuda, name, stand_in)
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

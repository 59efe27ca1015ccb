"""Workers of Ray that are lost: others take their place, but not for ever."""

import pytest

pytest.importorskip("ray")

from ray.exceptions import RayActorError, RayTaskError

from trellex.bulk.ray_workers import LOADS, TRIES, Losses


def test_a_shard_that_ends_worker_after_worker_ends_the_command():
    told = []
    losses = Losses(told.append)
    for _ in range(TRIES - 1):
        losses.note(3, RayActorError())
        losses.note(4, None)
    assert told == ["a worker was lost with shard 3; another one takes its place"] * (TRIES - 1)
    with pytest.raises(
        OSError, match=f"a worker was lost with shard 3, {TRIES} times now .*; look whether it had memory"
    ):
        losses.note(3, RayActorError())


def test_so_does_a_model_that_cannot_be_loaded():
    losses = Losses(lambda line: None)
    for _ in range(LOADS - 1):
        losses.note(None, RayActorError())
    losses.note(None, None)  # one could
    for _ in range(LOADS - 1):
        losses.note(None, RayActorError())
    with pytest.raises(OSError, match=f"a worker was lost while it loaded the model, {LOADS} times now"):
        losses.note(None, RayActorError())


def test_an_error_is_tried_again_and_told_as_it_was_in_the_end():
    told = []
    losses = Losses(told.append)
    error = RayTaskError("translate", "where it came from", OSError(5, "Input/output error"))
    for _ in range(TRIES - 1):
        losses.note(3, error)
    assert told == ["a worker failed with shard 3 ([Errno 5] Input/output error); it is tried again"] * (TRIES - 1)
    with pytest.raises(OSError, match="Input/output error"):
        losses.note(3, error)

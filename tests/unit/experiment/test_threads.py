"""Trainings side by side share the cores, unless recipe or user say otherwise."""

from types import SimpleNamespace

import pytest

from trellex.experiment import pool, threads
from trellex.experiment.grid import Grid
from trellex.experiment.runner import Runner

HEADS = ["softmax", "binary", "binary-ec"]


@pytest.fixture
def given(write_grid, monkeypatch):
    """What the processes of a grid of 3 cells get as OMP_NUM_THREADS, on a machine with so many cores."""

    def given(cores, at_once, users=None, device="cpu", **training):
        monkeypatch.setattr(threads, "cpu_count", lambda: cores)
        monkeypatch.setattr(threads, "choose_device", lambda _: device)
        if users is None:
            monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
        else:
            monkeypatch.setenv("OMP_NUM_THREADS", users)
        runner = Runner(Grid.load(write_grid({"heads": HEADS}, training)), at_once=at_once)
        [found] = {threads.environment(status.job).get("OMP_NUM_THREADS") for status in runner.statuses}
        return found

    return given


@pytest.mark.parametrize(
    ("cores", "at_once", "share"),
    [(2, 2, "1"), (8, 2, "4"), (8, 3, "2"), (2, 3, "1"), (8, 9, "2"), (8, 1, None)],
)
def test_a_share_each(given, cores, at_once, share):
    """Of 3 cells never more than 3 are side by side; one alone has as many as PyTorch likes."""
    assert given(cores, at_once) == share


def test_the_recipes_number_stays(given):
    assert given(8, 2, threads=7) == "7"
    assert given(8, 1, threads=7) == "7"


def test_what_the_user_has_set_stays(given):
    assert given(8, 2, users="5") == "5"
    assert given(8, 2, users="5", threads=7) == "5"  # the training itself takes 7


def test_a_gpu_needs_no_share(given):
    assert given(8, 2, device="cuda") is None


@pytest.mark.parametrize(("phase", "variable"), [("train", "4"), ("score", "4"), ("time", None)])
def test_processes_get_it_but_what_is_timed_has_all_cores(write_grid, monkeypatch, phase, variable):
    monkeypatch.setattr(threads, "cpu_count", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    started = []
    monkeypatch.setattr(pool.subprocess, "Popen", lambda command, **options: started.append((command, options)))
    statuses = Runner(Grid.load(write_grid({"heads": HEADS})), at_once=2).statuses
    pool.Pool(SimpleNamespace(changed=lambda status: None), lock=0)._start(statuses[:1], [phase])
    [(command, options)] = started
    assert phase in command
    assert (options["env"] or {}).get("OMP_NUM_THREADS") == variable


def test_the_recipe_is_left_as_it_is(write_grid, monkeypatch):
    monkeypatch.setattr(threads, "cpu_count", lambda: 8)
    for status in Runner(Grid.load(write_grid({"heads": HEADS})), at_once=2).statuses:
        threads.environment(status.job)
        assert status.job.recipe.training.threads is None

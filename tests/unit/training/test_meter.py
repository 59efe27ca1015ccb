"""Loss, tokens and time add up over steps, and over the pieces of a run."""

import json

import pytest
import torch

from trellex.training.meter import Meter, Totals
from trellex.training.processes import Processes


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands still until a test sets it."""
    now = [100.0]
    monkeypatch.setattr("trellex.training.meter.time.perf_counter", lambda: now[0])
    return now


def test_totals(clock):
    meter = Meter(Processes(0, 1, torch.device("cpu")))
    meter.add(torch.tensor(2.0), 3)
    clock[0] += 1
    assert meter.totals() == Totals(2.0, 3, 1.0)
    clock[0] += 50
    meter.go_on()  # what came before was no training
    meter.add(torch.tensor(0.5), 4)
    clock[0] += 2
    assert meter.totals() == Totals(2.5, 7, 3.0)
    meter.restart()
    assert meter.totals() == Totals()
    meter.restart(Totals(1.5, 2, 4.0))
    clock[0] += 1
    assert meter.totals() == Totals(1.5, 2, 5.0)


def test_a_run_in_pieces_reports_what_a_whole_one_does(recipe, trainer):
    for max_steps in (3, 7, 10, 12):
        trainer(recipe(output="pieces", max_steps=max_steps)).run()
    trainer(recipe(output="whole")).run()
    reports = [
        [json.loads(line) for line in (recipe(output=name).output / "metrics.jsonl").read_text().splitlines()]
        for name in ("pieces", "whole")
    ]
    pieces, whole = ([(x["step"], x["loss"], x["tokens"]) for x in lines if "loss" in x] for lines in reports)
    assert pieces == whole
    assert [step for step, _, _ in whole] == [4, 8, 12]

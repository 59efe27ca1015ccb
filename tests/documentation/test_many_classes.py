"""The example of the README that prints its own speed-up."""

import re
import runpy

import pytest
import torch
from blocks import ROOT


@pytest.mark.docs
def test_what_many_classes_cost(capsys):
    """It prints what this machine takes, and what no machine changes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "set_num_threads", lambda threads: None)
        runpy.run_path(str(ROOT / "examples" / "many_classes.py"))
    train, predict, numbers = capsys.readouterr().out.splitlines()
    for line, name in ((train, "train"), (predict, "predict")):
        assert re.fullmatch(rf"{name} +softmax +[\d.]+ ms   code +[\d.]+ ms   \d+ times as fast", line)
    assert numbers == f"numbers  softmax {200_000 * 513:,}   code {48 * 513:,}   1/4,167"

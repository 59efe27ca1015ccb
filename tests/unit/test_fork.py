"""A model in torch says so where it would hang after a fork; an exported one works on."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import trellex

pytestmark = pytest.mark.slow  # every case starts torch anew

MODELS = Path(__file__).parents[1] / "models"
SCRIPT = """
import multiprocessing, sys, trellex

model, threads, loads_in_child = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "child"
lines = ["a b c"] * 200
translator = trellex.load(model, threads=threads)
expected = translator.translate(lines)

def translate():
    mine = trellex.load(model, threads=1) if loads_in_child else translator
    try:
        sys.exit(0 if mine.translate(lines) == expected else 5)
    except RuntimeError as error:
        assert "load it in the child" in str(error)
        sys.exit(6)

process = multiprocessing.get_context("fork").Process(target=translate)
process.start()
process.join(60)
process.kill()
sys.exit(process.exitcode)
"""


@pytest.mark.parametrize(
    ("model", "threads", "where", "status"),
    [
        ("checkpoint", 2, "parent", 6),
        ("checkpoint", 1, "parent", 0),
        ("checkpoint", 2, "child", 0),
        ("export", 1, "parent", 0),
        ("export", 2, "parent", 0),
    ],
)
def test_a_fork(model, threads, where, status):
    arguments = [sys.executable, "-c", SCRIPT, MODELS / model, str(threads), where]
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    result = subprocess.run(arguments, capture_output=True, text=True, timeout=120, env=environment)
    assert (result.returncode, result.stderr) == (status, "")


def test_a_pickled_model_belongs_to_whoever_unpickles_it(monkeypatch):
    model = trellex.load(MODELS / "checkpoint").model
    torch.set_num_threads(2)
    monkeypatch.setattr(os, "getpid", lambda: 1)
    with pytest.raises(RuntimeError, match="load it in the child"), model.inference():
        pass
    with pickle.loads(pickle.dumps(model)).inference():
        pass

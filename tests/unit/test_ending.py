"""Signals inside `with Ending()` end a program with a status that tells which came."""

import os
import signal
import subprocess
import sys

import pytest

PROGRAM = """
from trellex.ending import Ending

with Ending():
    {}
"""
KILL = "import os, time; os.kill(os.getpid(), {:d}); time.sleep(60)"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("is_executed", [False, True])  # as libraries do with code that they make
def test_the_status_of_a_module(tmp_path, number, is_executed):
    code = KILL.format(number)
    (tmp_path / "program.py").write_text(PROGRAM.format(f"exec({code!r})" if is_executed else code))
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    ended = subprocess.run(
        [sys.executable, "-m", "program"], env=os.environ | {"PYTHONPATH": paths}, stderr=subprocess.PIPE
    )
    assert (ended.returncode, ended.stderr) == (128 + number, b"")

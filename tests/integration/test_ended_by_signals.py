"""Signals end the program quietly, whenever they come."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

MODELS = Path(__file__).parents[1] / "models"
MOMENTS = 20
# tells when the first of our modules that takes long is imported
START = """
import os, sys

class Mark:
    def find_spec(self, name, *_):
        if name == "trellex.cli":
            sys.meta_path.remove(self)
            os.write(2, b"+")

sys.meta_path.insert(0, Mark())
from trellex.__main__ import main
main()
"""


def start(*arguments, before=()):
    command = [*before, sys.executable, "-c", START, *map(str, arguments)]
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    process = subprocess.Popen(command, env=os.environ | {"OMP_NUM_THREADS": "1"}, **pipes)
    assert process.stderr.read(1) == b"+"
    return process


def duration(process):
    """How long a process takes from now on to its first byte on stdout."""
    began = time.perf_counter()
    assert process.stdout.read(1)
    return time.perf_counter() - began


@pytest.mark.parametrize(
    ("model", "number", "moments"),
    [
        ("export", signal.SIGINT, MOMENTS),
        ("export", signal.SIGTERM, MOMENTS),
        pytest.param("checkpoint", signal.SIGINT, MOMENTS // 3, marks=pytest.mark.slow),  # to import torch takes long
    ],
)
def test_at_any_moment(model, number, moments):
    """It waits for more lines until the signal comes, so nothing but that can end it."""
    arguments = ("translate", MODELS / model)
    process = start(*arguments)
    process.stdin.write(b"a\n")
    process.stdin.flush()
    longest = 1.2 * duration(process)
    process.communicate(timeout=60)
    for moment in range(moments):
        process = start(*arguments)
        process.stdin.write(b"a\n")
        process.stdin.flush()
        time.sleep(longest * moment / moments)
        process.send_signal(number)
        assert process.wait(timeout=60) == 128 + number
        assert process.stderr.read() == b""
        for stream in (process.stdin, process.stdout, process.stderr):
            stream.close()


@pytest.mark.slow
def test_at_any_moment_of_a_command_that_ends_by_itself():
    """Then it may be done already, and says so."""
    process = start("--help")
    longest = 1.5 * duration(process)
    process.communicate(timeout=60)
    for moment in range(MOMENTS):
        process = start("--help")
        time.sleep(longest * moment / MOMENTS)
        process.send_signal(signal.SIGINT)
        stdout, stderr = process.communicate(timeout=60)
        assert stderr == b""
        assert process.returncode == 130 or (process.returncode, b"translate" in stdout) == (0, True)


def test_one_that_is_ignored_stays_so():
    """As `nohup` asks for."""
    process = start("translate", MODELS / "export", before=("nohup",))
    process.send_signal(signal.SIGHUP)
    process.stdin.write(b"a\n")
    process.stdin.flush()
    first = process.stdout.readline()
    process.send_signal(signal.SIGHUP)
    stdout, _ = process.communicate(b"a\n", timeout=60)
    assert (process.returncode, stdout) == (0, first)

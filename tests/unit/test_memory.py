"""Too little memory, and what is nested too deeply, are told in a line that says what to do."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
import typer
from numpy._core._exceptions import _ArrayMemoryError

from trellex.memory import is_out_of_memory
from trellex.terminal import errors_explained

EXPORT = Path(__file__).parents[1] / "models" / "export"
OF_TORCH = (
    "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: "
    "you tried to allocate 4000 bytes. Error code 12 (Cannot allocate memory)\nframe #0: …"
)
ERRORS = [
    *(MemoryError(), _ArrayMemoryError((10**9,), np.dtype(float)), RuntimeError(OF_TORCH)),
    torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."),
    *(RuntimeError("std::bad_alloc"), OSError(12, "Cannot allocate memory")),
    RuntimeError("BFCArena: Failed to allocate memory for requested buffer of size 16777216"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: f"{type(error).__name__} {error}"[:40])
def test_is_told_in_a_line(error, capsys):
    with pytest.raises(typer.Exit), errors_explained():
        raise error
    told = capsys.readouterr().err
    assert told.startswith("error: too little memory (")
    assert "--batch-tokens" in told
    assert "hidden_size" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("error", [RuntimeError("shapes differ"), ValueError("file: not an array"), OSError(2, "no")])
def test_others_are_something_else(error):
    assert not is_out_of_memory(error)


def test_an_error_of_our_own_making_is_not_hidden():
    with pytest.raises(RuntimeError, match="shapes differ"), errors_explained():
        raise RuntimeError("shapes differ")


def test_what_is_nested_too_deeply(capsys):
    with pytest.raises(typer.Exit), errors_explained():
        raise RecursionError("maximum recursion depth exceeded")
    assert capsys.readouterr().err.startswith("error: something is nested too deeply to be read (maximum recursion")


LIMITED = """
import resource, sys
from trellex.cli import app
import trellex.translator, trellex.runtime.model, trellex.trellis.kernels, trellex.trellis.host
import trellex.runtime.pruned_argmax, trellex.heat_map, trellex.line_progress, trellex.terminal
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (int(sys.argv.pop(1)) << 20),) * 2)
trellex.terminal.run(app)
"""


@pytest.mark.parametrize("megabytes", [2, 8, 40, 120])
def test_a_real_lack_of_it(tmp_path, megabytes):
    (tmp_path / "lines").write_text(("a " * 900 + "\n") * 400)
    arguments = [megabytes, "translate", EXPORT, tmp_path / "lines", "--batch-tokens", 400_000, "--beam", 20]
    result = subprocess.run([sys.executable, "-c", LIMITED, *map(str, arguments)], capture_output=True, timeout=300)
    assert result.returncode == 1
    assert b"Traceback" not in result.stderr
    assert b"error: too little memory" in result.stderr
    assert result.stderr.count(b"\n") == 1

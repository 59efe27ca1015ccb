"""The server does what /openapi.json says, and never fails, whatever is drawn from that description."""

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

SCHEMATHESIS = Path(sys.executable).parent / "schemathesis"


def keeps_to_its_description(serving, folder, *options):
    with serving() as server:
        command = [SCHEMATHESIS, "run", f"{server.url}/openapi.json", "--no-color", "--continue-on-failure", *options]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=folder)
        assert done.returncode == 0, done.stdout[-5000:]
        lines = httpx.get(f"{server.url}/metrics").text.splitlines()
    assert any(line.startswith("trellex_requests_total") and 'status="200"' in line for line in lines)
    assert not any(line.startswith("trellex_requests_total") and 'status="5' in line for line in lines)


def test_briefly(serving, tmp_path):
    keeps_to_its_description(serving, tmp_path, "--max-examples", 15, "--seed", 1)


@pytest.mark.slow
def test_for_minutes(serving, tmp_path):
    seconds = 60 * float(os.environ.get("API_MINUTES", "1"))
    kinds = ("--exclude-checks", "negative_data_rejection")  # what would be of a wrong kind in JSON is text in a form
    keeps_to_its_description(serving, tmp_path, "--max-time", round(seconds), "--phases", "coverage,fuzzing", *kinds)

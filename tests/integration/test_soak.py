"""The soak finds what kills leave, and nothing where all is well."""

import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).parents[1] / "attack" / "soak"
CARELESS = """
import random, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import rounds, victims

class Careless(victims.Prepare):
    def check(self, here, is_new):
        (here / ".left").touch()

class Torn(victims.Prepare):
    def begin(self, here, is_new):
        if self.finished:
            victims.shutil.copytree(self.shared / "data", here / "data")
            (here / "data" / "train.source.ids").unlink()

place = Path(sys.argv[2])
for victim in (Careless, Torn):
    here = place / victim.__name__
    here.mkdir()
    rounds.Rounds(victim(place / "shared"), here, random.Random(1)).play()
"""


def soak(*arguments, script=SOAK):
    return subprocess.run(
        [sys.executable, *map(str, (script, *arguments))], capture_output=True, text=True, timeout=300
    )


@pytest.mark.slow
def test_a_short_soak_kills_and_finds_nothing(tmp_path):
    done = soak("--minutes", 0.1, "--workers", 1, "--seed", 1, "--only", "prepare", "--build", tmp_path / "soak")
    assert done.returncode == 0, done.stdout + done.stderr
    name, kills, *_, findings = done.stdout.splitlines()[-2].replace("│", " ").split()
    assert (name, findings) == ("all", "0")
    assert int(kills) > 0

    script = tmp_path / "careless.py"
    script.write_text(CARELESS)
    done = soak(SOAK, tmp_path / "soak", script=script)
    careless, torn = done.stdout.splitlines()
    assert ".left: left over" in careless, done.stdout + done.stderr
    assert "neither the old nor the new one" in torn, done.stdout + done.stderr

"""Translating with an exported model needs no torch, nor what only training and exporting need."""

import json
import os
import subprocess
import sys

import pytest

from trellex.translator import Translator

LINES = ["s3 s4 s5", "", "s9 unknown s39 s12"]
NOT_NEEDED = ("torch", "onnx", "safetensors", "triton")
IMPOSSIBLE = f"""
import sys

class Impossible:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {(*NOT_NEEDED, "scipy")!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Impossible())
"""
TELL = f"""
import json, sys
loaded = [name for name in {NOT_NEEDED!r} if name in sys.modules]
print(json.dumps(loaded), file=sys.stderr)
"""
TRANSLATE = """
import json, sys, trellex
translator = trellex.load(sys.argv[1])
lines = json.loads(sys.argv[2])
print(json.dumps([translator.translate(lines), [[x.text for x in best] for best in translator.translate(lines, 3, 2)]]))
"""
COMMAND = """
import runpy, sys
try:
    runpy.run_module("trellex.cli", run_name="__main__", alter_sys=True)
except SystemExit as end:
    if end.code:
        raise
"""


def python(script, *arguments, text=""):
    """What a script printed, and what it says of modules."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", script + TELL, *map(str, arguments)]
    result = subprocess.run(command, input=text, capture_output=True, text=True, env=environment, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout, json.loads(result.stderr.splitlines()[-1])


@pytest.fixture(scope="module")
def exported(both):
    """A translator in torch, and its export."""
    ours, _, folder = both({"type": "hybrid-9-ec", "mixtures": 3})
    return Translator(ours), folder


@pytest.mark.parametrize("before", ["", IMPOSSIBLE], ids=["unused", "impossible"])
class TestTranslating:
    def test_in_python(self, exported, before):
        ours, folder = exported
        printed, modules = python(before + TRANSLATE, folder, json.dumps(LINES))
        greedy, beam = json.loads(printed)
        assert modules == []
        assert greedy == ours.translate(LINES)
        assert beam == [[each.text for each in best] for best in ours.translate(LINES, 3, 2)]

    def test_on_the_command_line(self, exported, before):
        ours, folder = exported
        printed, modules = python(before + COMMAND, "translate", folder, text="\n".join(LINES) + "\n")
        assert modules == []
        assert printed.split("\n")[:-1] == ours.translate(LINES)

    def test_scoring_on_the_command_line(self, exported, before, tmp_path):
        ours, folder = exported
        for name, lines in (("source", LINES), ("target", ["t3 t4", "t5", ""])):
            (tmp_path / name).write_text("\n".join(lines) + "\n")
        printed, modules = python(
            before + COMMAND, "score", folder, tmp_path / "source", tmp_path / "target", "--json", "--calibration"
        )
        assert modules == []
        expected = sum(sum(each.log_probs) for each in ours.score(zip(LINES[::2], ["t3 t4", ""], strict=True)))
        assert json.loads(printed)["log-probability"] == pytest.approx(expected, abs=1e-3)


def test_a_checkpoint_without_torch_says_what_to_install(run):
    folder, _ = run
    script = (
        IMPOSSIBLE + "import trellex\ntry:\n    trellex.load(sys.argv[1])\nexcept ImportError as e:\n    print(e)\n"
    )
    for path in (folder, folder / "step-000000007"):
        printed, _ = python(script, path)
        assert printed.startswith(f"{path}: needs torch, which is not installed")
        assert "`trellex export`" in printed
        assert "pip install 'trellex[train]'" in printed

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
RUN = """
import contextlib, io, json, runpy, sys, trellex

def command(*arguments):
    sys.argv = ["trellex", *arguments]
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.suppress(SystemExit):
        runpy.run_module("trellex.cli", run_name="__main__", alter_sys=True)
    return printed.getvalue()

folder, source, target = sys.argv[1:]
lines = open(source).read().splitlines()
translator = trellex.load(folder)
print(json.dumps({
    "greedy": translator.translate(lines),
    "beam": [[each.text for each in best] for best in translator.translate(lines, 3, 2)],
    "translate": command("translate", folder),
    "score": command("score", folder, source, target, "--json", "--calibration"),
}))
"""


def python(script, *arguments, text=""):
    """What a script printed, and what it says of modules."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", script + TELL, *map(str, arguments)]
    result = subprocess.run(command, input=text, capture_output=True, text=True, env=environment, timeout=120)
    assert result.returncode == 0, result.stderr
    return result.stdout, json.loads(result.stderr.splitlines()[-1])


@pytest.fixture(scope="module", params=["", IMPOSSIBLE], ids=["unused", "impossible"])
def found(request, both, tmp_path_factory):
    """A translator in torch, what an export of it says in another process, and what that process imported."""
    ours, _, folder = both({"type": "hybrid-9-ec", "mixtures": 3})
    texts = tmp_path_factory.mktemp("texts")
    for name, lines in (("source", LINES), ("target", ["t3 t4", "t5", ""])):
        (texts / name).write_text("\n".join(lines) + "\n")
    text = "\n".join(LINES) + "\n"
    printed, modules = python(request.param + RUN, folder, texts / "source", texts / "target", text=text)
    return Translator(ours), json.loads(printed), modules


class TestTranslating:
    def test_imports_none_of_them(self, found):
        assert found[2] == []

    def test_in_python(self, found):
        ours, theirs, _ = found
        assert theirs["greedy"] == ours.translate(LINES)
        assert theirs["beam"] == [[each.text for each in best] for best in ours.translate(LINES, 3, 2)]

    def test_on_the_command_line(self, found):
        ours, theirs, _ = found
        assert theirs["translate"].split("\n")[:-1] == ours.translate(LINES)

    def test_scoring_on_the_command_line(self, found):
        ours, theirs, _ = found
        expected = sum(sum(each.log_probs) for each in ours.score(zip(LINES[::2], ["t3 t4", ""], strict=True)))
        assert json.loads(theirs["score"])["log-probability"] == pytest.approx(expected, abs=1e-3)


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


def test_shortlists_are_learned_and_used_without_it(both, tmp_path):
    ours, _, folder = both("softmax")
    script = """
import sys, numpy as np, trellex
from trellex.shortlist.shortlist import Shortlist
from trellex.shortlist.word_translations import word_translations

folder, path = sys.argv[1:]
translator = trellex.load(folder)
ids, lengths = np.array([3, 4, 5]), np.array([2, 1])
found = word_translations(ids, lengths, ids, lengths, source_size=40, target_size=40)
Shortlist.of(translator.source_vocabulary, translator.target_vocabulary, found.ends, found.words, 40).save(path)
print(trellex.load(folder, shortlist=path).translate(["s3 s4 s5"])[0])
"""
    printed, loaded = python(IMPOSSIBLE + script, folder, tmp_path / "words.shortlist")
    assert (printed.strip(), loaded) == (Translator(ours).translate(["s3 s4 s5"])[0], [])

"""The head of docs/adding-a-head.md, made of the blocks of that page, goes all the way: trained, loaded, exported."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "adding-a-head.md"
DRIVER = '''
import json, sys
from pathlib import Path

import numpy as np
from typer.testing import CliRunner

import trellex
from trellex.cli import app
from trellex.heads import Cost, HeadSpec
from trellex.training.loading import load_checkpoint

run, corpus = CliRunner(), Path("corpus")


def invoke(*arguments):
    result = run.invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.output


corpus.mkdir()
random = np.random.default_rng(0)
for split, count in {"train": 200, "dev": 10, "test": 10}.items():
    lines = [random.choice(list("abcdefgh"), random.integers(2, 6)) for _ in range(count)]
    (corpus / f"{split}.s").write_text("".join(" ".join(line) + "\\n" for line in lines))
    (corpus / f"{split}.t").write_text("".join(" ".join(line).upper() + "\\n" for line in lines))
files = [x for split in ("train", "dev", "test") for side, end in (("source", "s"), ("target", "t"))
         for x in (f"--{split}-{side}", corpus / f"{split}.{end}")]
invoke("prepare", "data", *files, "--source-language", "en", "--target-language", "en", "--tokenizer", "whitespace")
Path("recipe.yaml").write_text("""
data: data
output: run
head: {type: narrow, width: 8}
model: {embedding_size: 16, hidden_size: 32}
training: {max_steps: 120, validate_every: 60, save_every: 60, batch_sentences: 20, learning_rate: 0.02, threads: 1}
""")
trained = json.loads(invoke("train", "recipe.yaml", "--quiet", "--json"))
assert trained["dev BLEU"] > 20, trained
assert HeadSpec.parse({"type": "narrow", "width": 8}).label == "narrow (width 8)"
head = load_checkpoint(Path("run")).model.head
assert head.cost() == Cost(head.vocab_size, 0, 32 * 8 + 9 * head.vocab_size, (32 + head.vocab_size) * 8)
assert "head: {type: narrow, width: 8}" in Path("recipe.yaml").read_text()
assert json.loads(invoke("info", "run", "--json"))["head"] == '{"type": "narrow", "width": 8}'
ours = invoke("translate", "run", corpus / "test.s")
assert len(set(ours.split())) > 3
invoke("export", "run", "exported", "--precision", "fp32")
assert invoke("translate", "exported", corpus / "test.s") == ours
mine, other = (trellex.load(path).model for path in ("run", "exported"))
sources = [np.array([3, 4, 5])]
with mine.inference():
    expected = mine.topk(mine.start(sources), 5)[1]
np.testing.assert_allclose(other.topk(other.start(sources), 5)[1], expected, atol=1e-4)
'''


def test_the_pages_head_goes_all_the_way(tmp_path):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 5
    script = tmp_path / "script.py"
    script.write_text("\n".join(["from __future__ import annotations", *blocks, DRIVER]), encoding="utf-8")
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr

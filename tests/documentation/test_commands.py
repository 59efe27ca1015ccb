"""Every command of the documentation, page by page, each in a clean folder: `make test-docs`.

A page is run as one script, from top to bottom. What it needs and cannot make is there beforehand: corpora under the
names that it uses, cut from the phrasebook, and the models that another page makes. Trainings are short: `recipes` has
smaller ones of the same names, and the recipes that commands write are given fewer steps. So commands, options, files
and what they print are tried, not the quality of what is learnt.
"""

import gzip
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from blocks import ELSEWHERE, PAGES, ROOT, blocks

from trellex import phrasebook
from trellex.training.recipe import PACKAGED

SMALL = {"max_steps": 8, "validate_every": 2, "save_every": 4, "warmup_steps": 2, "precision": "float32"}
SMALL |= {"device": "cpu", "threads": 1}
FEW = {"batch_sentences": 16, "batch_tokens": 200}  # of which a recipe has one
REPLACED = {"--device cuda": "--device cpu", "--nproc-per-node 4": "--nproc-per-node 2"}
SMALLER = {"hybrid-2048": "hybrid-96", "hybrid-1024": "hybrid-64", "hybrid-512": "hybrid-48", "hybrid-128": "hybrid-32"}
PHRASEBOOK = {
    f"docs/manual/{name}.md" for name in ("runtime", "probabilities", "experiments", "page", "bulk", "heads")
}  # need its model
OWN_TEST = {"docs/adding-a-head.md"}  # run by tests/integration/test_adding_a_head.py


def name(page):
    return str(page.relative_to(ROOT))


def script(page):
    """The page as bash: what is run elsewhere is left out, and Python is handed to its interpreter."""
    parts = ["set -euo pipefail"]
    for block in blocks(page):
        if block.language == "python":
            parts.append(f"python - <<'PYTHON'\n{block.text}PYTHON")
        elif block.language == "bash" and not block.downloads:
            parts += [line for line in block.lines() if not line.startswith(ELSEWHERE)]
    text = "\n".join(parts)
    for written, run in REPLACED.items():
        text = text.replace(written, run)
    text = re.sub(r"(python -m trellex.phrasebook \S+)", r"\1 --train 1000 --dev 20 --test 20", text)
    text = re.sub(r"--max-steps \d+", "--max-steps 8", text)
    return re.sub(r"(trellex train (?!recipes/)\S+)", r"\1 --max-steps 8 --set training.validate_every=1", text)


def is_run(page):
    return name(page) not in OWN_TEST and len(script(page).splitlines()) > 1


@pytest.fixture(scope="session")
def corpora(tmp_path_factory):
    """Small files under the names of the real corpora."""
    folder = tmp_path_factory.mktemp("corpora")
    pairs = phrasebook.splits(1000, 20, 20)

    def write(split, *patterns, languages=("en", "ja")):
        for pattern in patterns:
            for side, language in enumerate(languages):
                path = folder / pattern.format(split, language)
                path.parent.mkdir(parents=True, exist_ok=True)
                with gzip.open(path, "wt") if path.suffix == ".gz" else path.open("w", encoding="utf-8") as file:
                    file.writelines(f"{pair[side]}\n" for pair in pairs[split])

    for split in ("train", "dev", "test"):
        write(split, "{}.{}", "kftt-data-1.0/data/orig/kyoto-{}.{}", "tatoeba/{}.{}", "small_parallel_enja/{}.{}")
    write("train", "small_parallel_enja/train.{1}.000")
    for split, name in {"train": "train", "dev": "val", "test": "test_2016_flickr"}.items():
        write(split, f"multi30k/{name}.{{1}}.gz", languages=("en", "de"))
    return folder


@pytest.fixture
def folder(tmp_path, corpora):
    """A clean folder with the corpora and small recipes."""
    shutil.copytree(corpora, tmp_path, dirs_exist_ok=True)
    (tmp_path / "benchmarks").symlink_to(ROOT / "benchmarks")
    for path in PACKAGED.rglob("*.yaml"):
        copy = tmp_path / "recipes" / path.relative_to(PACKAGED)
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        for head, smaller in SMALLER.items():
            text = text.replace(head, smaller)
        recipe = yaml.safe_load(text)
        if "model" in recipe:
            recipe["model"] |= {"embedding_size": 16, "hidden_size": 16}
            recipe["training"] |= SMALL
            recipe["training"] |= {key: few for key, few in FEW.items() if recipe["training"].get(key)}
        for block in recipe.get("grid", ()):
            block["heads"] = block["heads"][-1:]
            block.pop("training", None)
        copy.write_text(yaml.safe_dump(recipe, allow_unicode=True), encoding="utf-8")
    return tmp_path


def run(text, folder):
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "160", "PYTHONUTF8": "1"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    result = subprocess.run(
        ["bash", "-c", text], cwd=folder, env=environment, capture_output=True, text=True, timeout=900, check=False
    )
    assert result.returncode == 0, f"{text}\n---\n{result.stdout[-3000:]}\n---\n{result.stderr[-3000:]}"


@pytest.mark.docs
@pytest.mark.parametrize("page", [page for page in PAGES if is_run(page)], ids=name)
def test_the_commands_of_a_page(page, folder):
    if name(page) in PHRASEBOOK:
        first = script(ROOT / "README.md")
        run(first[first.index("python -m trellex.phrasebook phrasebook/text") : first.index("trellex info")], folder)
    run(script(page), folder)

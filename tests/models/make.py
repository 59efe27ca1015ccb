"""Make the models of this folder anew: python tests/models/make.py

They are of the present formats of checkpoints and exports, and later versions must keep loading them: make new ones
beside these when a format changes, do not replace them.
"""

import json
import os
import shutil
import tempfile
from pathlib import Path

import yaml
from typer.testing import CliRunner

from trellex import phrasebook
from trellex.cli import app
from trellex.training.checkpoint import model_folder

HERE = Path(__file__).resolve().parent
PAIRS, SHOWN = 60, 6
RECIPE = {
    "head": {"type": "hybrid-32-ec", "loss": "trellis", "code": "random", "seed": 7},
    "model": {"type": "lstm", "embedding_size": 16, "hidden_size": 32, "dropout": 0.0},
    "training": {
        "batch_sentences": 20,
        "learning_rate": 0.01,
        "max_steps": 600,
        "validate_every": 200,
        "save_every": 600,
        "threads": 1,
        "device": "cpu",
    },
}


def trellex(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exit_code:
        raise SystemExit(result.output)
    return result.stdout


def main():
    pairs = sorted(phrasebook.generate(20 * PAIRS), key=lambda pair: (len(pair[0]), pair))[:PAIRS]
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)  # so that the files name no folders of this machine
        work = Path()
        options = ["--source-language", "en", "--target-language", "ja", "--tokenizer", "whitespace", "--min-count", 1]
        for place, (side, language) in enumerate((("source", "en"), ("target", "ja"))):
            file = work / language
            file.write_text("".join(pair[place] + "\n" for pair in pairs), encoding="utf-8")
            options += [x for split in ("train", "dev") for x in (f"--{split}-{side}", file)]
        trellex("prepare", work / "data", *options)
        recipe = RECIPE | {"data": str(work / "data"), "output": str(work / "run")}
        (work / "recipe.yaml").write_text(yaml.safe_dump(recipe))
        print(trellex("train", work / "recipe.yaml", "--quiet"))
        ignored = shutil.ignore_patterns("optimizer.safetensors")
        shutil.copytree(model_folder(work / "run"), HERE / "checkpoint", ignore=ignored, dirs_exist_ok=True)
        trellex("export", work / "run", HERE / "export")
        lines = [english for english, _ in pairs[:: PAIRS // SHOWN]]
        (work / "lines").write_text("\n".join(lines), encoding="utf-8")
        translations = trellex("translate", HERE / "checkpoint", work / "lines").splitlines()
    found = dict(zip(lines, translations, strict=True))
    (HERE / "translations.json").write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

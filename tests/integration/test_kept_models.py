"""A checkpoint and an export that were made when their formats were new are still loaded, and translate as then."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import trellex
from trellex.runtime.folder import Export
from trellex.search import greedy

MODELS = Path(__file__).parents[1] / "models"
TRANSLATIONS = json.loads((MODELS / "translations.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("kind", ["checkpoint", "export"])
@pytest.mark.parametrize("beam", [1, 4])
def test_they_translate_as_when_they_were_made(kind, beam):
    translator = trellex.load(MODELS / kind)
    assert translator.translate(TRANSLATIONS, beam=beam) == list(TRANSLATIONS.values())


def test_the_export_is_of_before_attention_and_says_so():
    model, source = trellex.load(MODELS / "export").model, [np.array([3, 4])]
    assert greedy(model, source)[0].words
    with pytest.raises(ValueError, match=r"models/export: this export has no attention; export the model again"):
        greedy(model, source, attention=True)


def test_the_export_is_as_it_was_written():
    Export.open(MODELS / "export").verify()


@pytest.mark.parametrize("command", ["translate", "score"])
def test_a_damaged_one_is_used_only_without_verification(trellex, tmp_path, command):
    folder, lines = shutil.copytree(MODELS / "export", tmp_path / "export"), tmp_path / "lines"
    lines.write_text("a\n")
    files = [lines] if command == "translate" else [lines, lines]
    weights = folder / "softmax.weight.npy"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    refused = trellex(command, folder, *files)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr == f"error: {weights}: damaged, its checksum differs; export the model again\n"
    used = trellex(command, folder, *files, "--no-verify")
    assert (used.exit_code, used.stderr) == (0, "")
    told = trellex("info", folder)
    assert (told.exit_code, "checksum differs" in told.stderr) == (1, True)
    assert json.loads(trellex("info", folder, "--json", "--no-verify").stdout)["checksums"] == "not compared"


def test_both_hold_their_code():
    codes = [(MODELS / kind / "code.json").read_text(encoding="utf-8") for kind in ("checkpoint", "export")]
    assert codes[0] == codes[1]
    assert json.loads(codes[0])["type"] == "permuted"


def test_they_are_small():
    assert sum(path.stat().st_size for path in MODELS.rglob("*") if path.is_file()) < 700_000

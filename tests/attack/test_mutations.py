"""The tool that damages folders: what it does is described, the same again for the same seed, and never nothing."""

import hashlib
import json
import shutil
import stat
from pathlib import Path
from random import Random

import documents
import mutations
import numpy as np
import pytest
from mutations import Mutation, draw, mutate, seal

MODELS = Path(__file__).parents[1] / "models"


@pytest.fixture(params=["checkpoint", "export"])
def folder(request, tmp_path):
    """A copy that may be damaged."""
    return shutil.copytree(MODELS / request.param, tmp_path / request.param)


def contents(folder):
    return {
        str(path): (path.is_symlink(), stat.S_IFMT(path.lstat().st_mode), path.is_file() and path.read_bytes())
        for path in folder.rglob("*")
    }


def test_the_same_seed_is_the_same_damage(folder, tmp_path):
    for seed in range(100):
        found = []
        for _ in range(2):
            copy = shutil.copytree(folder, tmp_path / "copy")
            mutation = draw(copy, Random(seed))
            assert Mutation.from_json(mutation.to_json()) == mutation
            mutation.apply(copy)
            found.append((str(mutation), contents(copy)))
            shutil.rmtree(copy)
        assert found[0] == found[1]


def test_all_ways_are_drawn_and_nearly_all_change_something(folder, tmp_path):
    ways, same = set(), 0
    for seed in range(400):
        copy = shutil.copytree(folder, tmp_path / "copy")
        before = contents(copy)
        mutation = draw(copy, Random(seed))
        mutation.apply(copy)
        ways.add(mutation.how)
        same += contents(copy) == before
        shutil.rmtree(copy)
    missing = {"header"} if folder.name == "checkpoint" else {"length"}  # of arrays, and of tensors
    assert ways == {*mutations.CONTENTS, *mutations.PLACES} - missing
    assert same < 40


@pytest.mark.parametrize("value", documents.VALUES)
@pytest.mark.parametrize("name", ["x.json", "x.yaml", "x.jsonl", "x.safetensors"])
def test_a_value_stands_where_it_was_put(name, value):
    content = b'{"a": {"b": [1, 2]}}'
    content = len(content).to_bytes(8, "little") + content + b"data" if name == "x.safetensors" else content
    path = ([0] if name == "x.jsonl" else []) + ["a", "b", 1]
    changed = mutations.change(name, content, "set", {"path": path, "value": value})
    assert b'{"a": {"b": [1, ' + documents.VALUES[value].encode() + b"]}}" in changed
    if name == "x.safetensors":
        assert changed.endswith(b"data")
        assert int.from_bytes(changed[:8], "little") == len(changed) - 8 - len(b"data")


def test_a_header_of_an_array(tmp_path):
    np.save(tmp_path / "x.npy", np.arange(6, dtype=np.float32))
    Mutation("header", "x.npy", {"key": "descr", "value": "bytes"}).apply(tmp_path)
    with open(tmp_path / "x.npy", "rb") as file:
        np.lib.format.read_magic(file)
        assert np.lib.format.read_array_header_1_0(file) == ((6,), False, np.dtype("|i1"))
        assert np.frombuffer(file.read(), np.float32).tolist() == list(range(6))


def test_what_was_damaged_before_is_damaged_further():
    """As coverage does, again and again."""
    for name, content in {"x.json": b'{"a": 1}', "x.npy": b"\x93NUMPY\1\0\x76\0{'descr'", "x.yaml": b"a: 1"}.items():
        for seed in range(60):
            changed = content
            for step in range(3):
                changed = mutate(name, changed, Random(seed * 3 + step))[:100_000]


def test_a_seal_that_fits_again(tmp_path):
    folder = shutil.copytree(MODELS / "export", tmp_path / "export")
    Mutation("extend", "code.json", {"amount": 8, "seed": 1}).apply(folder)
    seal(folder, "trellex.json")
    sealed = json.loads((folder / "trellex.json").read_bytes())["files"]
    original = json.loads((MODELS / "export" / "trellex.json").read_bytes())["files"]
    content = (folder / "code.json").read_bytes()
    assert sealed == original | {"code.json": [len(content), hashlib.sha256(content).hexdigest()]}

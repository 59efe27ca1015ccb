"""Commands that write the same folder at the same time end with one whole result, and leave nothing else."""

import json

import pytest

from trellex.checksums import sha256
from trellex.runtime.folder import Export
from trellex.text import Corpus
from trellex.training.loading import load_checkpoint


def start_all(process, *commands):
    """Runs commands side by side; returns what they printed."""
    running = [process.start(*command) for command in commands]
    results = [process.finish(each) for each in running]
    for result in results:
        assert result.exit_code == 0, result.stderr
        assert "Traceback" not in result.stderr
    return results


def contents(folder):
    return {path.name: sha256(path) for path in folder.iterdir()}


@pytest.mark.parametrize("is_there", [False, True])
def test_prepare(process, prepare_options, tmp_path, is_there):
    folder, alone = tmp_path / "data", tmp_path / "alone"
    if is_there:
        start_all(process, ("prepare", folder, *prepare_options(max_length=7)))
    start_all(process, *[("prepare", folder, *prepare_options(), "--json")] * 3, ("prepare", alone, *prepare_options()))
    assert contents(folder) == contents(alone)
    assert Corpus.open(folder).split("dev")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alone", "data"]


def test_export(process, trained, tmp_path):
    folder = tmp_path / "exported"
    precisions = ("fp32", "int8")
    results = start_all(process, *(("export", trained.run, folder, "--precision", p, "--json") for p in precisions))
    assert [json.loads(result.stdout)["precision"] for result in results] == list(precisions)
    Export.open(folder).verify()
    assert [path.name for path in tmp_path.iterdir()] == ["exported"]


def test_average_elsewhere(process, trained, tmp_path):
    folder = tmp_path / "mean"
    start_all(process, *[("average", trained.run, "--last", 2, "--output", folder)] * 2)
    assert load_checkpoint(folder).step == 40
    assert [path.name for path in tmp_path.iterdir()] == ["mean"]

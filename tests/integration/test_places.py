"""Where files cannot be read or written, every verb says so, names the place, and does so before it begins to work."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

MODELS = Path(__file__).parents[1] / "models"
TINY = {"max_steps": 2, "validate_every": 2, "batch_sentences": 16, "device": "cpu", "threads": 1}


@pytest.fixture
def small_recipe(data, tmp_path):
    """Writes the recipe of a run of two steps; returns its path."""

    def small_recipe(output, data=data):
        recipe = {"data": str(data), "output": str(output), "head": "binary", "training": TINY}
        recipe["model"] = {"embedding_size": 4, "hidden_size": 4}
        path = tmp_path / "recipe.yaml"
        path.write_text(yaml.safe_dump(recipe))
        return path

    return small_recipe


@pytest.fixture
def sentences(tmp_path):
    path = tmp_path / "sentences.en"
    path.write_text("may i sing here ?\n")
    return path


def assert_error(result, *parts):
    assert result.exit_code == 1, result.stderr
    assert result.stderr.startswith("error: "), result.stderr
    for part in parts:
        assert str(part) in result.stderr


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002], ids=oct)
def test_all_that_is_written_keeps_the_umask(trellex, small_recipe, prepare_options, tmp_path, mask):
    recipe, results = small_recipe(tmp_path / "new" / "run"), []
    before = os.umask(mask)
    try:
        results.append(trellex("export", MODELS / "checkpoint", tmp_path / "new" / "export"))
        results.append(trellex("prepare", tmp_path / "new" / "data", *prepare_options()))
        results.append(trellex("train", recipe, "--quiet"))
    finally:
        os.umask(before)
    assert [result.exit_code for result in results] == [0, 0, 0]
    written = list((tmp_path / "new").rglob("*"))
    assert {"decoder.weights", "train.source.ids", "model.safetensors", "best.json"} <= {path.name for path in written}
    for path in written:
        expected = (0o777 if path.is_dir() else 0o666) & ~mask
        assert stat.S_IMODE(path.stat().st_mode) == expected, path


class TestRefused:
    """By the modes of files and folders, which do not bind root unless it gives its rights away."""

    @pytest.fixture
    def as_user(self, process):
        """Runs a command as somebody whom modes bind."""
        if os.geteuid() == 0 and not shutil.which("setpriv"):
            pytest.skip("root may read and write everywhere")
        prefix = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []

        def as_user(*arguments):
            command = [*prefix, sys.executable, "-m", "trellex", *map(str, arguments)]
            environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "300"}
            started = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            return process.finish(started, None)

        return as_user

    @pytest.mark.parametrize(
        ("kind", "name"),
        [
            *(("export", name) for name in ("decoder.weights", "trellex.json", "vocab.source.txt", "")),
            *(("checkpoint", name) for name in ("model.safetensors", "checkpoint.json", "")),
        ],
    )
    def test_a_model_that_may_not_be_read(self, as_user, sentences, tmp_path, kind, name):
        folder = shutil.copytree(MODELS / kind, tmp_path / kind)
        (folder / name).chmod(0 if name else 0o400)  # a folder whose names may be read, and no more
        result = as_user("translate", folder, sentences)
        (folder / name).chmod(0o700)
        assert_error(result, f"{folder / name}: permission denied; its owner can allow it with `chmod a+rX`")

    def test_a_corpus_that_may_not_be_read(self, as_user, small_recipe, data, tmp_path):
        copy = shutil.copytree(data, tmp_path / "copy")
        (copy / "train.source.ids").chmod(0)
        result = as_user("train", small_recipe(tmp_path / "run", copy))
        assert_error(result, f"{copy / 'train.source.ids'}: permission denied; ", "chmod a+rX")

    def test_a_folder_that_may_not_be_written(self, as_user, sentences, tmp_path):
        folder = tmp_path / "closed"
        folder.mkdir(mode=0o555)
        result = as_user("translate", MODELS / "none", sentences, "--output", folder / "file")
        assert_error(result, f"{folder}: cannot be written (Permission denied); choose another place")


@pytest.fixture
def blocked(tmp_path):
    """A place where nothing can be written, not even by root: a file is in the way."""
    (tmp_path / "file").touch()
    return tmp_path / "file" / "folder"


class TestOutput:
    """That it cannot be written is told first, whatever else is wrong."""

    def assert_told(self, result, blocked):
        assert_error(result, f"{blocked.parent}: is a file, not a folder; choose another place")

    def test_of_train(self, trellex, small_recipe, blocked, tmp_path):
        self.assert_told(trellex("train", small_recipe(blocked, data=tmp_path / "none")), blocked)

    def test_of_prepare(self, trellex, prepare_options, blocked):
        self.assert_told(trellex("prepare", blocked, *prepare_options(train_source="none")), blocked)

    def test_of_export(self, trellex, blocked, tmp_path):
        self.assert_told(trellex("export", tmp_path / "none", blocked), blocked)

    def test_of_report(self, trellex, blocked, tmp_path):
        self.assert_told(trellex("report", tmp_path / "none", "--output", blocked), blocked)

    @pytest.mark.parametrize("key", ["runs", "results"])
    def test_of_experiment(self, trellex, blocked, tmp_path, key):
        block = {"corpus": "X", "recipe": str(tmp_path / "none.yaml"), "data": [str(tmp_path / "none")]}
        grid = {"runs": str(tmp_path / "runs"), "results": str(tmp_path / "results"), "grid": [block]}
        block["heads"] = ["softmax"]
        (tmp_path / "grid.yaml").write_text(yaml.safe_dump(grid | {key: str(blocked)}))
        self.assert_told(trellex("experiment", tmp_path / "grid.yaml"), blocked)
        assert_error(trellex("experiment", tmp_path / "grid.yaml", "--list"), "none.yaml: there is no such recipe")

    @pytest.mark.parametrize("verb", ["translate", "score"])
    def test_files(self, trellex, sentences, blocked, tmp_path, verb):
        files = [sentences] * (1 if verb == "translate" else 2)
        result = trellex(verb, tmp_path / "none", *files, "--output", blocked)
        assert_error(result, f"{blocked}: there is no folder {blocked.parent}; make it first")


class TestFullDisk:
    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    @pytest.mark.parametrize("verb", ["translate", "info"])
    def test_stdout(self, process, sentences, verb):
        files = [sentences] if verb == "translate" else []
        with open("/dev/full", "w") as full:
            started = process.start(verb, MODELS / "export", *files, stdout=full)
            _, stderr = started.communicate(timeout=120)
        assert stderr.decode() == "error: stdout: no space left on the device; free some, or choose another place\n"
        assert started.returncode == 1

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    @pytest.mark.parametrize("verb", ["translate", "score"])
    def test_files(self, trellex, sentences, verb):
        files = [sentences] * (1 if verb == "translate" else 2)
        result = trellex(verb, MODELS / "export", *files, "--output", "/dev/full")
        assert_error(result, "/dev/full: no space left on the device; free some, or choose another place")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    @pytest.mark.parametrize(("output", "alignments"), [("/dev/full", "b"), ("a", "/dev/full")])
    def test_that_one_of_two_files(self, trellex, sentences, tmp_path, output, alignments):
        files = ("--output", tmp_path / output, "--alignments", tmp_path / alignments)
        result = trellex("translate", MODELS / "checkpoint", sentences, *files)
        assert_error(result, "error: /dev/full: no space left on the device")

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
    def test_stdout_beside_a_file(self, process, sentences, tmp_path):
        with open("/dev/full", "w") as full:
            arguments = MODELS / "checkpoint", sentences, "--alignments", tmp_path / "file"
            _, stderr = process.start("translate", *arguments, stdout=full).communicate(timeout=120)
        assert stderr.decode().startswith("error: stdout: no space left on the device")

    @pytest.mark.parametrize("verb", ["export", "prepare"])
    def test_folders(self, process, prepare_options, tmp_path, verb):
        """On a disk of 64 KiB, of its own, that ends with the process."""
        mount = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o size=64k none "$0" && "$@"', str(tmp_path)]
        if not shutil.which("unshare") or subprocess.run([*mount, "true"], capture_output=True).returncode:
            pytest.skip("cannot mount a disk here")
        arguments = [MODELS / "checkpoint", tmp_path / "new"] if verb == "export" else [tmp_path / "new"]
        options = [] if verb == "export" else prepare_options()
        command = [*mount, sys.executable, "-m", "trellex", verb, *arguments, *options]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        result = process.finish(subprocess.Popen([str(part) for part in command], **pipes), None)
        assert_error(result, f"{tmp_path / 'new'}: no space left on the device; free some, or choose another place")

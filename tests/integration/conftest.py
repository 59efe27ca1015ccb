"""A small phrasebook, prepared and trained on through the real command line, once for all tests."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from typer.testing import CliRunner

from trellex.cli import app

MODELS = Path(__file__).parents[1] / "models"
ONE_THREAD = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"}


def start(*arguments, module="trellex", before=(), **options):
    """Starts a process of its own: `python -m trellex …`, with what stands before that."""
    pipes = {name: subprocess.PIPE for name in ("stdin", "stdout", "stderr")}
    command = [*before, sys.executable, "-m", module, *map(str, arguments)]
    return subprocess.Popen(command, **{"env": ONE_THREAD} | pipes | options)


def finish(process, text=""):
    """Waits for a process; returns exit_code, stdout and stderr."""
    try:
        stdout, stderr = process.communicate(text.encode() if isinstance(text, str) else text, timeout=120)
    finally:
        process.kill()
    printed = {"stdout": (stdout or b"").decode(), "stderr": (stderr or b"").decode()}
    return SimpleNamespace(exit_code=process.returncode, **printed)


@pytest.fixture(scope="session")
def process():
    """Runs a command in a process of its own, to its end or, with process.start, until the test ends it."""

    def process(*arguments, text="", **options):
        return finish(start(*arguments, **options), text)

    process.start, process.finish = start, finish
    return process


@pytest.fixture(scope="session")
def trellex():
    """Runs a command in this process, which saves the import of torch. An error that is not explained is raised."""

    def trellex(*arguments):
        result = CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(argument) for argument in arguments])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return trellex


@pytest.fixture(scope="session")
def phrasebook(tmp_path_factory, process):
    """Text: 600 pairs to train on, 40 of dev, 40 of test."""
    folder = tmp_path_factory.mktemp("phrasebook")
    sizes = ("--train", 600, "--dev", 40, "--test", 40)
    assert process(folder, *sizes, module="trellex.phrasebook").exit_code == 0
    return folder


@pytest.fixture(scope="session")
def prepare_options(phrasebook):
    """The options of `trellex prepare` for the phrasebook; others replace or follow them."""

    def prepare_options(**replaced):
        options = {
            f"--{name}-{side}": phrasebook / f"{name}.{language}"
            for name in ("train", "dev", "test")
            for side, language in (("source", "en"), ("target", "ja"))
        }
        options |= {"--source-language": "en", "--target-language": "ja", "--tokenizer": "whitespace"}
        options |= {"--min-count": 1}
        options |= {"--" + name.replace("_", "-"): value for name, value in replaced.items()}
        return [part for option in options.items() for part in option]

    return prepare_options


@pytest.fixture(scope="session")
def data(tmp_path_factory, process, prepare_options):
    """The phrasebook, prepared."""
    folder = tmp_path_factory.mktemp("prepared") / "data"
    result = process("prepare", folder, *prepare_options())
    assert result.exit_code == 0, result.stderr
    return folder


@pytest.fixture(scope="session")
def write_recipe(data):
    """Writes the recipe of a tiny run beside its output folder; returns its path."""

    def write_recipe(output, head="hybrid-64-ec", dropout=0.2, model=None, **training):
        sizes = {"embedding_size": 32, "hidden_size": 32, "dropout": dropout} | (model or {})
        defaults = {"max_steps": 40, "validate_every": 10, "save_every": 3, "batch_sentences": 16, "threads": 1}
        training = {"learning_rate": 0.01, "device": "cpu"} | defaults | training
        recipe = {"data": str(data), "output": str(output), "head": head, "model": sizes, "training": training}
        path = output.with_suffix(".yaml")
        path.write_text(yaml.safe_dump(recipe))
        return path

    return write_recipe


@pytest.fixture(scope="session")
def trained(tmp_path_factory, process, write_recipe):
    """A run of 40 steps: its `recipe`, its folder `run`, and what the command printed."""
    run = tmp_path_factory.mktemp("runs") / "run"
    recipe = write_recipe(run)
    result = process("train", recipe, "--json")
    assert result.exit_code == 0, result.stderr
    return SimpleNamespace(recipe=recipe, run=run, stdout=result.stdout, stderr=result.stderr)


@pytest.fixture
def copied(trained, tmp_path):
    """A copy of the run that a test may damage."""
    return shutil.copytree(trained.run, tmp_path / "copied")


@pytest.fixture(scope="session")
def serving():
    """`with serving(options):` a server of a kept model on a free port: its process, url, port and first line."""

    @contextlib.contextmanager
    def serving(*options, model="export"):
        running = start("serve", MODELS / model, "--port", 0, *options)
        try:
            told = running.stderr.readline().decode()
            found = re.match(r"(http://127\.0\.0\.1:(\d+)) ", told)
            assert found, told + running.stderr.read().decode()
            yield SimpleNamespace(process=running, url=found[1], port=int(found[2]), told=told)
        finally:
            running.kill()
            running.communicate()

    return serving


@pytest.fixture(scope="session")
def repeated(tmp_path_factory, phrasebook):
    """Writes a text of so many lines, those of the phrasebook again and again."""

    def repeated(lines):
        path = tmp_path_factory.mktemp("repeated") / "large.en"
        some = (phrasebook / "train.en").read_text(encoding="utf-8").splitlines()
        path.write_text("".join(f"{some[row % len(some)]}\n" for row in range(lines)), encoding="utf-8")
        return path

    return repeated

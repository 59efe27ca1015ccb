"""Commands get their options from settings, and start without torch."""

import errno
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from pydantic import Field
from typer.testing import CliRunner

from trellex.cli import app
from trellex.files import FullDiskError
from trellex.records import Record
from trellex.terminal import EXTRAS, complain, errors_explained, with_options_of
from trellex.text import PrepareSettings


class Settings(Record):
    depth: int = Field(3, description="how deep")
    is_wet: bool = Field(False, description="whether it is wet")
    most: float | None = Field(None, description="not more than that; all unless given")
    from_file: Path = Field(description="what to dig")


@pytest.fixture
def dig():
    """Runs a command with these settings; returns what it was given."""
    digger, calls = typer.Typer(), []

    @digger.command()
    @with_options_of(Settings)
    def dig(place: Path, *, is_loud: Annotated[bool, typer.Option("--loud")] = False, **options: Any) -> None:
        calls.append((place, is_loud, options))

    def run(*arguments):
        calls.clear()
        result = CliRunner().invoke(digger, arguments, env={"COLUMNS": "200"})
        return calls[0] if calls else result.output

    return run


class TestOptions:
    def test_defaults(self, dig):
        options = {"depth": 3, "is_wet": False, "most": None, "from_file": Path("x")}
        assert dig("here", "--from-file", "x") == (Path("here"), False, options)

    def test_values(self, dig):
        options = {"depth": 5, "is_wet": True, "most": 0.5, "from_file": Path("x")}
        given = ("--depth", "5", "--is-wet", "--most", "0.5", "--from-file", "x", "--loud")
        assert dig("here", *given) == (Path("here"), True, options)

    @pytest.mark.parametrize(
        ("arguments", "problem"),
        [
            (("here",), "Missing option '--from-file'"),
            (("here", "--from-file", "x", "--depht", "5"), "No such option: --depht"),
            (("here", "--from-file", "x", "--depth", "deep"), "Invalid value for '--depth'"),
        ],
    )
    def test_mistakes(self, dig, arguments, problem):
        assert problem in dig(*arguments)

    def test_help_has_the_required_first(self, dig):
        text = dig("--help").partition("Options")[2]
        parts = ["--from-file", "What to dig.", "required", "--depth", "How deep.", "default: 3", "--most", "--loud"]
        assert sorted(parts, key=text.index) == parts


def test_prepare_has_an_option_for_every_setting():
    options = {option.name for option in typer.main.get_command(app).commands["prepare"].params}
    assert options == {*PrepareSettings.model_fields, "folder", "tokenizer", "as_json"}


@pytest.mark.parametrize("verb", sorted(typer.main.get_command(app).commands))
def test_help_has_every_name_in_full_and_an_example(verb):
    text = CliRunner().invoke(app, [verb, "--help"], env={"COLUMNS": "80", "TERMINAL_WIDTH": "80"}).stdout
    names = {name for option in typer.main.get_command(app).commands[verb].params for name in option.opts}
    assert "--json" in names
    assert [name for name in sorted(names) if name not in text] == []
    assert f"Example: trellex {verb}" in text or f"| trellex {verb}" in text


def test_help_needs_no_torch():
    script = """
import runpy, sys
sys.argv[1:] = ["--help"]
try:
    runpy.run_module("trellex.cli", run_name="__main__")
finally:
    assert not {"torch", "onnxruntime", "numba"} & set(sys.modules)
"""
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    assert "prepare" in result.stdout


@pytest.fixture
def explained(capsys):
    """What the user reads of an error, without its colour."""

    def explained(error):
        with pytest.raises(typer.Exit) as ended, errors_explained():
            raise error
        assert ended.value.exit_code == 1
        return " ".join(capsys.readouterr().err.split())

    return explained


class TestErrors:
    @pytest.mark.parametrize(
        ("module", "extra"),
        [
            *(("torch", "train"), ("torch.nn", "train"), ("onnx", "train"), ("fugashi", "ja"), ("ipadic", "ja")),
            *(("matplotlib.pyplot", "report"), ("tensorboard", "tensorboard"), ("fastapi", "serve")),
        ],
    )
    def test_a_missing_module_names_what_brings_it(self, explained, module, extra):
        told = explained(ModuleNotFoundError(f"No module named '{module}'", name=module))
        assert told == f"error: No module named '{module}'; pip install 'trellex[{extra}]' brings it"

    def test_one_of_the_base_install(self, explained):
        told = explained(ModuleNotFoundError("No module named 'yaml'", name="yaml"))
        assert told == "error: No module named 'yaml'; pip install 'trellex' brings it"

    def test_what_is_optional_is_in_the_extra_of_that_name(self):
        project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        optional = project["optional-dependencies"]
        known = {module: extra for module, extra in EXTRAS.items() if extra in optional}
        assert {"train", "ja", "report", "serve"} <= set(known.values())
        for module, extra in known.items():
            assert any(requirement.startswith(module) for requirement in optional[extra])

    def test_a_file_that_may_not_be_read(self, explained):
        told = explained(PermissionError(13, "Permission denied", "some/file"))
        assert told == "error: some/file: permission denied; its owner can allow it with `chmod a+rX`"

    @pytest.mark.parametrize(
        ("error", "place"),
        [(FullDiskError("some/file"), "some/file"), (OSError(errno.ENOSPC, "No space left on device"), "stdout")],
        ids=str,
    )
    def test_a_full_disk(self, explained, error, place):
        assert explained(error) == f"error: {place}: no space left on the device; free some, or choose another place"


def test_an_error_does_not_drive_the_terminal(capsys):
    complain("a\x1b[2Jb\x9b: no such\nfile")
    assert capsys.readouterr().err == "error: a\\x1b[2Jb\\x9b: no such\nfile\n"

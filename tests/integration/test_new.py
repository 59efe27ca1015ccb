"""From two files of text to a recipe that trains, by one command."""

import gzip
import json
import os
import shlex
import subprocess
import sys

import pytest
import yaml

from trellex.training import pace
from trellex.training.recipe import Recipe, load_recipe

WITHOUT_TORCH = "import sys; sys.modules['torch'] = None; from trellex.cli import app; app()"


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """A step or so is timed."""
    monkeypatch.setattr(pace, "SECONDS", 0)
    monkeypatch.setattr(pace, "has_gpu", lambda: False)


@pytest.fixture
def text(phrasebook):
    """The files of the phrasebook, as options."""

    def text(*splits, languages=("en", "ja"), folder=phrasebook):
        options = [[f"--{split}", *(folder / f"{split}.{language}" for language in languages)] for split in splits]
        return [part for option in options for part in option]

    return text


@pytest.fixture
def new(trellex, text):
    """Runs `trellex new` on the phrasebook."""
    whitespace = ("--tokenizer", "whitespace")
    return lambda folder, *options: trellex("new", folder, *text("train", "dev", "test"), *whitespace, *options)


def assert_error(result, *parts):
    assert result.exit_code == 1
    assert result.stderr.startswith("error: "), result.stderr
    for part in parts:
        assert str(part) in result.stderr


class TestRecipe:
    def test_trains_translates_and_is_exported_by_the_commands_that_are_told(self, new, trellex, tmp_path):
        folder = tmp_path / "my phrases"
        result = new(folder)
        assert result.exit_code == 0, result.stderr
        assert "600" in result.stdout
        assert "1 CPU thread" in result.stdout
        commands = [shlex.split(line) for line in result.stdout.partition("Next:\n")[2].splitlines()]
        assert [command[:2] for command in commands] == [
            ["trellex", verb] for verb in ("train", "translate", "export", "translate")
        ]
        train, *others = (command[1:] for command in commands)
        assert trellex(*train, "--max-steps", 2, "--quiet").exit_code == 0
        assert [trellex(*other).exit_code for other in others] == [0, 0, 0]

    def test_is_told_to_programs(self, new, tmp_path):
        result = new(tmp_path / "new", "--json")
        assert result.exit_code == 0, result.stderr
        told = json.loads(result.stdout)
        assert (told["recipe"], told["steps"]) == (str(tmp_path / "new" / "recipe.yaml"), 1500)
        assert told["corpus"]["train pairs"] == 600
        assert [command.split()[1] for command in told["next"]] == ["train", "translate", "export", "translate"]
        assert "150 epochs" in told["training takes"]

    def test_every_key_is_there(self, new, tmp_path):
        assert new(tmp_path / "new").exit_code == 0
        path = tmp_path / "new" / "recipe.yaml"
        recipe, written = load_recipe(path), yaml.safe_load(path.read_text(encoding="utf-8"))
        assert recipe.output == tmp_path / "new" / "run"
        assert set(written) == set(Recipe.model_fields)
        assert set(written["training"]) == set(type(recipe.training).model_fields)
        assert set(written["model"]) == set(type(recipe.model).model_fields)

    def test_tells_how_the_corpus_was_prepared(self, new, trellex, tmp_path):
        folder = tmp_path / "it's mine"
        assert new(folder, "--target-vocab-size", 300, "--source-lowercase").exit_code == 0
        lines = (folder / "recipe.yaml").read_text(encoding="utf-8").splitlines()
        comment = "\n".join(line.removeprefix("# ") for line in lines if line.startswith("#"))
        command = shlex.split(comment[comment.index("  trellex prepare") :].split("\n#\n")[0].replace("\\\n", ""))
        assert command[:3] == ["trellex", "prepare", str(folder / "data")]
        before = {path: path.stat().st_mtime_ns for path in (folder / "data").iterdir()}
        result = trellex(*command[1:], "--json")
        assert json.loads(result.stdout)["target words"] == 300
        assert {path: path.stat().st_mtime_ns for path in (folder / "data").iterdir()} == before

    def test_a_head_that_is_given(self, new, tmp_path):
        head = {"type": "binary-ec", "loss": "trellis"}
        assert new(tmp_path / "new", "--head", json.dumps(head)).exit_code == 0
        assert load_recipe(tmp_path / "new" / "recipe.yaml").head.model_dump() == head

    def test_little_time_makes_it_smaller_and_is_told(self, new, tmp_path, monkeypatch):
        monkeypatch.setattr(pace, "seconds_of_token", lambda recipe: 1.0)
        result = new(tmp_path / "new", "--minutes", 5)
        assert result.exit_code == 0, result.stderr
        assert "more than 5 minutes" in result.stderr
        assert load_recipe(tmp_path / "new" / "recipe.yaml").training.max_steps == 1500

    def test_without_torch_it_is_not_timed(self, text, tmp_path):
        command = [sys.executable, "-c", WITHOUT_TORCH, "new", tmp_path / "new", *text("train", "dev")]
        whitespace = ["--source-tokenizer", "whitespace", "--target-tokenizer", "whitespace"]
        environment = os.environ | {"COLUMNS": "200"}
        result = subprocess.run([*command, *whitespace], capture_output=True, env=environment, text=True, timeout=120)
        assert result.returncode == 0, result.stderr
        assert "torch" in result.stderr
        assert "pip install 'trellex[train]'" in result.stderr
        assert "not timed" in result.stdout
        load_recipe(tmp_path / "new" / "recipe.yaml")


class TestWhatIsThere:
    def test_a_recipe_is_replaced_only_by_force(self, new, tmp_path):
        path = tmp_path / "new" / "recipe.yaml"
        path.parent.mkdir()
        path.write_text("mine", encoding="utf-8")
        assert_error(new(path.parent), path, "--force")
        assert path.read_text(encoding="utf-8") == "mine"
        assert not (path.parent / "data").exists()
        assert new(path.parent, "--force").exit_code == 0
        load_recipe(path)

    def test_no_recipe_is_left_by_one_who_gives_up(self, new, tmp_path, monkeypatch):
        def give_up(_):
            raise KeyboardInterrupt

        monkeypatch.setattr(pace, "seconds_of_token", give_up)
        assert new(tmp_path / "new").exit_code != 0
        assert [path.name for path in (tmp_path / "new").iterdir()] == ["data"]

    def test_a_file_is_no_folder(self, new, tmp_path):
        (tmp_path / "new").write_text("", encoding="utf-8")
        assert_error(new(tmp_path / "new"), tmp_path / "new", "is no folder")

    @pytest.mark.parametrize("head", ["hybird-64", "{type: binary", "[1]"])
    def test_a_wrong_head_is_told_before_any_work(self, new, tmp_path, head):
        assert_error(new(tmp_path / "new", "--head", head), "expected", head)
        assert not (tmp_path / "new").exists()


class TestLanguages:
    @pytest.fixture
    def renamed(self, phrasebook, tmp_path):
        """The phrasebook under other names: renamed("en.txt", "ja.gz")."""

        def renamed(*endings):
            for split in ("train", "dev"):
                for language, ending in zip(("en", "ja"), endings, strict=True):
                    content = (phrasebook / f"{split}.{language}").read_bytes()
                    content = gzip.compress(content) if ending.endswith(".gz") else content
                    (tmp_path / f"{split}.{ending}").write_bytes(content)
            return tmp_path

        return renamed

    @pytest.mark.parametrize("endings", [("en", "ja"), ("tok.en.txt", "ja.gz"), ("en.txt.gz", "ja.txt")])
    def test_follow_from_the_names(self, trellex, text, renamed, tmp_path, endings):
        files = text("train", "dev", folder=renamed(*endings), languages=endings)
        assert trellex("new", tmp_path / "new", *files, "--target-tokenizer", "whitespace").exit_code == 0
        assert "# From en to ja:" in (tmp_path / "new" / "recipe.yaml").read_text(encoding="utf-8")

    @pytest.mark.parametrize("ending", ["source", "txt", "gz", "EN"])
    def test_must_be_given_if_they_do_not(self, trellex, text, renamed, tmp_path, ending):
        files = text("train", "dev", folder=renamed(ending, "ja"), languages=(ending, "ja"))
        files += ["--target-tokenizer", "whitespace"]
        assert_error(trellex("new", tmp_path / "new", *files), f"train.{ending}", "--source-language")
        assert not (tmp_path / "new").exists()
        if ending != "gz":
            assert trellex("new", tmp_path / "new", *files, "--source-language", "en").exit_code == 0

    def test_must_agree(self, trellex, text, tmp_path):
        files = [*text("train"), *text("dev", languages=("ja", "en"))]
        assert_error(trellex("new", tmp_path / "new", *files), "dev.ja", "different languages", "--source-language")

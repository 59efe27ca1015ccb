"""The models that come with the package: whole, small, found by name, and of use without torch."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import trellex as package
from trellex.models import HERE, find_model, names
from trellex.runtime.folder import Export

MEGABYTES = 12
WITHOUT = """
import sys
sys.modules |= dict.fromkeys(sys.argv.pop(1).split(","))  # as if they were not installed
from trellex.__main__ import main
main()
"""
EASY = {
    "en-ja": {"Where is the station?": "駅はどこですか。", "He is a doctor.": "彼は医者です。"},
    "ja-en": {"駅はどこですか。": "Where is the station?", "私の父は医者です。": "My father is a doctor."},
}


def run_without(missing, *arguments, text):
    """Runs a command as if some packages were not installed."""
    command = [sys.executable, "-c", WITHOUT, missing, *arguments]
    return subprocess.run(command, input=text, capture_output=True, encoding="utf-8", timeout=300, check=False)


def test_both_are_there():
    assert names() == ["en-ja", "ja-en"]


@pytest.mark.parametrize("name", EASY)
class TestEach:
    def test_is_whole_and_small(self, name):
        Export.open(HERE / name).verify()
        assert sum(path.stat().st_size for path in (HERE / name).iterdir()) <= MEGABYTES * 1_000_000

    def test_holds_nothing_but_what_is_listed_and_its_card(self, name):
        listed = Export.open(HERE / name).manifest.files
        assert {path.name for path in (HERE / name).iterdir()} == {*listed, "trellex.json", "README.md"}

    def test_translates_easy_sentences(self, name):
        assert package.load(name).translate(list(EASY[name]), beam=5) == list(EASY[name].values())

    def test_its_card_tells_what_it_is(self, name):
        card = (HERE / name / "README.md").read_text(encoding="utf-8")
        for word in ("CC BY 2.0 FR", "Tanaka", "recipes/everyday.yaml", "make bench-models", "ms a sentence", "Limits"):
            assert word in card, word
        assert len(set(re.findall(r"nrefs:1\|\S+\|version:[\d.]+", card))) == 2  # signatures


def test_it_translates_without_torch_and_mecab():
    lines = "\n".join(EASY["en-ja"])
    found = run_without("torch,fugashi,ipadic", "translate", "--model", "en-ja", "--beam", "5", text=lines)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.splitlines() == list(EASY["en-ja"].values())


def test_the_readme_shows_what_it_says():
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    english, japanese = re.search(r"echo '(.+)' \| trellex translate en-ja +# (\S+)", readme).groups()
    assert package.load("en-ja").translate([english]) == [japanese]


def test_what_japanese_sources_need_is_named():
    found = run_without("fugashi,ipadic", "translate", "ja-en", text="駅はどこですか。\n")
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr == "error: tokenizer 'mecab' needs the package fugashi: pip install 'trellex[ja]'\n"


def test_a_folder_of_that_name_comes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_model("en-ja") == HERE / "en-ja"
    (tmp_path / "en-ja").mkdir()
    assert str(find_model("en-ja")) == "en-ja"


def test_another_name_is_an_error_that_tells_these(trellex):
    for verb in ("translate", "info"):
        result = trellex(verb, "en-fr")
        assert result.exit_code == 1
        assert "en-fr: there is no such folder; give an exported model, a run or a checkpoint" in result.stderr
        assert "or en-ja or ja-en, which come with Trellex" in result.stderr


@pytest.mark.parametrize("verb", ["explain", "info", "score"])
def test_other_verbs_know_them(trellex, tmp_path, verb):
    files = [tmp_path / "source", tmp_path / "target"]
    for path, line in zip(files, next(iter(EASY["en-ja"].items())), strict=True):
        path.write_text(f"{line}\n", encoding="utf-8")
    arguments = {"explain": ["Where is the station?"], "info": [], "score": files}[verb]
    result = trellex(verb, "en-ja", *arguments, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout)


def test_the_server_serves_both_unless_told_otherwise(process):
    running = process.start("serve", "--port", 0, "--json")
    told = json.loads(running.stdout.readline())
    os.kill(running.pid, signal.SIGINT)
    process.finish(running)
    assert told["pairs"] == [["en", "ja"], ["ja", "en"]]

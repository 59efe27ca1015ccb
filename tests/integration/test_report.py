"""`trellex report` from the outside: its files, the same bytes from every process, its errors."""

import json
import os
import runpy
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from matplotlib import image

from trellex.evaluation.result import Result
from trellex.experiment.grid import Grid
from trellex.report.page import write_report
from trellex.training.recipe import Recipe

SYNTHETIC = runpy.run_path(str(Path(__file__).parents[1] / "unit" / "report" / "synthetic.py"))
WITHOUT = """
import runpy, sys

class Impossible:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {missing!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Impossible())
runpy.run_module("trellex.cli", run_name="__main__", alter_sys=True)
"""


def without(missing, *arguments, **environment):
    """Runs the command in a process of its own in which some modules cannot be imported."""
    command = [sys.executable, "-c", WITHOUT.format(missing=missing), *map(str, arguments)]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "COLUMNS": "200"} | environment
    return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment, check=False)


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    made = SYNTHETIC["all_results"](methods=("softmax", "hybrid-512-ec", "hybrid-2048-ec"), sentences=40)
    return SYNTHETIC["save_all"](made[:6], tmp_path_factory.mktemp("experiment") / "results")


def test_tells_what_it_wrote(trellex, results, tmp_path):
    output = tmp_path / "report"
    result = trellex("report", results, "--output", output)
    assert result.exit_code == 0
    assert str(output / "report.md") in result.stdout
    assert str(output / "index.html") in result.stdout
    assert "and 16 files of figures" in result.stdout


def test_json(trellex, results, tmp_path):
    printed = json.loads(trellex("report", results, "--output", tmp_path, "--json").stdout)
    assert sorted(printed) == sorted(str(path) for path in tmp_path.rglob("*") if path.is_file())


def test_same_bytes_without_torch_in_another_process_with_other_settings(trellex, results, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    assert trellex("report", results, "--output", one).exit_code == 0
    (tmp_path / "matplotlibrc").write_text("font.size: 20\naxes.facecolor: yellow\nxtick.color: red\n")
    (tmp_path / "copied").mkdir()
    for number, path in enumerate(sorted(results.iterdir(), reverse=True)):
        (tmp_path / "copied" / f"{number}.json").write_bytes(path.read_bytes())
    surroundings = {"PYTHONHASHSEED": "7", "TZ": "Asia/Tokyo", "LC_ALL": "C", "MATPLOTLIBRC": str(tmp_path)}
    done = without(("torch",), "report", tmp_path / "copied", "--output", two, **surroundings)
    assert done.returncode == 0, done.stderr
    assert contents(one) == contents(two)


def test_without_matplotlib_the_extra_is_named(results, tmp_path):
    done = without(("matplotlib",), "report", results, "--output", tmp_path / "report")
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "pip install 'trellex[report]'" in done.stderr
    assert not (tmp_path / "report").exists()


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (None, None, "no results (*.json); run an experiment"),
        ("damaged.json", '{"format": "trellex-result", ', "damaged.json: not the result of an experiment"),
        ("other.json", '{"format": "something"}', "other.json: not the result of an experiment"),
    ],
)
def test_errors_name_the_file_and_leave_nothing(trellex, tmp_path, name, text, message):
    folder = tmp_path / "results"
    folder.mkdir()
    if name:
        (folder / name).write_text(text)
    result = trellex("report", folder, "--output", tmp_path / "report")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert not (tmp_path / "report").exists()


def test_two_results_of_one_cell(trellex, results, tmp_path):
    first = sorted(results.iterdir())[0]
    for name in ("one.json", "two.json"):
        (tmp_path / name).write_bytes(first.read_bytes())
    result = trellex("report", tmp_path, "--output", tmp_path / "report")
    assert result.exit_code == 1
    assert "two.json" in result.stderr
    assert "one.json: both are the result of KFTT en-ja hybrid-2048-ec seed 1; remove one of them" in result.stderr


DOCS = Path(__file__).parents[2] / "docs"


STUDIES = ("ablation", "rivals", "codes-cpu")


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    """The reports of studies beside those results, by name."""
    outputs = {study: tmp_path_factory.mktemp(study) for study in STUDIES}
    for study, output in outputs.items():
        write_report(DOCS / "results" / study, output)
    return outputs


@pytest.fixture(scope="module")
def committed(tmp_path_factory):
    """The report of the documentation's results, made anew."""
    output = tmp_path_factory.mktemp("report")
    write_report(DOCS / "results" / "cells", output)
    return output


class TestCommittedResults:
    """What the documentation shows is what its results give."""

    def test_tables_and_pages(self, committed):
        for name in ("report.md", "index.html"):
            assert (committed / name).read_bytes() == (DOCS / "results" / name).read_bytes(), name

    def test_figures(self, committed):
        ours, theirs = (sorted((folder / "figures").iterdir()) for folder in (committed, DOCS / "results"))
        assert [path.name for path in ours] == [path.name for path in theirs]
        for one, other in zip(ours, theirs, strict=True):
            if one.suffix == ".svg":
                assert one.read_bytes() == other.read_bytes(), one.name
            else:  # pixels, for what compresses them may differ
                assert np.array_equal(image.imread(one), image.imread(other)), one.name

    @pytest.mark.parametrize("study", STUDIES)
    def test_a_study_is_what_its_grid_asks_for(self, study, monkeypatch):
        monkeypatch.chdir(DOCS.parent)
        paths = (DOCS / "results" / study).glob("*.json")
        of_results = comparable(Recipe(**Result.load(path).recipe).model_dump(mode="json") for path in paths)
        assert of_results == comparable(recipes_of(f"recipes/grids/{study}.yaml"))

    @pytest.mark.parametrize(
        ("page", "studied", "fewest"),
        [
            ("ablation.md", ["ablation"], 25),
            ("rivals.md", ["rivals"], 100),
            ("beyond.md", ["cells"], 20),
            ("codes-compared.md", ["codes-cpu"], 19),
            ("paper-table.md", ["cells", "rivals"], 65),
        ],
    )
    def test_every_row_of_a_page_is_one_of_a_report(self, committed, studies, page, studied, fewest):
        lines = (DOCS / "measurements" / page).read_text(encoding="utf-8").splitlines()
        rows = [line for line in lines if line[:1] == "|"]
        assert len(rows) > fewest
        reports = [(studies | {"cells": committed})[study] / "report.md" for study in studied]
        of_reports = [line for report in reports for line in report.read_text(encoding="utf-8").splitlines()]
        for row in rows:  # the last columns may be left out
            assert any(line.startswith(row[:-1]) for line in of_reports), row

    @pytest.mark.parametrize("corpus", ["kftt", "tatoeba"])
    def test_figures_of_rivals(self, studies, corpus):
        drawn = (studies["rivals"] / "figures" / f"cpu-time-{corpus}-en-ja.svg").read_bytes()
        assert (DOCS / "measurements" / f"rivals-{corpus}.svg").read_bytes() == drawn

    @pytest.mark.parametrize("corpus", ["kftt", "tatoeba"])
    def test_settings_are_those_of_the_grids(self, corpus, monkeypatch):
        """All of the paper's systems were trained, and of what came after nothing that the grid does not have."""
        monkeypatch.chdir(DOCS.parent)
        paths = (DOCS / "results" / "cells").glob(f"{corpus}-*.json")
        of_results = comparable(Recipe(**Result.load(path).recipe).model_dump(mode="json") for path in paths)
        of_paper, of_others = (comparable(recipes_of(f"recipes/grids/{name}.yaml")) for name in (corpus, "beyond"))
        assert of_paper <= of_results <= of_paper | of_others
        assert of_results & of_others


def recipes_of(grid):
    """Those of all cells of a grid."""
    for block in Grid.load(Path(grid)).grid:
        recipe = block.load_recipe().model_dump(mode="json")
        for data, head, seed in product(block.data, block.heads, block.seeds):
            training = recipe["training"] | {"seed": seed}
            yield recipe | {"data": str(data), "head": head.model_dump(), "training": training}


def comparable(recipes):
    return {json.dumps({key: recipe[key] for key in recipe if key != "output"}, sort_keys=True) for recipe in recipes}

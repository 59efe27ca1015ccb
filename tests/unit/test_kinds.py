"""What was given in place of something else is recognised, and what to give instead is told."""

import json
import shutil
from pathlib import Path

import pytest

import trellex
from trellex.kinds import CHECKPOINT, CORPUS, EXPORT, GRID, RECIPE, RESULTS, RUN, RUNS, check_kind, kinds_of
from trellex.report.result_set import ResultSet
from trellex.runtime.folder import Export
from trellex.text import Corpus
from trellex.training.loading import load_checkpoint
from trellex.training.recipe import read_yaml

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "tests" / "models"


@pytest.fixture
def things(tmp_path):
    """One of each kind."""
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "manifest.json").touch()
    (tmp_path / "runs" / "run" / "step-000000007").mkdir(parents=True)
    return {
        CORPUS: tmp_path / "corpus",
        RUN: tmp_path / "runs" / "run",
        RUNS: tmp_path / "runs",
        CHECKPOINT: MODELS / "checkpoint",
        EXPORT: MODELS / "export",
        RESULTS: ROOT / "docs" / "results" / "cells",
        RECIPE: ROOT / "recipes" / "kftt.yaml",
        GRID: ROOT / "recipes" / "grids" / "kftt.yaml",
    }


class TestKindsOf:
    def test_each(self, things):
        assert {kind: list(kinds_of(path)) for kind, path in things.items()} == {kind: [kind] for kind in things}

    def test_a_run_that_has_no_checkpoint_yet(self, tmp_path):
        (tmp_path / "metrics.jsonl").touch()
        assert list(kinds_of(tmp_path)) == [RUN]

    def test_a_folder_of_several_kinds_is_any_of_them(self, things):
        (result, *_) = sorted(things[RESULTS].glob("*.json"))
        shutil.copy(result, things[RUNS])
        (things[CORPUS] / "step-000000007").mkdir()
        for path, kinds in ((things[RUNS], [RUNS, RESULTS]), (things[CORPUS], [CORPUS, RUN])):
            assert list(kinds_of(path)) == kinds
            for kind in kinds:
                check_kind(path, kind)
            with pytest.raises(ValueError, match=f"is {kinds[0]}; needed is {EXPORT}"):
                check_kind(path, EXPORT)

    def test_what_is_not_ours(self, tmp_path):
        (tmp_path / "other.json").write_text(json.dumps({"format": "other"}))
        (tmp_path / "other.yaml").write_text("key: value")
        for path in (tmp_path, tmp_path / "none", tmp_path / "other.json", tmp_path / "other.yaml"):
            assert list(kinds_of(path)) == []
            check_kind(path, CORPUS)


READERS = {
    "translate": (trellex.load, {RUN, CHECKPOINT, EXPORT}, "needed is a run, a checkpoint or an exported model: "),
    "checkpoint": (load_checkpoint, {RUN, CHECKPOINT}, "needed is a run or a checkpoint: "),
    "export": (Export.open, {EXPORT}, "needed is an exported model: make one of a run with `trellex export`"),
    "corpus": (Corpus.open, {CORPUS}, "needed is a prepared corpus: make one with `trellex prepare`"),
    "results": (ResultSet.load, {RESULTS}, "needed is a folder of results: "),
    "recipe": (lambda path: read_yaml(path, "recipe"), {RECIPE}, "needed is a recipe: "),
    "grid": (lambda path: read_yaml(path, "grid"), {GRID}, "needed is a grid: "),
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_knows_all_that_it_cannot_read(reader, things):
    read, readable, message = READERS[reader]
    refused = things.keys() - readable
    assert refused
    for kind in refused:
        with pytest.raises(ValueError, match=f"^{things[kind]}: is {kind}; {message}"):
            read(things[kind])


@pytest.mark.parametrize(
    ("found", "needed", "remedy"),
    [
        (EXPORT, RUN, "give the run that it was made from"),
        (RUNS, RUN, "give one of those in it"),
        (CORPUS, RUN, "train one with `trellex train`"),
        (GRID, RECIPE, "train it with `trellex experiment`"),
    ],
)
def test_the_remedy_depends_on_what_was_given(found, needed, remedy, things):
    with pytest.raises(ValueError, match=remedy):
        check_kind(things[found], needed)

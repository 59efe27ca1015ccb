"""Complete trellises and shelves through the command line: trained, told about, and in a grid with its report."""

import json

import pytest
import yaml

from trellex.evaluation.result import Result
from trellex.training import checkpoint

HEADS = {
    "binary-ec (complete, memory 3)": {"type": "binary-ec", "generators": "complete", "memory": 3},
    "hybrid-64-ec (complete, memory 8, clusters)": {
        "type": "hybrid-64-ec",
        "generators": "complete",
        "code": "clusters",
    },
    "shelves (words 8, visit 2)": {"type": "shelves", "words": 8, "visit": 2},
}


@pytest.mark.parametrize("label", HEADS)
def test_training_goes_on_and_info_tells_of_it(trellex, write_recipe, tmp_path, label):
    recipe = write_recipe(tmp_path / "run", HEADS[label], max_steps=2, validate_every=1, save_every=1)
    assert trellex("train", recipe).exit_code == 0
    assert trellex("train", recipe, "--max-steps", 4).exit_code == 0
    info = checkpoint.load_info(checkpoint.checkpoints(tmp_path / "run")[-1])
    assert info.recipe.head.label == label
    assert info.step == 4
    told = json.loads(trellex("info", tmp_path / "run", "--json").stdout)
    assert json.loads(told["head"]) == HEADS[label]
    assert told["#out"] > 0


@pytest.mark.slow
def test_a_grid_and_its_report(process, data, write_recipe, tmp_path):
    recipe = write_recipe(tmp_path / "recipe", max_steps=2, validate_every=1, save_every=2, patience=None)
    labels = ["binary-ec (complete, memory 3)", "binary-ec (exact decoding)", "shelves (words 8, visit 2)"]
    heads = ["binary-ec", *(HEADS[label] for label in labels if label in HEADS)]
    block = {"corpus": "Phrases", "stands_for": "BTEC", "recipe": str(recipe), "data": [str(data)], "heads": heads}
    results = tmp_path / "results"
    grid = {"runs": str(tmp_path / "runs"), "results": str(results), "at_once": 1, "grid": [block]}
    (tmp_path / "grid.yaml").write_text(yaml.safe_dump(grid, sort_keys=False))
    finished = process("experiment", tmp_path / "grid.yaml", "--no-timing", "--json")
    assert finished.exit_code == 0, finished.stderr
    cells = {result.cell.method: result for result in map(Result.load, results.glob("*.json"))}
    assert sorted(cells) == labels
    assert [label for label, result in cells.items() if result.bit_errors] == ["binary-ec (exact decoding)"]
    reported = process("report", results, "--output", tmp_path / "report")
    assert reported.exit_code == 0, reported.stderr
    report = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    rows = [line.split("|")[1].strip() for line in report.splitlines() if line.startswith("| ")]
    first = rows.index(labels[0])
    assert rows[first : first + 3] == labels

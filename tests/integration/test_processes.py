"""Two processes train as one does."""

import json
from pathlib import Path

import pytest

from trellex.locks import exclusive

THREADS_OF_THE_GROUP = """
import sys
from pathlib import Path

from trellex.training.display import Display
from trellex.training.recipe import load_recipe
from trellex.training.trainer import Trainer

def threads():
    return sum("gloo" in name.read_text() for name in Path("/proc/self/task").glob("*/comm"))

trainer = Trainer(load_recipe(Path(sys.argv[1])), Display("", True))
before = threads()
trainer.run()
sys.stdout.write(f"{before > 0} {threads()}\\n")
"""


def metrics(run, key):
    return [line[key] for line in map(json.loads, (run / "metrics.jsonl").read_text().splitlines()) if key in line]


@pytest.fixture
def torchrun(process):
    """Trains in two processes on this machine."""

    def torchrun(*arguments):
        options = ("--standalone", "--nproc-per-node", 2, "-m", "trellex.cli", "train")
        return process(*options, *arguments, module="torch.distributed.run")

    return torchrun


@pytest.mark.parametrize(
    "head", ["hybrid-64-ec", pytest.param({"type": "softmax", "tied": True}, marks=pytest.mark.slow)], ids=str
)
def test_two_processes_have_the_losses_of_one(torchrun, trellex, write_recipe, tmp_path, head):
    # 600 pairs in batches of 599: in every other batch one process has nothing to do
    settings = {"dropout": 0.0, "batch_sentences": 599, "validate_every": 1, "max_steps": 8, "learning_rate": 0.003}
    one, two = (write_recipe(tmp_path / name, head, **settings) for name in ("one", "two"))
    assert trellex("train", one).exit_code == 0
    result = torchrun(two, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["step"] == 8  # one process talks
    losses = metrics(tmp_path / "two", "loss")
    assert len(losses) == 8
    assert losses == pytest.approx(metrics(tmp_path / "one", "loss"), rel=1e-4)
    assert sorted(path.name for path in (tmp_path / "one").iterdir()) == sorted(
        path.name for path in (tmp_path / "two").iterdir()
    )


@pytest.mark.slow
def test_all_processes_know_of_a_plateau(torchrun, trellex, write_recipe, tmp_path):
    # nothing is learnt so soon, so that every evaluation halves the rate of those who hear of it
    settings = {"dropout": 0.0, "batch_sentences": 64, "validate_every": 1, "max_steps": 8, "learning_rate": 0.02}
    settings |= {"schedule": "plateau", "decay_patience": 1}
    one, two = write_recipe(tmp_path / "one", **settings), write_recipe(tmp_path / "two", **settings)
    assert trellex("train", one).exit_code == 0
    assert torchrun(two).exit_code == 0
    rates = metrics(tmp_path / "two", "learning_rate")
    assert rates[-1] < rates[0] / 4
    assert rates == metrics(tmp_path / "one", "learning_rate")
    assert metrics(tmp_path / "two", "loss") == pytest.approx(metrics(tmp_path / "one", "loss"), rel=1e-4)


COMPOSED = {"embeddings": {"type": "composed", "residual": 4, "frequent": 50}}
CODES = [  # the head, the model, every how many batches numbers are exchanged
    ({"type": "shelves", "code": "clusters", "words": 8, "visit": 2}, COMPOSED, None),
    *(
        pytest.param({"type": "hybrid-64-ec", "code": code}, {}, None, marks=pytest.mark.slow)
        for code in ("frequency", "random", "huffman", "clusters", "brown")
    ),
    pytest.param({"type": "hybrid-64-ec", "loss": "trellis", "code": "clusters"}, {}, 2, marks=pytest.mark.slow),
    pytest.param({"type": "free", "bits": 16}, {}, None, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("head", "model", "every"), CODES, ids=str)
def test_two_processes_have_the_codes_of_one(torchrun, trellex, write_recipe, tmp_path, head, model, every):
    settings = {"dropout": 0.0, "batch_sentences": 64, "validate_every": 2, "max_steps": 4, "learning_rate": 0.003}
    settings |= {"head": head, "renumber_every": every}
    recipes = [write_recipe(tmp_path / name, model=model, **settings) for name in ("one", "two")]
    assert trellex("train", recipes[0]).exit_code == 0
    result = torchrun(recipes[1])
    assert result.exit_code == 0, result.stderr
    assert result.stderr.count("by clusters") + result.stderr.count("by Brown clusters") == len(
        {head.get("code")} & {"clusters", "brown"}
    ) + len(model)
    files = [
        {path.name: path.read_text() for path in (tmp_path / run / "step-000000004").glob("code*.json")}
        for run in ("one", "two")
    ]
    assert files[0] == files[1]
    assert bool(files[0]) == (head["type"] != "free")
    assert metrics(tmp_path / "two", "loss") == pytest.approx(metrics(tmp_path / "one", "loss"), rel=1e-4)


def test_two_processes_go_on_where_one_stopped(torchrun, trellex, write_recipe, tmp_path):
    settings = {"dropout": 0.0, "batch_sentences": 64, "validate_every": 2, "learning_rate": 0.003}
    one, mixed = write_recipe(tmp_path / "one", **settings), write_recipe(tmp_path / "mixed", **settings)
    assert trellex("train", one, "--max-steps", 12).exit_code == 0
    assert trellex("train", mixed, "--max-steps", 6).exit_code == 0
    result = torchrun(mixed, "--max-steps", 12)
    assert result.exit_code == 0, result.stderr
    assert metrics(tmp_path / "mixed", "loss") == pytest.approx(metrics(tmp_path / "one", "loss"), rel=1e-4)


def test_an_error_ends_all_processes(torchrun, write_recipe, tmp_path):
    result = torchrun(write_recipe(tmp_path / "run", head="hybrid-5000"))
    assert result.exit_code != 0
    assert "N = 5000 does not fit" in result.stderr


@pytest.mark.slow
def test_a_folder_that_is_trained_into_is_refused(torchrun, write_recipe, tmp_path):
    run = tmp_path / "run"
    recipe = write_recipe(run)
    run.mkdir()
    with exclusive(run):
        result = torchrun(recipe)
    assert result.exit_code != 0
    assert f"{run}: another process works in this folder; wait for it to end" in result.stderr
    assert [path.name for path in run.iterdir()] == ["lock"]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
def test_no_thread_outlives_its_group(process, write_recipe, tmp_path):
    # one that frees a tensor while the interpreter ends aborts the process
    program = tmp_path / "program.py"
    program.write_text(THREADS_OF_THE_GROUP)
    recipe = write_recipe(tmp_path / "run", max_steps=2)
    result = process("--standalone", "--nproc-per-node", 2, program, recipe, module="torch.distributed.run")
    assert result.exit_code == 0, result.stderr
    assert result.stdout == "True 0\n" * 2

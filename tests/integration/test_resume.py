"""A run that is killed again and again ends as one that was left alone."""

import json
import random
import signal
import time
from multiprocessing import get_context
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from trellex.training import checkpoint
from trellex.training.display import Display
from trellex.training.recipe import load_recipe
from trellex.training.trainer import Trainer


def train(recipe: Path, max_steps: int) -> None:
    Trainer(load_recipe(recipe, max_steps=max_steps), Display("test", quiet=True)).run()


@pytest.fixture(scope="module")
def start():
    """Starts training in a process forked from one that has torch imported, so that a start takes no time."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["trellex.training.trainer", "torch._dynamo"])

    def start(recipe, max_steps):
        process = context.Process(target=train, args=(recipe, max_steps))
        process.start()
        return process

    return start


def metrics(run, key):
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return [(line["step"], line[key]) for line in lines if key in line]


def newest_step(run):
    return max((int(folder.name.removeprefix("step-")) for folder in checkpoint.checkpoints(run)), default=0)


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def assert_same_end(run, other):
    """The same checkpoints, bit for bit, the same evaluations, and every loss once."""
    names = [folder.name for folder in checkpoint.checkpoints(run)]
    assert names == [folder.name for folder in checkpoint.checkpoints(other)]
    for name in names:
        for kind in ("model", "optimizer"):
            mine, theirs = (load_file(folder / name / f"{kind}.safetensors") for folder in (run, other))
            assert mine.keys() == theirs.keys()
            assert all(torch.equal(mine[key], theirs[key]) for key in mine)
    assert (run / "best.json").read_bytes() == (other / "best.json").read_bytes()
    assert metrics(run, "dev_bleu") == metrics(other, "dev_bleu")
    assert metrics(run, "test_bleu") == metrics(other, "test_bleu")
    assert [step for step, _ in metrics(run, "loss")] == [step for step, _ in metrics(other, "loss")]


def test_sigkill_at_20_random_moments(start, write_recipe, tmp_path):
    draw = random.Random(1)
    settings = {"save_every": 3, "validate_every": 7, "batch_sentences": 64}
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    recipe = write_recipe(killed, head="softmax", dropout=0.3, **settings)
    reached = []
    for kill in range(20):
        first = newest_step(killed)
        process = start(recipe, 1_000_000)
        if kill % 4:  # most get on; the others may be killed before they have begun
            wait_until(lambda first=first: newest_step(killed) > first)
        time.sleep(draw.uniform(0, 0.15))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        reached.append(newest_step(killed))
    assert reached[-1] > 0
    end = reached[-1] + 10
    last = start(recipe, end)
    last.join()
    assert last.exitcode == 0
    train(write_recipe(whole, head="softmax", dropout=0.3, **settings), end)
    assert_same_end(killed, whole)
    assert not list(killed.glob(".*"))


def test_a_second_training_is_refused_and_the_first_ends_as_if_alone(start, trellex, write_recipe, tmp_path):
    run, whole = tmp_path / "run", tmp_path / "whole"
    recipe = write_recipe(run, head="softmax", average=2, keep_best=2, validate_every=3)
    first = start(recipe, 1_000_000)
    try:
        wait_until(lambda: newest_step(run) > 6)
        for command in (("train", recipe), ("average", run), ("average", run, "--output", run / "average")):
            result = trellex(*command)
            assert (result.exit_code, result.stdout) == (1, "")
            assert f"{run}: another process works in this folder; wait for it to end, or choose" in result.stderr
    finally:
        first.kill()
        first.join()
    end = newest_step(run) + 5
    assert trellex("train", recipe, "--max-steps", end).exit_code == 0
    assert trellex("average", run, "--best", 2).exit_code == 0
    assert trellex("train", recipe, "--output", whole, "--max-steps", end).exit_code == 0
    assert_same_end(run, whole)
    mine, theirs = (load_file(folder / "average" / "model.safetensors") for folder in (run, whole))
    assert all(torch.equal(mine[key], theirs[key]) for key in mine)


@pytest.mark.parametrize("batch", [{}, {"batch_sentences": None, "batch_tokens": 200}])
def test_a_run_in_three_pieces(trellex, write_recipe, tmp_path, batch):
    pieces, whole = write_recipe(tmp_path / "pieces", **batch), write_recipe(tmp_path / "whole", **batch)
    for max_steps in (17, 29, 40):  # 600 pairs are 38 batches: the last piece crosses into the second epoch
        assert trellex("train", pieces, "--max-steps", max_steps).exit_code == 0
    assert trellex("train", whole).exit_code == 0
    final = [folder / "step-000000040" / "model.safetensors" for folder in (tmp_path / "pieces", tmp_path / "whole")]
    assert final[0].read_bytes() == final[1].read_bytes()
    assert metrics(tmp_path / "pieces", "dev_bleu") == metrics(tmp_path / "whole", "dev_bleu")


def test_ctrl_c_saves_and_says_how_to_go_on(process, trellex, write_recipe, tmp_path):
    run, whole = tmp_path / "run", tmp_path / "whole"
    recipe = write_recipe(run, max_steps=1_000_000, save_every=1_000_000)
    running = process.start("train", recipe, "--json")
    wait_until((run / "metrics.jsonl").exists)
    running.send_signal(signal.SIGINT)
    result = process.finish(running)
    assert result.exit_code == 130
    step = json.loads(result.stdout)["step"]
    assert f"stopped at step {step:,}; the same command goes on from there" in result.stderr
    assert newest_step(run) == step
    again = trellex("train", recipe, "--max-steps", step + 5)
    assert again.exit_code == 0
    assert f"going on from step {step:,}" in again.stderr
    assert trellex("train", recipe, "--output", whole, "--max-steps", step + 5, "--quiet").exit_code == 0
    name = f"step-{step + 5:09d}/model.safetensors"
    assert (run / name).read_bytes() == (whole / name).read_bytes()

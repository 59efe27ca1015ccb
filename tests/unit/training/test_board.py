"""What training writes for TensorBoard, read as TensorBoard reads it."""

import json
import sys

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from trellex.training.board import Board
from trellex.training.trainer import Trainer

NAMES = {
    "training/loss": "loss",
    "training/learning_rate": "learning_rate",
    "training/tokens_per_second": "tokens_per_second",
    "bleu/dev": "dev_bleu",
    "bleu/test": "test_bleu",
}


def curves(run):
    """Points by name, as they are drawn."""
    events = EventAccumulator(str(run / "tensorboard")).Reload()
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


def of_metrics(run):
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    return {tag: [(line["step"], line[key]) for line in lines if key in line] for tag, key in NAMES.items()}


def test_curves_are_those_of_the_metrics(recipe, trainer):
    settings = recipe(tensorboard=True, decay_steps=5)
    trainer(settings).run()
    found, expected = curves(settings.output), of_metrics(settings.output)
    assert found.keys() == expected.keys()
    for tag, points in found.items():
        assert [step for step, _ in points] == [4, 8, 12]
        assert dict(points) == pytest.approx(dict(expected[tag]))  # in single precision


def test_without_the_key_there_are_none(recipe, trainer):
    trainer(recipe()).run()
    assert not (recipe().output / "tensorboard").exists()


def test_going_on_drops_what_came_of_lost_steps(recipe, trainer, monkeypatch):
    settings = recipe(tensorboard=True, validate_every=2, save_every=100, keep_checkpoints=9)
    trainer(recipe(tensorboard=True, validate_every=2, save_every=100, max_steps=5)).run()
    save = Trainer._save
    with monkeypatch.context() as patch:  # no checkpoint after the fifth step
        patch.setattr(Trainer, "_save", lambda self: None)
        trainer(recipe(tensorboard=True, validate_every=2, max_steps=10)).run()
    assert Trainer._save is save
    assert [step for step, _ in curves(settings.output)["training/loss"]] == [2, 4, 6, 8, 10]
    again = trainer(settings)
    again.run()
    found, expected = curves(settings.output), of_metrics(settings.output)
    for tag, points in found.items():
        assert [step for step, _ in points] == [2, 4, 6, 8, 10, 12]
        assert dict(points) == pytest.approx(dict(expected[tag]))


def test_a_finished_run_stays_as_it_is(recipe, trainer):
    settings = recipe(tensorboard=True)
    trainer(settings).run()
    before = {path: path.read_bytes() for path in settings.output.rglob("*") if path.is_file()}
    trainer(settings).run()
    assert {path: path.read_bytes() for path in settings.output.rglob("*") if path.is_file()} == before


def test_points_are_on_the_disk_before_the_checkpoint(recipe, trainer, monkeypatch):
    seen = []

    def look(*arguments):
        seen.append(curves(recipe().output)["training/loss"][-1][0])

    monkeypatch.setattr("trellex.training.checkpoint.save_checkpoint", look)
    trainer(recipe(tensorboard=True, save_every=4)).run()
    assert seen[:3] == [4, 8, 12]


def test_a_missing_package_is_told_before_anything_starts(recipe, trainer, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    for name in [name for name in sys.modules if name.startswith("torch.utils.tensorboard")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r"^training.tensorboard: .*pip install 'trellex\[tensorboard\]'") as caught:
        trainer(recipe(tensorboard=True))
    assert not isinstance(caught.value, ModuleNotFoundError)  # which is told with another remedy
    assert not recipe().output.exists()
    Board(tmp_path, False)

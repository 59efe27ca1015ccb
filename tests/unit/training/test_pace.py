"""The pace is measured apart from any run."""

from trellex.training import pace
from trellex.training.trainer import Trainer


def test_leaves_no_trace(recipe, monkeypatch):
    monkeypatch.setattr(pace, "SECONDS", 0)
    steps, train_on = [], Trainer.train_on
    monkeypatch.setattr(Trainer, "train_on", lambda self, rows: (steps.append(rows), train_on(self, rows)))
    asked = recipe(threads=1)
    assert pace.seconds_of_token(asked) > 0
    assert len(steps) == pace.WARM_UP_BATCHES + pace.FEWEST_BATCHES
    assert not asked.output.exists()


def test_a_run_of_another_size_is_no_obstacle(recipe, trainer, monkeypatch):
    monkeypatch.setattr(pace, "SECONDS", 0)
    trainer(recipe("softmax", max_steps=2)).run()
    before = sorted(recipe().output.rglob("*"))
    assert before
    assert pace.seconds_of_token(recipe("binary")) > 0
    assert sorted(recipe().output.rglob("*")) == before


def test_machine_in_words(monkeypatch):
    monkeypatch.setattr(pace, "has_gpu", lambda: False)
    assert pace.machine() == "1 CPU thread"

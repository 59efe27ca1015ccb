"""Recorded steps: what they learn is what steps that are taken directly do."""

from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
import torch

from trellex.nmt.recorder import WARM_UP
from trellex.training import recorded_steps
from trellex.training.feed import COLUMNS, ROWS
from trellex.training.renumbering import numbered_bits

HEADS = [
    "softmax",
    {"type": "softmax", "tied": True},
    {"type": "hybrid-4-ec", "loss": "trellis", "label_smoothing": 0.1},
    {"type": "binary-ec", "generators": "complete", "memory": 3, "code": "frequency"},
    {"type": "shelves", "words": 2, "visit": 2, "memory": 3, "code": "frequency"},
    {"type": "shelves", "words": 2, "visit": 2, "memory": 3, "code": "frequency", "label_smoothing": 0.1},
    {"type": "hierarchical", "code": "huffman"},
    {"type": "adaptive", "cutoffs": [4]},
]
on_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")


@pytest.mark.parametrize("head", HEADS, ids=str)
def test_a_batch_that_is_widened_teaches_the_same(recipe, trainer, head):
    run = trainer(recipe(head, dropout=0, device="cpu"))
    rows = next(run.feed.after(0))
    shared, share = run.model.double(), 1 / run.feed.tokens_of(rows)
    found = []
    for run.feed._is_widened in (False, True):
        batch = run.feed.tensors(rows)
        loss = shared(*batch).sum()
        found.append((loss, *torch.autograd.grad(loss * share, [*shared.parameters()], allow_unused=True)))
    assert batch[0].shape[0] % ROWS == 0
    assert batch[0].shape[1] % COLUMNS == batch[2].shape[1] % COLUMNS == 0
    for mine, theirs in zip(*found, strict=True):
        torch.testing.assert_close(mine, theirs)


@pytest.mark.gpu
@on_gpu
@pytest.mark.parametrize("head", HEADS, ids=str)
def test_they_learn_the_same(recipe, trainer, head, monkeypatch):
    """Directly and recorded: the loss of every step."""
    losses = []
    for most in (0, recorded_steps.MOST_RECORDED):
        monkeypatch.setattr(recorded_steps, "MOST_RECORDED", most)
        run = trainer(recipe(head, dropout=0, device="cuda"))
        batches = run.feed.after(0)
        losses.append([float(run._train_on(run.model, run.feed.prepared(next(batches)))[0]) for _ in range(30)])
    count = len(run._recorded._recordings)
    assert count == 0 if "adaptive" in str(head) else count > 0
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


class Tape:
    """In the place of a GPU's recorder: what it plays is computed again."""

    def __init__(self):
        self.log = []

    def direct(self, compute, may_wait=True):
        self.log.append("direct" if may_wait else "may not wait")
        return compute()

    def recorded(self, compute):
        self.log.append("recorded")
        loss = torch.zeros(())
        return SimpleNamespace(replay=lambda: (self.log.append("replayed"), loss.copy_(compute()))), loss

    def release(self):
        self.log.append("released")


def test_what_is_forgotten_is_warmed_up_before_it_is_recorded_again(monkeypatch):
    """Tables of a code that has just been learnt must find their way to the device first."""
    monkeypatch.setattr(recorded_steps, "Recorder", Tape)
    monkeypatch.setattr(torch.cuda, "get_rng_state", lambda: None)
    batch = (torch.ones(2, 3),)
    steps = recorded_steps.RecordedSteps(lambda values: values.sum(), lambda: batch)
    for log in (steps._recorder.log,) * 2:
        assert [float(steps(*batch)) for _ in range(WARM_UP + 2)] == [6.0] * (WARM_UP + 2)
        assert log == ["direct"] * (WARM_UP - 1) + ["may not wait"] + ["recorded"] * 2 + ["replayed"] * 2
        steps.forget()
        assert log.pop() == "released"
        log.clear()


class TestOfFailedRecordings:
    BATCH = (torch.ones(2, 3),)

    @pytest.fixture
    def steps(self, monkeypatch):
        monkeypatch.setattr(recorded_steps, "Recorder", Tape)
        monkeypatch.setattr(torch.cuda, "get_rng_state", lambda: None)
        steps = recorded_steps.RecordedSteps(lambda values: values.sum(), lambda: self.BATCH)
        for _ in range(WARM_UP):
            steps(*self.BATCH)
        return steps

    @pytest.mark.parametrize("error", [torch.OutOfMemoryError, RuntimeError])
    def test_steps_are_taken_directly_where_memory_is_short(self, steps, monkeypatch, error):
        """PyTorch's own, or that of the driver, from which a recording takes memory when it ends."""
        monkeypatch.setattr(Tape, "recorded", Mock(side_effect=error("CUDA error: out of memory")))
        with pytest.warns(UserWarning, match=r"too short to record steps, .*: CUDA error"):
            assert float(steps(*self.BATCH)) == 6
        steps._recorder.log.clear()
        assert float(steps(*self.BATCH)) == 6
        assert steps._recorder.log == ["direct"]

    def test_other_errors_are_told(self, steps, monkeypatch):
        monkeypatch.setattr(Tape, "recorded", Mock(side_effect=RuntimeError("illegal address")))
        with pytest.raises(RuntimeError, match="illegal address"):
            steps(*self.BATCH)


@pytest.mark.gpu
@on_gpu
@pytest.mark.parametrize("head", [HEADS[3], {**HEADS[2], "label_smoothing": 0.0}], ids=str)
def test_they_go_on_where_words_exchange_numbers(recipe, trainer, head):
    run = trainer(recipe(head, device="cuda", max_steps=23, validate_every=23, renumber_every=8))
    words = torch.arange(numbered_bits(run.model.head).code.vocab_size)
    before = numbered_bits(run.model.head).code.numbers(words)
    run.run()
    assert run._recorded._recordings
    assert not numbered_bits(run.model.head).code.numbers(words).equal(before)


@pytest.mark.gpu
@on_gpu
def test_chance_is_drawn_anew(recipe, trainer):
    """The same batch again and again, with weights that hardly move: dropout makes every loss another."""
    run = trainer(recipe(dropout=0.5, device="cuda", learning_rate=1e-12))
    batch = run.feed.prepared(next(run.feed.after(0)))
    losses = [float(run._train_on(run.model, batch)[0]) for _ in range(12)]
    assert len(np.unique(losses)) == len(losses)
    run.step = 6
    assert float(run._train_on(run.model, batch)[0]) == pytest.approx(losses[6], rel=1e-5)

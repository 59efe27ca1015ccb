"""A head that shares the decoder's word vectors: trained, saved, gone on with and averaged, they stay the same."""

import pytest
import torch
from safetensors.torch import load_file

from trellex.training import checkpoint
from trellex.training.average import make_average
from trellex.training.loading import load_checkpoint

TIED = {"type": "softmax", "tied": True}


def is_tied(model):
    """Whether the head reads the very numbers that the decoder does."""
    own, shared = model.network.embedding.weight, model.head.linear.vectors
    return own is shared and own.data_ptr() == shared.data_ptr()


def test_loss_falls_from_that_of_equal_chances(recipe, trainer):
    run = trainer(recipe(TIED, dropout=0, max_steps=60, validate_every=20, learning_rate=0.01))
    rows = next(run.feed.after(0))
    source, lengths, target_in, target_out = run.feed.tensors(rows)

    def loss():
        with torch.no_grad():
            losses = run.model(source, lengths, target_in, target_out)
        return float(losses.sum() / (target_out >= 0).sum())

    first, before = loss(), run.model.head.linear.vectors.detach().clone()
    assert first == pytest.approx(torch.tensor(run.model.head.vocab_size).log().item(), abs=0.2)
    run.run()
    assert loss() < 0.8 * first
    assert is_tied(run.model)
    assert not torch.equal(run.model.head.linear.vectors, before)


def test_a_run_in_two_pieces_ends_as_one(recipe, trainer):
    for output, pieces in (("pieces", (7, 12)), ("whole", (12,))):
        for max_steps in pieces:
            run = trainer(recipe(TIED, output, max_steps=max_steps))
            run.run()
            assert is_tied(run.model)
    folders = [checkpoint.step_folder(recipe(TIED, output).output, 12) for output in ("pieces", "whole")]
    for name in ("model", "optimizer"):
        mine, theirs = (load_file(folder / f"{name}.safetensors") for folder in folders)
        assert mine.keys() == theirs.keys()
        assert all(torch.equal(mine[key], theirs[key]) for key in mine)
    saved = {key for key in load_file(folders[0] / "model.safetensors") if key.startswith("head.")}
    assert saved == {"head.linear.project.weight", "head.linear.bias"}


def test_checkpoints_and_averages_share_when_loaded(recipe, trainer):
    settings = recipe(TIED)
    run = trainer(settings)
    run.run()
    steps = [checkpoint.step_folder(settings.output, step) for step in (9, 12)]
    make_average(steps, settings.output / "average", None)
    for folder in (*steps, settings.output / "average"):
        model = load_checkpoint(folder).model
        saved = load_file(folder / "model.safetensors")["network.decoder.embedding.weight"]
        assert is_tied(model)
        assert torch.equal(model.head.linear.vectors, saved)

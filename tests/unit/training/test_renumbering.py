"""Words exchange their numbers: by the best assignment of all, with just the gain that the loss shows, and so again."""

import time
from itertools import islice, permutations
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from trellex.codes import HuffmanCode, load_code
from trellex.training import checkpoint, renumbering
from trellex.training import trainer as training_loop
from trellex.training.metrics import Metrics
from trellex.training.recipe import Recipe
from trellex.training.renumbering import exchanged, redundant_bits, renumbered
from trellex.trellis import CompleteCode, ConvolutionalCode

HEADS = [
    {"type": "binary-ec", "loss": "trellis"},
    {"type": "binary-ec", "generators": "complete", "memory": 3, "code": "random"},
    {"type": "hybrid-4-ec", "loss": "trellis"},
]


def bits_by(ecc, count):
    return lambda numbers: ecc.encode((numbers[:, None] >> np.arange(count)) & 1)


class TestExchanged:
    @pytest.mark.parametrize("ecc", [ConvolutionalCode(("101", "111")), CompleteCode(2)], ids=str)
    @pytest.mark.parametrize("size", [2, 3, 5, 6])
    def test_no_other_assignment_is_better(self, ecc, size):
        random, bits_of = np.random.default_rng(size), bits_by(ecc, 3)
        sums, numbers = random.normal(size=(size, ecc.length(3))), random.permutation(size)
        found, gain = exchanged(numbers, sums, bits_of, random)

        def total(assignment):
            return (sums * bits_of(np.array(assignment))).sum()

        assert sorted(found) == list(range(size))
        assert total(found) == pytest.approx(max(map(total, permutations(range(size)))))
        assert gain == pytest.approx(total(found) - total(numbers))

    def test_within_blocks(self, monkeypatch):
        monkeypatch.setattr(renumbering, "BLOCK", 7)
        ecc, random = CompleteCode(3), np.random.default_rng(1)
        sums, numbers = random.normal(size=(40, ecc.length(6))), np.arange(40)
        found, gain = exchanged(numbers, sums, bits_by(ecc, 6), random)
        assert sorted(found) == list(range(40))
        assert gain > 0
        assert np.array_equal(numbers, np.arange(40))

    def test_round_after_round_other_words_meet(self, monkeypatch):
        monkeypatch.setattr(renumbering, "BLOCK", 7)
        ecc, random = CompleteCode(3), np.random.default_rng(1)
        sums, seen = random.normal(size=(40, ecc.length(6))), []

        def watched(blocks):
            for block in blocks:
                seen.append(block)
                yield block

        exchanged(np.arange(40), sums, bits_by(ecc, 6), random, watched)
        rounds = [np.concatenate(seen[first : first + 6]) for first in range(0, len(seen), 6)]
        assert len(rounds) == renumbering.ROUNDS > 1
        assert all(sorted(order) == list(range(40)) for order in rounds)
        assert len({order.tobytes() for order in rounds}) == len(rounds)

    def test_blocks_may_end_early(self, monkeypatch):
        monkeypatch.setattr(renumbering, "BLOCK", 7)
        ecc, random = CompleteCode(3), np.random.default_rng(1)
        sums = random.normal(size=(40, ecc.length(6)))
        found, gain = exchanged(np.arange(40), sums, bits_by(ecc, 6), random, lambda blocks: islice(blocks, 1))
        assert 0 < (found != np.arange(40)).sum() <= 7
        assert sorted(found) == list(range(40))
        assert gain == pytest.approx((sums * (bits_by(ecc, 6)(found) - bits_by(ecc, 6)(np.arange(40)))).sum())

    def test_words_of_which_nothing_is_known_keep_their_numbers(self):
        ecc, random = ConvolutionalCode(), np.random.default_rng(0)
        numbers, sums = random.permutation(9), random.normal(size=(9, ecc.length(4)))
        sums[[2, 5, 8]] = 0
        found, gain = exchanged(numbers, sums, bits_by(ecc, 4), random)
        assert sorted(found) == list(range(9))
        assert found[[2, 5, 8]].tolist() == numbers[[2, 5, 8]].tolist()
        assert gain > 0
        found, gain = exchanged(numbers, 0 * sums, bits_by(ecc, 4), random)
        assert (found.tolist(), gain) == (numbers.tolist(), 0)


@pytest.mark.parametrize("head", HEADS, ids=str)
def test_the_loss_falls_by_the_gain(recipe, trainer, head):
    run = trainer(recipe(head=head, dropout=0, max_steps=5))
    run.run()
    model, batches = run.model.eval(), [run.feed.tensors(rows) for rows in run.feed.epoch(0)]

    def loss():
        part, found, tokens = model.head.bits, 0.0, 0
        first = model.head.vocab_size - part.code.vocab_size
        for source, lengths, read, target in batches:
            h, words = model.network(source, lengths, read)[target >= first], target[target >= first]
            logits, numbers = part.outputs(h)[0][:, 0].double(), part.code.numbers(words - first)
            scores = (logits * torch.from_numpy(redundant_bits(part, numbers.numpy()))).sum(-1)
            torch.testing.assert_close(part.scores(logits[:, None], words)[:, 0], scores)
            found, tokens = found - float(scores.sum()), tokens + len(words)
        return found / tokens

    with torch.no_grad():
        before, (code, moved, gain) = loss(), renumbered(model, batches, np.random.default_rng(0))
        changed = code.numbers(np.arange(code.vocab_size)) != model.head.code.numbers(np.arange(code.vocab_size))
        model.renumber(code)
        assert loss() == pytest.approx(before - gain, rel=1e-4)
    assert gain > 0
    assert moved == changed.sum() > 0
    assert model.head.code == code
    every = torch.arange(model.head.vocab_size)
    h = torch.randn(3, 8).repeat_interleave(len(every), 0)
    assert model.head.log_prob(h, every.repeat(3)).exp().view(3, -1).sum(-1).tolist() == pytest.approx(
        [1] * 3, rel=1e-4
    )


@pytest.mark.parametrize("head", HEADS, ids=str)
def test_a_run_that_was_interrupted_ends_with_the_same_weights_and_numbers(recipe, trainer, head):
    whole, broken = (recipe(head=head, output=name, max_steps=12, renumber_every=4) for name in ("whole", "broken"))
    trainer(whole).run()
    for last in (3, 6, 8, 12):
        trainer(recipe(head=head, output="broken", max_steps=last, renumber_every=4)).run()
    mine, theirs = (checkpoint.step_folder(run.output, 12) for run in (whole, broken))
    assert load_code(mine / "code.json") == load_code(theirs / "code.json")
    weights, others = (load_file(folder / "model.safetensors") for folder in (mine, theirs))
    assert all(torch.equal(weights[name], others[name]) for name in weights)
    first = trainer(recipe(head=head, output="none", max_steps=1)).model.head.code
    assert load_code(mine / "code.json") != first


@pytest.mark.parametrize("during", ["batches", "blocks"])
def test_an_exchange_that_is_interrupted_is_made_when_the_run_goes_on(recipe, trainer, monkeypatch, during):
    whole, broken = (recipe(head=HEADS[0], output=name, max_steps=6, renumber_every=4) for name in ("whole", "broken"))
    trainer(whole).run()
    run, seen = trainer(broken), {"batches": 0, "blocks": 0}

    def interrupted(model, batches, random, watched):
        def watch(steps):
            for step in watched(steps):
                kind = "blocks" if isinstance(step, np.ndarray) else "batches"
                seen[kind] += 1
                run._interruption.came |= kind == during
                yield step

        return renumbered(model, batches, random, watch)

    with monkeypatch.context() as patch:
        patch.setattr(training_loop, "renumbered", interrupted)
        run.run()
    assert seen[during] == 1
    assert seen["blocks"] == (during == "blocks")
    assert checkpoint.newest_checkpoint(broken.output).name == checkpoint.step_folder(broken.output, 4).name
    trainer(broken).run()
    mine, theirs = (checkpoint.step_folder(each.output, 6) for each in (whole, broken))
    assert load_code(mine / "code.json") == load_code(theirs / "code.json")
    weights, others = (load_file(folder / "model.safetensors") for folder in (mine, theirs))
    assert all(torch.equal(weights[name], others[name]) for name in weights)


def test_an_exchange_counts_as_time_of_training(recipe, trainer, monkeypatch):
    clock, passed = time.perf_counter, [0]

    def slow(*arguments, **options):
        passed[0] += 1000
        return renumbered(*arguments, **options)

    monkeypatch.setattr("trellex.training.meter.time", SimpleNamespace(perf_counter=lambda: clock() + passed[0]))
    monkeypatch.setattr(training_loop, "renumbered", slow)
    run = trainer(recipe(head=HEADS[0], max_steps=8, renumber_every=4))
    run.run()
    assert Metrics.read(run.recipe.output).seconds > 1000


def test_weights_have_followed_the_numbers_that_are_evaluated(recipe, trainer):
    run = trainer(recipe(head=HEADS[0], max_steps=4, renumber_every=4))
    first = run.model.head.code
    run.run()
    assert run.model.head.code == first == load_code(checkpoint.step_folder(run.recipe.output, 4) / "code.json")
    longer = trainer(recipe(head=HEADS[0], max_steps=5, renumber_every=4))
    longer.run()
    assert longer.model.head.code != first


@pytest.mark.parametrize(
    ("head", "training", "message"),
    [
        ("softmax", {}, "words of softmax have no numbers to exchange"),
        ("binary-ec", {}, "words of binary-ec .* have no numbers to exchange"),
        ({"type": "binary-ec", "mixtures": 2}, {}, "choose codes with loss: trellis and one set of bits"),
        ({"type": "binary-ec", "loss": "trellis", "code": "huffman"}, {}, "have no numbers to exchange"),
        ({"type": "hybrid-4-ec", "loss": "trellis", "numbering": "paper"}, {}, "have no numbers to exchange"),
        ("shelves", {}, "words of shelves have no numbers to exchange"),
        (
            {"type": "binary-ec", "loss": "trellis"},
            {"average": 2},
            "with other numbers have no mean",
        ),
        ({"type": "binary-ec", "loss": "trellis"}, {"renumber_every": 0}, "greater than or equal to 1"),
    ],
)
def test_what_cannot_be_renumbered_is_refused(head, training, message):
    with pytest.raises(ValueError, match=message):
        Recipe(data="data", output="run", head=head, training={"renumber_every": 5} | training)


@pytest.mark.parametrize("head", ["binary-ec", "hybrid-4-ec"])
def test_so_is_a_code_with_gaps_that_a_file_holds_before_the_first_step(recipe, trainer, head, tmp_path):
    words = 23 if head == "binary-ec" else 20
    HuffmanCode(range(1, words + 1)).save(tmp_path / "gaps.json")
    chosen = {"type": head, "loss": "trellis", "code": {"file": str(tmp_path / "gaps.json")}}
    with pytest.raises(ValueError, match=r"^training.renumber_every: .* no numbers without gaps, .*; make it null, or"):
        trainer(recipe(head=chosen, renumber_every=3))
    assert trainer(recipe(head=chosen, output="other"))

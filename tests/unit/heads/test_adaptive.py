"""Adaptive softmax where it is hard: ties, logits without bounds, the smallest vocabularies, and what it may read."""

import numpy as np
import pytest
import torch
from by_hand import ADAPTIVE, H, all_log_probs, hidden_states, name_of, random_head
from test_cost import LargestTensor
from test_hierarchical import check_topk

from trellex.heads import build_head

each = pytest.mark.parametrize("spec", ADAPTIVE, ids=name_of)


class TestTopk:
    @each
    @pytest.mark.parametrize("vocab", [2, 3, 31, 32, 33])
    @pytest.mark.parametrize("scale", [0, 0.1, 30, 1e6])
    def test_is_enumeration(self, spec, vocab, scale):
        check_topk(random_head(spec, vocab, scale), hidden_states(6), (1, 2, 5, vocab, vocab + 3))

    @each
    def test_is_the_same_again_and_alone(self, spec):
        head, h = random_head(spec, 200, dtype=torch.float32), hidden_states(40).float()
        words, log_probs = head.topk(h, 4)
        assert all(torch.equal(*pair) for pair in zip(head.topk(h, 4), (words, log_probs), strict=True))
        assert torch.equal(torch.cat([head.topk(row[None], 4)[0] for row in h]), words)

    @each
    def test_of_no_rows(self, spec):
        head, h = random_head(spec, 50), hidden_states(0)
        none = torch.zeros(0, dtype=torch.int64)
        assert [found.shape for found in head.topk(h, 3)] == [(0, 3), (0, 3)]
        assert head.loss(h, none).shape == head.log_prob(h, none).shape == head.best(h).shape == (0,)
        assert head.sample(h).shape == head.sample(h, 0.5).shape == (0,)


class TestTails:
    @staticmethod
    def head_with_tails_of(log_odds):
        """Two tails whose markers have these logits, among 10 frequent words, of which two have the logit 1."""
        head = random_head({"type": "adaptive", "cutoffs": [10, 60], "div_value": 2.0}, 500)
        with torch.no_grad():
            head.layer.head.weight.zero_()
            head.layer.head.bias.copy_(torch.tensor([1.0, 1.0, *[0.0] * 8, *log_odds]))
        return head

    @pytest.mark.parametrize(
        ("log_odds", "k", "entered"),
        [((0.9, 0.9), 1, []), ((0.9, 0.9), 2, []), ((0.9, -1), 3, [0]), ((-1, 5), 1, [1]), ((5, 5), 2, [0, 1])],
    )
    def test_are_entered_where_they_matter(self, monkeypatch, log_odds, k, entered):
        head, h, found = self.head_with_tails_of(log_odds), hidden_states(4), []
        check_topk(head, h, [k])
        logits = head._tail_logits
        monkeypatch.setattr(head, "_tail_logits", lambda h, tail: found.append(tail) or logits(h, tail))
        head.topk(h, k)
        assert found == entered

    def test_are_entered_by_the_rows_in_which_they_matter(self, monkeypatch):
        head, h, found = self.head_with_tails_of((0, 0)), hidden_states(30), []
        with torch.no_grad():
            head.layer.head.weight[10, 0] = 10.0  # the first tail, where the first unit is high
        logits = head._tail_logits
        monkeypatch.setattr(head, "_tail_logits", lambda h, tail: found.append((len(h), tail)) or logits(h, tail))
        head.best(h)
        assert found == [(int((10 * h[:, 0] > 1).sum()), 0)]

    def test_that_are_not_entered_take_no_memory(self):
        vocab = 1 << 17
        head = build_head({"type": "adaptive", "cutoffs": [100, 1000], "div_value": 2.0}, hidden_size=H, vocab=vocab)
        with torch.no_grad():
            head.layer.head.bias[:2] = 9
        h = hidden_states(4).float()
        with LargestTensor() as largest:
            for k in (1, 2):
                head.topk(h, k)
            for words in (torch.arange(4), torch.tensor([3, 99, 100, 999])):
                head.log_prob(h, words)
                head.loss(h, words)
        assert largest.size < vocab / 16

    def test_tempered_words_are_drawn_some_rows_at_a_time(self, monkeypatch):
        head, h = random_head(ADAPTIVE[0], 50), hidden_states(20)
        monkeypatch.setattr("trellex.heads.adaptive_distribution.MOST_SCORES", 150)
        assert torch.equal(head.sample(h, 1e-3), head.best(h))


class TestSizes:
    @pytest.mark.parametrize(
        ("vocab", "hidden", "options", "cutoffs"),
        [
            (65536, 512, {}, [2048, 8192, 32768]),
            (65536, 512, {"cutoffs": [2000, 10000]}, [2000, 10000]),
            (50, 16, {}, [1, 6]),
            (50, 4, {}, [1]),
            (2, 64, {}, [1]),
            (3, 64, {}, [1]),
            (9, 64, {}, [1, 4]),
        ],
    )
    def test_of_tails(self, vocab, hidden, options, cutoffs):
        with torch.device("meta"):
            head = build_head({"type": "adaptive", **options}, hidden_size=hidden, vocab=vocab)
        assert head.first_of_tails == cutoffs
        assert head.layer.cutoffs == [*cutoffs, vocab]
        assert sum(head.tail_sizes) + cutoffs[0] == vocab

    @pytest.mark.parametrize(
        ("options", "hidden", "vocab", "message"),
        [
            ({"cutoffs": [10, 50]}, 64, 50, "^cutoffs: expected words of 50, .* got 50; choose smaller ones, or leave"),
            (
                {"cutoffs": [1, 2, 3]},
                16,
                50,
                "^div_value: 4 leaves no width to tail 3 of hidden_size 16; choose",
            ),
            ({}, 3, 50, "^div_value: 4 leaves no width to tail 1 of hidden_size 3; choose a smaller one, or fewer"),
            ({}, 64, 1, "^vocab: adaptive needs at least 2 words, got 1; use more, or softmax"),
        ],
        ids=str,
    )
    def test_that_cannot_be(self, options, hidden, vocab, message):
        with pytest.raises(ValueError, match=message):
            build_head({"type": "adaptive", **options}, hidden_size=hidden, vocab=vocab)


@pytest.mark.parametrize("kind", [torch.bfloat16, torch.float32], ids=str)
def test_under_autocast_the_loss_is_in_single_precision(kind):
    head, words = random_head(ADAPTIVE[0], 50, dtype=torch.float32), torch.arange(50)
    h = hidden_states(50).to(kind).requires_grad_()
    with torch.autocast("cpu", torch.bfloat16):
        losses = head.loss(h, words)
    losses.sum().backward()
    assert losses.dtype == torch.float32
    torch.testing.assert_close(losses, head.loss(h.float(), words))


def test_the_loss_is_that_of_pytorchs_layer():
    head, h, words = random_head(ADAPTIVE[0], 50), hidden_states(50), torch.arange(50)
    torch.testing.assert_close(head.loss(h, words).mean(), head.layer(h, words).loss)
    np.testing.assert_allclose(all_log_probs(head, h[:3]), head.layer.log_prob(h[:3]).detach(), rtol=1e-10)

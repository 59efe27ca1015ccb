"""Forced scoring against sums by hand and against the losses of training."""

import numpy as np
import pytest
import torch
from networks import MIXTURE, network
from tabular import Table

from trellex.nmt.model import target_pair
from trellex.search import score
from trellex.text.batches import flat, pad
from trellex.text.vocabulary import BOS, EOS

SOURCES = [np.array([5, 9, 3]), np.array([7]), np.array([7]), np.array([20, 4])]
TARGETS = [np.array([3, 4, 4]), np.array([], int), np.array([0, 3, 1, 4, 3, 0]), np.array([4])]


class TestTables:
    def test_the_sum_by_hand(self):
        model = Table(0, 5)
        for source, target, scored in zip(SOURCES, TARGETS, score(model, SOURCES, TARGETS), strict=True):
            words = target.tolist()
            by_hand = [model.log_probs(source, words[:place])[word] for place, word in enumerate([*words, EOS])]
            assert scored.words == words
            assert scored.log_probs == by_hand
            assert scored.log_prob == pytest.approx(sum(by_hand))
            assert scored.score == pytest.approx(sum(by_hand))
            assert scored.is_finished

    def test_an_empty_translation_is_the_end_alone(self):
        model = Table(0)
        assert score(model, SOURCES[:1], [[]])[0].log_probs == [model.log_probs(SOURCES[0], ())[EOS]]

    def test_a_translation_may_be_longer_than_search_would_allow(self):
        (scored,) = score(Table(0), SOURCES[1:2], [np.full(50, 3)])
        assert scored.words == [3] * 50
        assert len(scored.log_probs) == 51

    def test_an_unlikely_translation_is_read_to_its_end(self):
        (scored,) = score(Table(0, 5, scale=100.0), SOURCES[:1], TARGETS[2:3])
        assert scored.words == TARGETS[2].tolist()
        assert scored.score < -500

    def test_an_impossible_translation_scores_minus_infinity(self):
        impossible, possible = score(Table(0, last=1), SOURCES[:2], [np.array([3, 3, 3]), np.array([3])])
        assert impossible.words == [3, 3, 3]
        assert impossible.score == -np.inf
        assert possible.score > -np.inf

    @pytest.mark.parametrize("target", [[EOS], [3, EOS], [EOS, 3], [3, EOS, 4]])
    def test_an_end_inside_is_refused(self, target):
        with pytest.raises(ValueError, match="targets: the end of a sentence may not stand inside .*; leave EOS out"):
            score(Table(0), SOURCES[:2], [np.array([3]), np.array(target)])

    def test_finished_translations_leave_the_batch(self):
        model = Table(0, 5)
        score(model, SOURCES, TARGETS)
        assert (model.steps, model.rows_read) == (6, 3 + 6 + 1)

    def test_nothing_to_score(self):
        assert score(Table(0), [], []) == []


@pytest.mark.parametrize("head", ["softmax", "binary-ec", "hybrid-9-ec", MIXTURE], ids=str)
class TestNetworks:
    def test_a_score_does_not_depend_on_the_batch(self, head):
        model = network(head)
        together = score(model, SOURCES, TARGETS)
        for source, target, scored in zip(SOURCES, TARGETS, together, strict=True):
            np.testing.assert_allclose(score(model, [source], [target])[0].log_probs, scored.log_probs, atol=1e-5)

    @pytest.mark.parametrize("input_feeding", [False, True])
    def test_negative_losses_of_training(self, head, input_feeding):
        if head != "softmax":
            head = {"loss": "trellis", **({"type": head} if isinstance(head, str) else head)}
        model = network(head, input_feeding=input_feeding)
        targets = [np.array([30, 4, 4]), np.array([], int), np.array([8, 0, BOS, 25, 9, 6]), np.array([39])]
        read, predict = map(torch.from_numpy, target_pair(*flat(targets)))
        lengths = torch.tensor([len(source) for source in SOURCES])
        losses = model(torch.from_numpy(pad(SOURCES, EOS)), lengths, read, predict)
        for scored, loss in zip(score(model, SOURCES, targets), losses, strict=True):
            np.testing.assert_allclose(scored.log_probs, -loss[: len(scored.log_probs)], rtol=1e-5, atol=1e-4)

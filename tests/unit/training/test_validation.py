"""Translations keep their order, and the paper's figure is the mean it says it is."""

from contextlib import contextmanager

import numpy as np
import pytest

from trellex.search import Hypothesis
from trellex.text import Corpus
from trellex.training.trainer import build_model
from trellex.training.validation import (
    Evaluation,
    averaged_test_bleu,
    best_evaluation,
    split_bleu,
    translate_ids,
)


def evaluations(dev, test=None):
    """One a step, the test scores 1, 2, 4, 8, … unless given."""
    test = [2.0**place for place in range(len(dev))] if test is None else test
    return [Evaluation(step, *scores) for step, scores in enumerate(zip(dev, test, strict=True), start=1)]


class TestBest:
    def test_the_highest_dev_score(self):
        assert best_evaluation(evaluations([1, 5, 3])).step == 2

    def test_the_first_of_equals(self):
        assert best_evaluation(evaluations([1, 5, 3, 5, 5])).step == 2


class TestAverage:
    @pytest.mark.parametrize(
        ("dev", "averaged"),
        [
            ([1, 2, 3, 9, 3, 2, 1, 1], [2, 3, 4, 5, 6]),  # in the middle
            ([9, 2, 3, 4, 3, 2, 1, 1], [1, 2, 3, 4, 5]),  # clamped at the start
            ([1, 9, 3, 4, 3, 2, 1, 1], [1, 2, 3, 4, 5]),
            ([1, 2, 3, 4, 3, 2, 9, 1], [4, 5, 6, 7, 8]),  # and at the end
            ([1, 2, 3, 4, 3, 2, 1, 9], [4, 5, 6, 7, 8]),
            ([0, 0, 0, 9, 0, 0, 9, 0], [2, 3, 4, 5, 6]),  # of equals the first
            ([1, 9, 1, 1, 1], [1, 2, 3, 4, 5]),
            ([1, 9, 1], [1, 2, 3]),  # fewer than 5
            ([3], [1]),
        ],
    )
    def test_five_around_the_best(self, dev, averaged):
        assert averaged_test_bleu(evaluations(dev)) == pytest.approx(np.mean([2.0 ** (x - 1) for x in averaged]))

    def test_nothing_without_test_scores(self):
        assert averaged_test_bleu(evaluations([1, 2], [None, None])) is None


class Reverser:
    """A model whose translation of a sentence is its reverse; counts the sentences of each batch."""

    def __init__(self):
        self.batches = []
        self.is_inferring = False

    @contextmanager
    def inference(self):
        self.is_inferring = True
        yield
        self.is_inferring = False

    def __call__(self, model, sources, scores, length_penalty):
        assert model is self
        assert self.is_inferring
        self.batches.append(len(sources))
        return [Hypothesis([int(word) for word in source[::-1]], [], 0.0) for source in sources]


class TestTranslate:
    def test_order_is_kept_and_empty_stays_empty(self, monkeypatch):
        model = Reverser()
        monkeypatch.setattr("trellex.search.settings.greedy", model)
        sources = [np.arange(3, 3 + length) for length in (4, 0, 1, 7, 0, 2, 3)]
        assert translate_ids(model, sources, batch_tokens=8) == [source[::-1].tolist() for source in sources]
        assert model.batches == [1, 2, 2]
        assert not model.is_inferring

    def test_a_model_in_training_goes_on_training(self, recipe, data):
        corpus = Corpus.open(data)
        model = build_model(recipe(dropout=0.5), corpus).train()
        sources = [corpus.split("dev").source(row) for row in range(8)]
        assert translate_ids(model, sources) == translate_ids(model, sources)
        assert model.training

    def test_nothing_to_translate(self, recipe, data):
        model = build_model(recipe(), Corpus.open(data))
        assert translate_ids(model, []) == []
        assert translate_ids(model, [np.array([], np.int64)]) == [[]]

    @pytest.mark.parametrize("head", ["softmax", "binary", "binary-ec", "hybrid-4", "hybrid-4-ec"])
    def test_batches_do_not_change_translations(self, recipe, data, head):
        corpus = Corpus.open(data)
        model = build_model(recipe(head), corpus)
        sources = [corpus.split("dev").source(row) for row in range(8)]
        assert translate_ids(model, sources, batch_tokens=1) == translate_ids(model, sources, batch_tokens=8)


class TestSplit:
    def test_perfect_translations_score_100_and_case_is_ignored(self, recipe, data, monkeypatch):
        corpus = Corpus.open(data)
        dev = corpus.split("dev")
        model = Reverser()
        monkeypatch.setattr(
            "trellex.training.validation.translate_ids",
            lambda model, sources, how: [dev.target(row).tolist() for row in range(len(dev))],
        )
        assert split_bleu(model, dev, corpus.target_vocabulary) == pytest.approx(100)
        monkeypatch.setattr(
            corpus.target_vocabulary, "words", [word.lower() for word in corpus.target_vocabulary.words]
        )
        assert split_bleu(model, dev, corpus.target_vocabulary) == pytest.approx(100)

"""Translations keep their order, and a split is scored by them."""

from contextlib import contextmanager

import numpy as np
import pytest

from trellex.nmt.build import build_model
from trellex.search import Hypothesis
from trellex.text import Corpus
from trellex.training.validation import split_bleu, translate_ids


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

    def __call__(self, model, sources, scores, length_penalty, attention):
        assert model is self
        assert self.is_inferring
        self.batches.append(len(sources))
        return [Hypothesis([int(word) for word in source[::-1]], [], 0.0) for source in sources]


def model_of(recipe, corpus):
    return build_model(recipe.model, recipe.head, len(corpus.source_vocabulary), corpus.target_vocabulary)


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
        model = model_of(recipe(dropout=0.5), corpus).train()
        sources = [corpus.split("dev").source(row) for row in range(8)]
        assert translate_ids(model, sources) == translate_ids(model, sources)
        assert model.training

    def test_nothing_to_translate(self, recipe, data):
        model = model_of(recipe(), Corpus.open(data))
        assert translate_ids(model, []) == []
        assert translate_ids(model, [np.array([], np.int64)]) == [[]]

    @pytest.mark.parametrize("head", ["softmax", "binary", "binary-ec", "hybrid-4", "hybrid-4-ec"])
    def test_batches_do_not_change_translations(self, recipe, data, head):
        corpus = Corpus.open(data)
        model = model_of(recipe(head), corpus)
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
        assert split_bleu(model, corpus, "dev") == pytest.approx(100)
        monkeypatch.setattr(
            corpus.target_vocabulary, "words", [word.lower() for word in corpus.target_vocabulary.words]
        )
        assert split_bleu(model, corpus, "dev") == pytest.approx(100)

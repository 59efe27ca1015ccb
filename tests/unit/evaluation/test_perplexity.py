"""Perplexity against log-probabilities that are added up word by word."""

import math

import numpy as np
import pytest
import torch
from splits import SIZE, Pairs
from torch import nn

from trellex.evaluation.perplexity import perplexity, split_perplexity
from trellex.search import score
from trellex.text.vocabulary import EOS


def by_hand(model, pairs):
    """One sentence and one word at a time, from the log-probabilities of all words."""
    log_probs, everything = [], torch.arange(SIZE)
    with model.inference():
        for source, target in zip(pairs.sources, pairs.targets, strict=True):
            state = model.start([source])
            for word in [*target.tolist(), EOS]:
                of_all = model.head.log_prob(state.hidden.expand(SIZE, -1), everything)
                assert of_all.exp().sum() == pytest.approx(1, rel=1e-5)
                log_probs.append(of_all[word].item())
                state = model.step(state, np.array([word]))
    return math.exp(-sum(log_probs) / len(log_probs))


HEADS = [
    "softmax",
    {"type": "softmax", "tied": True},
    "binary-ec",
    {"type": "binary-ec", "decoding": "paper"},
    {"type": "binary-ec", "generators": "complete", "memory": 3},
    "hybrid-9-ec",
    {"type": "shelves", "words": 4, "visit": 2, "memory": 3, "code": "random"},
]


@pytest.mark.parametrize("head", HEADS, ids=str)
class TestSplit:
    @pytest.mark.parametrize("input_feeding", [False, True])
    def test_word_by_word(self, model_of, pairs, head, input_feeding):
        model = model_of(head, input_feeding=input_feeding)
        found = split_perplexity(model, pairs)
        assert found == pytest.approx(by_hand(model, pairs), rel=1e-4)
        assert found > 1

    def test_as_forced_scoring_has_it(self, model_of, pairs, head):
        model = model_of(head)
        with model.inference():
            scored = score(model, pairs.sources, pairs.targets)
        log_probs = [each for hypothesis in scored for each in hypothesis.log_probs]
        assert split_perplexity(model, pairs) == pytest.approx(perplexity(sum(log_probs), len(log_probs)), rel=1e-4)

    @pytest.mark.parametrize("batch_tokens", [1, 7])
    def test_batches_change_nothing(self, model_of, pairs, head, batch_tokens):
        model = model_of(head)
        assert split_perplexity(model, pairs, batch_tokens) == pytest.approx(split_perplexity(model, pairs), rel=1e-4)


def test_of_a_model_without_preference_it_is_the_size_of_the_vocabulary(model_of, pairs):
    model = model_of("softmax")
    nn.init.zeros_(model.head.linear.weight)
    nn.init.zeros_(model.head.linear.bias)
    assert split_perplexity(model, pairs) == pytest.approx(SIZE)


def test_a_model_in_training_drops_nothing_out_and_stays_in_training(model_of, pairs):
    model = model_of("softmax")
    expected = split_perplexity(model, pairs)
    assert split_perplexity(model.train(), pairs) == expected
    assert model.training


def test_pairs_with_an_empty_source_are_left_out(model_of, pairs):
    model, empty = model_of("binary-ec"), np.zeros(0, np.int64)
    more = Pairs([empty, *pairs.sources], [np.full(3, 7), *pairs.targets])
    assert split_perplexity(model, more) == split_perplexity(model, pairs)
    assert split_perplexity(model, Pairs([empty], [np.full(3, 7)])) is None


def test_a_hopeless_model_has_one_all_the_same():
    assert perplexity(-1e6, 3) == math.exp(700)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("head", HEADS, ids=str)
def test_a_gpu_finds_what_a_cpu_does(model_of, pairs, head):
    model = model_of(head).double()
    on_cpu = split_perplexity(model, pairs)
    assert split_perplexity(model.cuda(), pairs) == pytest.approx(on_cpu, rel=1e-6)

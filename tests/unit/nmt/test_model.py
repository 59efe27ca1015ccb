"""A network and a head together: losses, words in numpy, samples and the modes of torch."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from tiny import HEADS, SOURCE_SIZE, SOURCES, TARGET_SIZE, TARGETS, losses, source_tensors, tiny_model

from trellex.heads import build_head
from trellex.nmt.lstm.network import LSTMNetwork
from trellex.nmt.model import PADDING, TranslationModel, target_pair
from trellex.nmt.settings import ModelSettings
from trellex.text.batches import flat
from trellex.text.vocabulary import BOS, EOS


class TestLosses:
    @pytest.mark.parametrize("head", HEADS, ids=str)
    def test_shape_and_padding(self, head, input_feeding):
        values = losses(tiny_model(head, input_feeding), SOURCES, TARGETS)
        assert values.shape == (4, 7)
        lengths = np.array([len(target) + 1 for target in TARGETS])
        assert np.array_equal(values.detach().numpy() != 0, np.arange(7) < lengths[:, None])

    @pytest.mark.parametrize("head", HEADS, ids=str)
    def test_a_sentence_does_not_depend_on_its_batch(self, head, input_feeding):
        model = tiny_model(head, input_feeding)
        together = losses(model, SOURCES, TARGETS)
        for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
            alone = losses(model, [source], [target])[0]
            torch.testing.assert_close(together[row, : len(alone)], alone, rtol=0, atol=1e-12)


class TestSteps:
    def test_a_word_at_a_time_gives_the_hidden_states_of_training(self, input_feeding):
        model = tiny_model(input_feeding=input_feeding)
        read, _ = target_pair(*flat(TARGETS))
        expected = model.network(*source_tensors(SOURCES), torch.from_numpy(read))
        state = model.start(SOURCES)
        assert (read[:, 0] == BOS).all()
        for place in range(read.shape[1]):
            if place:
                state = model.step(state, read[:, place])
            assert state.hidden.shape == (4, 4)
            torch.testing.assert_close(state.hidden, expected[:, place], rtol=0, atol=1e-12)

    def test_rows_can_be_dropped_repeated_and_reordered(self, input_feeding):
        model = tiny_model(input_feeding=input_feeding)
        rows, words = np.array([2, 0, 0]), np.array([9, 3, 30])
        start = model.start(SOURCES)
        chosen = start.select(rows)
        for whole, part in zip((*start.network, start.hidden), (*chosen.network, chosen.hidden), strict=True):
            assert torch.equal(part, whole[torch.from_numpy(rows)])
        after = model.step(chosen, words)
        for row, word, hidden in zip(rows, words, after.hidden, strict=True):
            alone = model.step(model.start([SOURCES[row]]), np.array([word]))
            torch.testing.assert_close(alone.hidden[0], hidden, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("head", HEADS, ids=str)
    def test_topk_is_the_head_s_in_numpy(self, head):
        model = tiny_model(head)
        with torch.inference_mode():
            state = model.start(SOURCES)
            words, log_probs = model.topk(state, 3)
            expected_words, expected_log_probs = model.head.topk(state.hidden, 3)
        assert (words.dtype, log_probs.dtype) == (np.int64, np.float32)
        assert np.array_equal(words, expected_words)
        np.testing.assert_allclose(log_probs, expected_log_probs, rtol=1e-6)

    @pytest.mark.parametrize("head", HEADS, ids=str)
    def test_log_prob_is_the_head_s_in_numpy(self, head):
        model, words = tiny_model(head), np.array([30, EOS, 0, 9])
        with torch.inference_mode():
            state = model.start(SOURCES)
            log_probs = model.log_prob(state, words)
            expected = model.head.log_prob(state.hidden, torch.from_numpy(words))
        assert log_probs.dtype == np.float32
        np.testing.assert_allclose(log_probs, expected, rtol=1e-6)

    @pytest.mark.parametrize("head", HEADS, ids=str)
    def test_the_best_words_have_the_log_probs_of_forced_ones(self, head):
        model = tiny_model(head)
        with torch.inference_mode():
            state = model.start(SOURCES)
            words, log_probs = model.topk(state, 3)
            for column in range(3):
                np.testing.assert_allclose(model.log_prob(state, words[:, column]), log_probs[:, column], rtol=1e-5)


def test_rows_that_change_places_within_their_sentences_leave_the_sources_where_they_are(input_feeding):
    model = tiny_model(input_feeding=input_feeding)
    with model.inference():
        beams = model.step(model.start(SOURCES).select(np.repeat(np.arange(4), 2)), np.arange(3, 11))
        for rows in ([1, 0, 3, 3, 4, 4, 6, 7], [1, 0, 2, 4, 5, 5, 6, 7]):
            chosen = beams.select(np.array(rows))
            stays = (np.array(rows) // 2 == np.arange(8) // 2).all()
            assert (chosen.network.keys is beams.network.keys) == stays
            for values, before in zip(chosen.network, beams.network, strict=True):
                assert torch.equal(values, before[rows])
            assert chosen.sentence.tolist() == [row // 2 for row in rows]


class TestAttention:
    def test_by_hand(self, input_feeding):
        model = tiny_model(input_feeding=input_feeding)
        with model.inference():
            state = model.step(model.start(SOURCES, attention=True), np.array([5, 6, 7, 8]))
        layer, (h, _, _, _, keys, mask) = model.network.decoder.attention, state.network
        with torch.inference_mode():
            scores = torch.tanh(layer.query(h)[:, None] + keys) @ layer.energy.weight[0]
        for row, source in enumerate(SOURCES):
            shares = np.exp(scores[row, : len(source)].numpy())
            expected = np.pad(shares / shares.sum(), (0, 7 - len(source)))
            np.testing.assert_allclose(state.attention[row], expected, atol=1e-6)
        assert np.array_equal(mask, np.arange(7) < np.array([[len(source)] for source in SOURCES]))

    def test_is_what_the_hidden_state_was_made_of(self, input_feeding):
        model = tiny_model(input_feeding=input_feeding)
        with model.inference():
            state = model.start(SOURCES, attention=True)
            context = torch.from_numpy(state.attention).double()[:, None] @ state.network.states
            joined = torch.cat([context[:, 0], state.network.h], -1)
            torch.testing.assert_close(
                torch.tanh(model.network.decoder.combine(joined)), state.hidden, atol=1e-6, rtol=0
            )


class TestSamples:
    COUNT = 20000

    @pytest.mark.parametrize("temperature", [1.0, 0.5])
    @pytest.mark.parametrize("head", HEADS[:5], ids=str)
    def test_frequencies(self, head, temperature):
        model = tiny_model(head)
        with torch.inference_mode():
            state = model.start(SOURCES[:1]).select(np.zeros(self.COUNT, int))
            words = model.sample(state, temperature, np.random.default_rng(0))
            every = np.arange(TARGET_SIZE)
            log_probs = model.log_prob(state.select(every), every).astype(np.float64)
        assert (words.dtype, words.shape) == (np.int64, (self.COUNT,))
        expected = np.exp(log_probs / temperature)
        expected *= self.COUNT / expected.sum()
        counts, rare = np.bincount(words, minlength=TARGET_SIZE), expected <= max(10, expected.min())
        groups = [[*values[~rare], values[rare].sum()] for values in (counts, expected)]
        assert chisquare(*groups).pvalue > 0.01

    @pytest.mark.parametrize("head", HEADS, ids=str)
    def test_the_random_numbers_decide(self, head):
        model = tiny_model(head)
        with torch.inference_mode():
            state = model.start(SOURCES).select(np.repeat(np.arange(4), 10))
            random = np.random.default_rng(0)
            torch.manual_seed(0)
            first, second = (model.sample(state, 1.0, random) for _ in range(2))
            torch.manual_seed(1)
            again = model.sample(state, 1.0, np.random.default_rng(0))
        assert np.array_equal(first, again)
        assert not np.array_equal(first, second)

    def test_torch_s_own_random_numbers_stay_untouched(self):
        model = tiny_model()
        before = torch.random.get_rng_state()
        with torch.inference_mode():
            model.sample(model.start(SOURCES), 1.0, np.random.default_rng(0))
        assert torch.equal(torch.random.get_rng_state(), before)


class TestInference:
    @pytest.mark.parametrize("training", [True, False])
    def test_the_mode_before_comes_back(self, training):
        model = tiny_model().train(training)
        with model.inference():
            assert not any(module.training for module in model.modules())
        assert all(module.training == training for module in model.modules())

    def test_also_after_an_error(self):
        model = tiny_model().train()
        with pytest.raises(KeyError), model.inference():
            raise KeyError
        assert model.training
        assert not torch.is_inference_mode_enabled()

    def test_without_dropout_and_gradients(self):
        model = tiny_model(dropout=0.5).train()
        with model.inference():
            one, other = model.start(SOURCES).hidden, model.start(SOURCES).hidden
        assert torch.equal(one, other)
        assert not one.requires_grad
        assert losses(model, SOURCES, TARGETS).requires_grad


@pytest.mark.parametrize("option", [{"reduction": "mean"}, {"ignore_index": 0}])
def test_a_head_that_would_not_give_a_loss_a_word_is_refused(option):
    head = build_head({"type": "binary", **option}, hidden_size=4, vocab=TARGET_SIZE)
    network = LSTMNetwork(ModelSettings(hidden_size=4), SOURCE_SIZE, TARGET_SIZE)
    with pytest.raises(ValueError, match="head: a translation model needs .*; leave both out"):
        TranslationModel(network, head)


def test_target_pair():
    read, predict = target_pair(*flat([np.array([7, 8]), np.array([], int)]))
    assert read.tolist() == [[BOS, 7, 8], [BOS, EOS, EOS]]
    assert predict.tolist() == [[7, 8, EOS], [EOS, PADDING, PADDING]]

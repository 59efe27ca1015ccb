"""The network: what it computes, and that neither padding nor the way of reading a sentence changes it."""

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from trellex.heads import build_head
from trellex.nmt import ModelSettings, TranslationModel
from trellex.nmt.model import PADDING, target_pair
from trellex.text.batches import flat, pad
from trellex.text.vocabulary import BOS, EOS

SOURCE_SIZE, TARGET_SIZE = 23, 31
SOURCES = [np.array([5, 9, 3, 22]), np.array([7]), np.array([0, 3, 4, 5, 6, 7, 8]), np.array([20, 4])]
TARGETS = [np.array([30, 4, 4]), np.array([8, 0, 17, 25, 9, 6]), np.array([3]), np.array([], int)]
HEADS = [
    "softmax",
    "binary",
    "binary-ec",
    "hybrid-9",
    {"type": "hybrid-9-ec", "loss": "trellis"},
    {"type": "hybrid-9-ec", "mixtures": 3},
]


def tiny_model(head="softmax", input_feeding=False, dropout=0.3):
    """Double precision, weights from a formula, in evaluation mode."""
    settings = ModelSettings(embedding_size=6, hidden_size=4, dropout=dropout, input_feeding=input_feeding)
    head = build_head(head, hidden_size=4, vocab=TARGET_SIZE)
    model = TranslationModel(settings, SOURCE_SIZE, TARGET_SIZE, head).double().eval()
    with torch.no_grad():
        for place, (_, parameter) in enumerate(sorted(model.named_parameters())):
            values = 0.8 * torch.sin(1.7 * torch.arange(parameter.numel(), dtype=torch.float64) + place)
            parameter.copy_(values.view(parameter.shape))
    return model


def losses(model, sources, targets):
    """[N, T]"""
    read, predict = target_pair(*flat(targets))
    lengths = torch.tensor([len(source) for source in sources])
    return model(torch.from_numpy(pad(sources, EOS)), lengths, torch.from_numpy(read), torch.from_numpy(predict))


def teacher_forced(model, sources, targets):
    """What the head reads at every place. [N, T, H]"""
    seen = []
    hook = model.decoder.register_forward_hook(lambda module, inputs, outputs: seen.append(outputs[0]))
    losses(model, sources, targets)
    hook.remove()
    return seen[0]


@pytest.fixture(params=[False, True], ids=["no feeding", "input feeding"])
def input_feeding(request):
    return request.param


class TestGolden:
    """Losses stored when they agreed with a computation in plain numpy, gate by gate, to 14 digits."""

    @pytest.mark.parametrize(
        ("head", "feeding", "expected"),
        [
            (
                "softmax",
                False,
                [
                    [3.828442, 4.703605, 4.987816, 3.740316, 0.0, 0.0, 0.0],
                    [2.707557, 4.633509, 3.827893, 4.968448, 1.697052, 3.446171, 4.626309],
                ],
            ),
            (
                "softmax",
                True,
                [
                    [3.711342, 4.169899, 4.459335, 3.525024, 0.0, 0.0, 0.0],
                    [2.772240, 4.684031, 3.283993, 4.618696, 1.722248, 3.814029, 4.244008],
                ],
            ),
            (
                {"type": "hybrid-9-ec", "loss": "trellis", "numbering": "paper"},
                False,
                [
                    [3.276001, 1.349455, 1.361407, 3.868014, 0.0, 0.0, 0.0],
                    [5.181870, 3.339621, 5.714261, 9.535463, 8.942248, 2.643785, 3.795429],
                ],
            ),
            (
                {"type": "hybrid-9-ec", "loss": "trellis", "numbering": "paper"},
                True,
                [
                    [3.347191, 1.397872, 1.485961, 3.720006, 0.0, 0.0, 0.0],
                    [5.385619, 2.409910, 5.755520, 7.962450, 8.958987, 2.473758, 4.020332],
                ],
            ),
        ],
    )
    def test_losses(self, head, feeding, expected):
        values = losses(tiny_model(head, feeding), SOURCES[:2], TARGETS[:2])
        np.testing.assert_allclose(values.detach(), expected, atol=1e-6)


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

    def test_what_padding_holds_does_not_matter(self, input_feeding):
        model = tiny_model(input_feeding=input_feeding)
        read, predict = map(torch.from_numpy, target_pair(*flat(TARGETS)))
        lengths = torch.tensor([len(source) for source in SOURCES])
        one, other = (torch.from_numpy(pad(SOURCES, value)) for value in (EOS, 11))
        read_other = read.where(predict != PADDING, 19)
        assert torch.equal(model(one, lengths, read, predict), model(other, lengths, read_other, predict))

    def test_every_parameter_learns(self, input_feeding):
        model = tiny_model("hybrid-9-ec", input_feeding).train()
        losses(model, SOURCES, TARGETS).sum().backward()
        for name, parameter in model.named_parameters():
            assert parameter.grad.isfinite().all(), name
            assert parameter.grad.any(), name

    def test_a_later_word_does_not_change_an_earlier_loss(self, input_feeding):
        model = tiny_model(input_feeding=input_feeding)
        one, other = (losses(model, SOURCES[:1], [np.array([4, 5, 6, word])]) for word in (7, 8))
        assert torch.equal(one[0, :3], other[0, :3])
        assert one[0, 3] != other[0, 3]


class TestDropout:
    def test_off_in_evaluation(self, input_feeding):
        model = tiny_model(input_feeding=input_feeding)
        expected = losses(model, SOURCES, TARGETS)
        assert torch.equal(losses(model, SOURCES, TARGETS), expected)
        assert torch.equal(losses(tiny_model(input_feeding=input_feeding, dropout=0.0), SOURCES, TARGETS), expected)

    def test_on_in_training(self, input_feeding):
        model = tiny_model(input_feeding=input_feeding).train()
        assert not torch.equal(losses(model, SOURCES, TARGETS), losses(model, SOURCES, TARGETS))
        still = tiny_model(input_feeding=input_feeding, dropout=0.0).train()
        assert torch.equal(losses(still, SOURCES, TARGETS), losses(still, SOURCES, TARGETS))

    def test_on_inputs_and_outputs_of_both_lstms(self, input_feeding):
        """Half of all numbers become 0: of those that the LSTMs read, and of those that the attention sees."""
        torch.manual_seed(0)
        model = tiny_model(input_feeding=input_feeding, dropout=0.5).train()
        seen = {"encoder in": [], "decoder in": [], "fed": [], "encoder out": [], "decoder out": []}

        def watch_decoder(module, inputs):
            seen["decoder in"].append(inputs[0][..., :6])
            seen["fed"].append(inputs[0][:, 1:, 6:] if len(seen["fed"]) == 0 else inputs[0][..., 6:])

        model.encoder.lstm.register_forward_pre_hook(lambda module, inputs: seen["encoder in"].append(inputs[0].data))
        model.decoder.lstm.register_forward_pre_hook(watch_decoder)
        model.decoder.attention.query.register_forward_pre_hook(
            lambda module, inputs: seen["decoder out"].append(inputs[0])
        )
        model.decoder.attention.key.register_forward_pre_hook(
            lambda module, inputs: seen["encoder out"].append(inputs[0])
        )
        losses(model, [SOURCES[2]] * 20, [TARGETS[1]] * 20)
        for place, tensors in seen.items():
            if place == "fed" and not input_feeding:
                continue
            zeros = torch.cat([tensor.flatten() for tensor in tensors]) == 0
            assert 0.4 < zeros.double().mean() < 0.6, place


class TestSteps:
    def test_a_word_at_a_time_gives_the_hidden_states_of_training(self, input_feeding):
        model = tiny_model(input_feeding=input_feeding)
        read, _ = target_pair(*flat(TARGETS))
        expected = teacher_forced(model, SOURCES, TARGETS)
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
        for whole, part in zip(
            (*start.memory, *start.decoder, start.hidden), (*chosen.memory, *chosen.decoder, chosen.hidden), strict=True
        ):
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


class TestSettings:
    def test_the_paper_s_are_the_default(self):
        settings = ModelSettings()
        assert (settings.embedding_size, settings.hidden_size, settings.dropout) == (512, 512, 0.3)

    def test_unknown_keys_and_impossible_sizes_are_refused(self):
        for wrong in ({"hiden_size": 5}, {"hidden_size": 0}, {"dropout": 1.0}, {"dropout": -0.1}):
            with pytest.raises(ValueError, match=next(iter(wrong))):
                ModelSettings(**wrong)

    @pytest.mark.parametrize("option", [{"reduction": "mean"}, {"ignore_index": 0}])
    def test_a_head_that_would_not_give_a_loss_a_word(self, option):
        head = build_head({"type": "binary", **option}, hidden_size=4, vocab=TARGET_SIZE)
        with pytest.raises(ValueError, match="head: a translation model needs .*; leave both out"):
            TranslationModel(ModelSettings(hidden_size=4), SOURCE_SIZE, TARGET_SIZE, head)


def test_target_pair():
    read, predict = target_pair(*flat([np.array([7, 8]), np.array([], int)]))
    assert read.tolist() == [[BOS, 7, 8], [BOS, EOS, EOS]]
    assert predict.tolist() == [[7, 8, EOS], [EOS, PADDING, PADDING]]

"""The network of the paper: what it computes, and that neither padding nor the way of reading changes it."""

import numpy as np
import pytest
import torch
from tiny import SOURCE_SIZE, SOURCES, TARGET_SIZE, TARGETS, losses, source_tensors, tiny_model

from trellex.nmt.lstm.network import LSTMNetwork
from trellex.nmt.model import PADDING, target_pair
from trellex.nmt.settings import ModelSettings
from trellex.text.batches import flat
from trellex.text.vocabulary import BOS


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
    def test_what_padding_holds_does_not_matter(self, input_feeding):
        model = tiny_model(input_feeding=input_feeding)
        read, predict = map(torch.from_numpy, target_pair(*flat(TARGETS)))
        read_other = read.where(predict != PADDING, 19)
        one, other = source_tensors(SOURCES), source_tensors(SOURCES, padding=11)
        assert torch.equal(model(*one, read, predict), model(*other, read_other, predict))

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

        encoder, decoder = model.network.encoder, model.network.decoder
        encoder.lstm.register_forward_pre_hook(lambda module, inputs: seen["encoder in"].append(inputs[0].data))
        decoder.lstm.register_forward_pre_hook(watch_decoder)
        decoder.attention.query.register_forward_pre_hook(lambda module, inputs: seen["decoder out"].append(inputs[0]))
        decoder.attention.key.register_forward_pre_hook(lambda module, inputs: seen["encoder out"].append(inputs[0]))
        losses(model, [SOURCES[2]] * 20, [TARGETS[1]] * 20)
        for place, tensors in seen.items():
            if place == "fed" and not input_feeding:
                continue
            zeros = torch.cat([tensor.flatten() for tensor in tensors]) == 0
            assert 0.4 < zeros.double().mean() < 0.6, place


class TestSteps:
    def test_a_word_at_a_time_gives_the_hidden_states_of_a_sentence(self, input_feeding):
        network = tiny_model(input_feeding=input_feeding).network
        words = torch.from_numpy(target_pair(*flat(TARGETS))[0])
        expected = network(*source_tensors(SOURCES), words)
        assert expected.shape == (4, 7, 4)
        state = network.start(*source_tensors(SOURCES))
        for place in range(words.shape[1]):
            hidden, state = network.step(state, words[:, place])
            torch.testing.assert_close(hidden, expected[:, place], rtol=0, atol=1e-12)

    def test_rows_can_be_dropped_repeated_and_reordered(self, input_feeding):
        network = tiny_model(input_feeding=input_feeding).network
        rows, words = torch.tensor([2, 0, 0]), torch.tensor([9, 3, 30])
        _, start = network.step(network.start(*source_tensors(SOURCES)), torch.full((4,), BOS))
        chosen = start.select(rows)
        assert all(torch.equal(part, whole[rows]) for whole, part in zip(start, chosen, strict=True))
        after, _ = network.step(chosen, words)
        for row, word, hidden in zip(rows, words, after, strict=True):
            _, alone = network.step(network.start(*source_tensors([SOURCES[row]])), torch.tensor([BOS]))
            torch.testing.assert_close(network.step(alone, word[None])[0][0], hidden, rtol=0, atol=1e-12)


class TestEmbedding:
    def test_that_of_target_words_is_the_networks(self):
        network = tiny_model().network
        assert network.embedding is network.decoder.embedding
        assert network.embedding.weight.shape == (TARGET_SIZE, 6)

    def test_that_is_given_is_taken(self):
        embedding = torch.nn.Embedding(TARGET_SIZE, 6)
        settings = ModelSettings(embedding_size=6, hidden_size=4)
        network = LSTMNetwork(settings, SOURCE_SIZE, TARGET_SIZE, embedding)
        assert network.embedding is embedding
        assert network.settings is settings

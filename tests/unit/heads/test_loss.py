"""What training minimises: each loss by hand, its gradients, its smoothing and its reductions."""

import numpy as np
import pytest
import torch
from by_hand import (
    COMPLETE,
    LAYERED,
    LOSSES,
    MIXED,
    MIXED_COMPLETE,
    NUMBERED,
    OTHER_CODES,
    OTHER_CODES_COMPLETE,
    OTHER_COMPLETE,
    PLAIN,
    RIVALS,
    SHELVES,
    SINGLE,
    ByHand,
    all_log_probs,
    hidden_states,
    name_of,
    random_head,
    with_bits_options,
    with_options,
)


def loss_of_every_word(head, h):
    """[T, V]"""
    words = torch.arange(head.vocab_size)
    return torch.stack([head.loss(row.expand(len(words), -1), words) for row in h]).detach().numpy()


class TestLoss:
    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("spec", SINGLE + LAYERED, ids=name_of)
    @pytest.mark.parametrize("vocab", [50, 64])
    def test_is_that_by_hand(self, spec, loss, vocab):
        spec = with_bits_options(spec, loss=loss)
        head, h, target = random_head(spec, vocab), hidden_states(vocab), torch.arange(vocab)
        expected = ByHand(head, spec, h).losses()[target, target]
        values = head.loss(h, target)
        assert values.shape == (vocab,)
        assert values.dtype == torch.float64
        np.testing.assert_allclose(values.detach(), expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(head.float().loss(h.float(), target).detach(), expected, rtol=1e-4, atol=1e-4)

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("weights", [(0.5, 2.0), (0.0, 1.0), (3.0, 0.0)])
    def test_weights_of_the_two_parts(self, loss, weights):
        spec = {"type": "hybrid-9-ec", "loss": loss, "softmax_weight": weights[0], "bits_weight": weights[1]}
        head, h = random_head(spec, 50), hidden_states(5)
        np.testing.assert_allclose(loss_of_every_word(head, h), ByHand(head, spec, h).losses(), rtol=1e-10, atol=1e-12)

    def test_squared_distance_is_the_default(self):
        head, h = random_head("hybrid-9-ec", 50), hidden_states(5)
        truth = ByHand(head, {"type": "hybrid-9-ec", "loss": "squared"}, h)
        np.testing.assert_allclose(loss_of_every_word(head, h), truth.losses(), rtol=1e-10)

    @pytest.mark.parametrize("smoothing", [0.0, 0.1])
    @pytest.mark.parametrize("spec", SINGLE, ids=name_of)
    @pytest.mark.parametrize("ignored", [-100, 0, 11])
    def test_ignored_targets_and_reductions(self, spec, ignored, smoothing):
        spec = with_options(spec, label_smoothing=smoothing)
        h, target = hidden_states(20).requires_grad_(), torch.arange(20)
        target[[2, 3, 19]] = ignored
        counted = (target != ignored).numpy()
        losses = ByHand(random_head(spec, 50), spec, h).losses()[np.arange(20), np.where(counted, target, 0)]
        expected = np.where(counted, losses, 0)

        def loss(reduction):
            options = {"reduction": reduction, "ignore_index": ignored}
            return random_head(with_options(spec, **options), 50).loss(h, target)

        values = loss("none").detach().numpy()
        np.testing.assert_allclose(values, expected, rtol=1e-10)
        assert (values[~counted] == 0).all()
        assert loss("sum").item() == pytest.approx(expected.sum())
        assert loss("mean").item() == pytest.approx(expected[counted].mean())
        loss("mean").backward()
        assert ((h.grad != 0).any(-1).numpy() == counted).all()

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("smoothing", [0.0, 0.1])
    @pytest.mark.parametrize("spec", SINGLE, ids=name_of)
    @pytest.mark.parametrize("size", [1, 1000])
    def test_gradients_are_finite(self, spec, smoothing, loss, size):
        spec = with_options(with_bits_options(spec, loss=loss), label_smoothing=smoothing)
        head = random_head(spec, 50, dtype=torch.float32)
        h = (hidden_states(50).float() * size).requires_grad_()
        values = head.loss(h, torch.arange(50))
        values.sum().backward()
        gradients = [h.grad, *(parameter.grad for parameter in head.parameters())]
        assert values.isfinite().all()
        assert all(gradient.isfinite().all() and gradient.any() for gradient in gradients)

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("spec", PLAIN + LAYERED, ids=name_of)
    def test_gradients_by_finite_differences(self, spec, loss):
        head = random_head(with_bits_options(spec, loss=loss), 50)
        target = torch.tensor([2, 8, 49])
        assert torch.autograd.gradcheck(lambda h: head.loss(h, target), (hidden_states(3).requires_grad_(),))


class TestNormalised:
    """The losses of complete trellises, of shelves and of rivals, which have no other."""

    @pytest.mark.parametrize("spec", COMPLETE + OTHER_COMPLETE + SHELVES + RIVALS, ids=name_of)
    @pytest.mark.parametrize("vocab", [50, 64])
    def test_is_that_by_hand(self, spec, vocab):
        head, h = random_head(spec, vocab), hidden_states(5)
        expected = ByHand(head, spec, h).losses()
        np.testing.assert_allclose(loss_of_every_word(head, h), expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(loss_of_every_word(head.float(), h.float()), expected, rtol=1e-4, atol=1e-4)

    @pytest.mark.parametrize("spec", COMPLETE + SHELVES + RIVALS, ids=name_of)
    @pytest.mark.parametrize("ignored", [-100, 11])
    def test_ignored_targets_and_reductions(self, spec, ignored):
        TestLoss().test_ignored_targets_and_reductions(spec, ignored, 0.0)

    @pytest.mark.parametrize("spec", COMPLETE + OTHER_COMPLETE + SHELVES + RIVALS, ids=name_of)
    def test_gradients_by_finite_differences(self, spec):
        """Of the hidden states and of all weights, shared word vectors among them; latents of free codes have none."""
        head, target = random_head(spec, 21, scale=0.5), torch.tensor([2, 8, 20])
        own = [(name, weight) for name, weight in head.named_parameters() if not name.endswith("latent")]
        names, weights = zip(*own, strict=True)

        def loss(h, *weights):
            return torch.func.functional_call(head, dict(zip(names, weights, strict=True)), (h, target))

        copies = [weight.detach().clone().requires_grad_() for weight in weights]
        assert torch.autograd.gradcheck(loss, (hidden_states(3).requires_grad_(), *copies), fast_mode=True)

    @pytest.mark.parametrize("size", [1, 1000])
    @pytest.mark.parametrize("spec", COMPLETE + SHELVES + RIVALS, ids=name_of)
    def test_gradients_reach_all_and_are_finite(self, spec, size):
        TestMixture().test_gradients_reach_all_and_are_finite(spec, size)

    @pytest.mark.parametrize("spec", COMPLETE + OTHER_CODES_COMPLETE, ids=name_of)
    def test_smoothing_is_a_share_of_the_mean_over_all_words(self, spec):
        h = hidden_states(5)
        losses = loss_of_every_word(random_head(spec, 50), h)
        smoothed = loss_of_every_word(random_head(with_options(spec, label_smoothing=0.1), 50), h)
        np.testing.assert_allclose(smoothed, 0.9 * losses + 0.1 * losses.mean(-1, keepdims=True), rtol=1e-10)

    @pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
    @pytest.mark.parametrize("vocab", [2, 50, 63, 64])
    @pytest.mark.parametrize("spec", SHELVES, ids=name_of)
    def test_smoothed_shelves_are_those_by_hand(self, spec, vocab, weight):
        """The share is of the means over the words of visited shelves, and over all shelves."""
        spec = with_options(spec, label_smoothing=0.1, shelf_weight=weight)
        head, h = random_head(spec, vocab), hidden_states(5)
        expected = ByHand(head, spec, h).losses()
        np.testing.assert_allclose(loss_of_every_word(head, h), expected, rtol=1e-10, atol=1e-12)
        self.test_gradients_by_finite_differences(spec)


class TestMixture:
    @pytest.mark.parametrize("spec", MIXED + MIXED_COMPLETE, ids=name_of)
    def test_is_the_negative_log_probability(self, spec):
        head, h = random_head(spec, 50), hidden_states(5)
        losses = loss_of_every_word(head, h)
        np.testing.assert_allclose(losses, -all_log_probs(head, h), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(losses, ByHand(head, spec, h).losses(), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(loss_of_every_word(head.float(), h.float()), losses, rtol=1e-4, atol=1e-4)

    def test_weights_of_the_two_parts(self):
        spec = {"type": "hybrid-9-ec", "mixtures": 3, "softmax_weight": 0.5, "bits_weight": 2.0}
        head, h = random_head(spec, 50), hidden_states(5)
        np.testing.assert_allclose(loss_of_every_word(head, h), ByHand(head, spec, h).losses(), rtol=1e-10)

    @pytest.mark.parametrize("spec", MIXED, ids=name_of)
    def test_gradients_by_finite_differences(self, spec):
        head = random_head(spec, 50, scale=0.5)
        target = torch.tensor([2, 8, 49])
        assert torch.autograd.gradcheck(lambda h: head.loss(h, target), (hidden_states(3).requires_grad_(),))

    @pytest.mark.parametrize("size", [1, 1000])
    @pytest.mark.parametrize("spec", MIXED, ids=name_of)
    def test_gradients_reach_all_and_are_finite(self, spec, size):
        head = random_head(spec, 50, dtype=torch.float32)
        h = (hidden_states(50).float() * size).requires_grad_()
        values = head.loss(h, torch.arange(50))
        values.sum().backward()
        assert values.isfinite().all()
        for gradient in (h.grad, *(parameter.grad for parameter in head.parameters())):
            assert gradient.isfinite().all()
            assert gradient.any()

    @pytest.mark.parametrize("kind", ["binary-ec", "hybrid-9-ec"])
    def test_ignored_targets_cost_nothing(self, kind):
        head = random_head({"type": kind, "mixtures": 3, "ignore_index": 0}, 50)
        h = hidden_states(4).requires_grad_()
        values = head.loss(h, torch.tensor([0, 49, 0, 3]))
        values.sum().backward()
        assert (values != 0).tolist() == (h.grad != 0).any(-1).tolist() == [False, True, False, True]


class TestLabelSmoothing:
    @pytest.mark.parametrize("smoothing", [0.1, 0.5])
    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("spec", SINGLE + LAYERED, ids=name_of)
    def test_is_a_share_of_the_mean_over_all_words(self, spec, loss, smoothing):
        spec = with_options(with_bits_options(spec, loss=loss), label_smoothing=smoothing)
        for vocab in (50, 64):
            head, h = random_head(spec, vocab), hidden_states(5)
            expected = ByHand(head, spec, h).losses()
            np.testing.assert_allclose(loss_of_every_word(head, h), expected, rtol=1e-10)
            np.testing.assert_allclose(loss_of_every_word(head.float(), h.float()), expected, rtol=1e-4)

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("weights", [(0.5, 2.0), (0.0, 1.0), (3.0, 0.0)])
    @pytest.mark.parametrize("spec", NUMBERED, ids=name_of)
    def test_weights_of_the_two_parts(self, spec, weights, loss):
        options = {"softmax_weight": weights[0], "bits_weight": weights[1], "label_smoothing": 0.1}
        spec = with_options(spec, loss=loss, **options)
        head, h = random_head(spec, 50), hidden_states(5)
        np.testing.assert_allclose(loss_of_every_word(head, h), ByHand(head, spec, h).losses(), rtol=1e-10)

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("spec", OTHER_CODES, ids=name_of)
    def test_the_mean_is_over_the_words_of_any_code(self, spec, loss):
        spec, h = with_options(spec, loss=loss), hidden_states(5)
        losses = loss_of_every_word(random_head(spec, 50), h)
        smoothed = loss_of_every_word(random_head(with_options(spec, label_smoothing=0.1), 50), h)
        np.testing.assert_allclose(smoothed, 0.9 * losses + 0.1 * losses.mean(-1, keepdims=True), rtol=1e-10)

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("spec", SINGLE, ids=name_of)
    def test_none_is_the_loss_without(self, spec, loss):
        spec, h, target = with_bits_options(spec, loss=loss), hidden_states(50), torch.arange(50)
        smoothed = random_head(with_options(spec, label_smoothing=0.0), 50).loss(h, target)
        assert torch.equal(smoothed, random_head(spec, 50).loss(h, target))

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("spec", SINGLE, ids=name_of)
    def test_gradients_by_finite_differences(self, spec, loss):
        head = random_head(with_options(with_bits_options(spec, loss=loss), label_smoothing=0.1), 50, scale=0.5)
        target = torch.tensor([2, 8, 49])
        assert torch.autograd.gradcheck(lambda h: head.loss(h, target), (hidden_states(3).requires_grad_(),))

    def test_log_probabilities_are_not_smoothed(self):
        h = hidden_states(3)
        for spec in PLAIN:
            smoothed = random_head(with_options(spec, label_smoothing=0.5), 50)
            assert np.array_equal(all_log_probs(smoothed, h), all_log_probs(random_head(spec, 50), h))

    def test_is_no_part_of_the_weights(self):
        for spec in PLAIN:
            smoothed = random_head(with_options(spec, label_smoothing=0.5), 50)
            smoothed.loss(hidden_states(2), torch.tensor([1, 40]))
            assert smoothed.state_dict().keys() == random_head(spec, 50).state_dict().keys()

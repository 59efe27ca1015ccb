"""log_prob against the computation by hand, and that it is a distribution at every size and precision."""

import numpy as np
import pytest
import torch
from by_hand import (
    COMPLETE,
    LAYERED,
    MIXED,
    MIXED_COMPLETE,
    OTHER_CODES,
    OTHER_CODES_COMPLETE,
    OTHER_COMPLETE,
    RIVALS,
    SHELVES,
    SINGLE,
    ByHand,
    H,
    all_log_probs,
    families,
    hidden_states,
    name_of,
    random_head,
    with_bits_options,
    with_options,
)
from torch import nn


def trained_head(spec, vocab, h):
    """A head in single precision whose logits reach ± 10, as those of trained networks do."""
    head = random_head(spec, vocab, scale=0.3, dtype=torch.float32)
    layers = [module for module in head.modules() if isinstance(module, nn.Linear) and module.in_features == H]
    with torch.no_grad():
        for layer in layers:
            factor = 10 / layer(h).abs().max()
            for parameter in layer.parameters():
                parameter *= factor
    return head


class TestLogProb:
    @pytest.mark.parametrize(
        "spec", SINGLE + LAYERED + MIXED + COMPLETE + OTHER_COMPLETE + MIXED_COMPLETE + SHELVES + RIVALS, ids=name_of
    )
    @pytest.mark.parametrize("vocab", [50, 64])
    def test_is_that_by_hand(self, spec, vocab):
        head, h = random_head(spec, vocab), hidden_states(5)
        log_probs = all_log_probs(head, h)
        np.testing.assert_allclose(log_probs, ByHand(head, spec, h).log_probs(), rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(np.exp(log_probs).sum(-1), 1, rtol=1e-10)

    @pytest.mark.parametrize("spec", OTHER_CODES + OTHER_CODES_COMPLETE, ids=name_of)
    @pytest.mark.parametrize("mixtures", [1, 3])
    @pytest.mark.parametrize("vocab", [50, 64])
    def test_sums_to_1_for_any_code(self, spec, mixtures, vocab):
        log_probs = all_log_probs(random_head(with_options(spec, mixtures=mixtures), vocab), hidden_states(5))
        np.testing.assert_allclose(np.exp(log_probs).sum(-1), 1, rtol=1e-10)

    @pytest.mark.parametrize("spec", SINGLE + MIXED + COMPLETE + SHELVES + RIVALS, ids=name_of)
    def test_half_precision_is_in_the_weights_alone(self, spec):
        head, h = random_head(spec, 50, dtype=torch.float16), hidden_states(3).half()
        log_probs = all_log_probs(head, h)
        assert log_probs.dtype == np.float32
        np.testing.assert_allclose(np.exp(log_probs).sum(-1), 1, rtol=1e-4)
        assert head.topk(h, 4)[1].dtype == torch.float32

    @pytest.mark.parametrize("mixtures", [1, 2])
    def test_small_differences_of_large_scores_count_in_single_precision(self, mixtures):
        """All bits are certain but the last, on which 31 and 63 differ."""
        head = random_head({"type": "binary", "mixtures": mixtures}, 64, scale=0, dtype=torch.float32)
        with torch.no_grad():
            head.bits.linear.bias.copy_(torch.tensor([10_001.0] * 5 + [0.3]).repeat(mixtures))
        h, expected = hidden_states(1).float(), -np.log1p(np.exp([-0.3, 0.3]))
        np.testing.assert_allclose(all_log_probs(head, h)[0, [63, 31]], expected, rtol=1e-6)
        words, log_probs = head.topk(h, 2)
        assert words.tolist() == [[63, 31]]
        np.testing.assert_allclose(log_probs[0].detach(), expected, rtol=1e-6)

    def test_equal_parts_are_as_one(self):
        h = hidden_states(5)
        for kind in ("binary-ec", "hybrid-9-ec"):
            one = random_head({"type": kind, "loss": "trellis"}, 50)
            many = random_head({"type": kind, "mixtures": 3}, 50)
            with torch.no_grad():
                for name, parameter in one.named_parameters():
                    copies = 3 if name.startswith("bits.") else 1
                    many.get_parameter(name).copy_(torch.cat([parameter] * copies))
            np.testing.assert_allclose(all_log_probs(many, h), all_log_probs(one, h), rtol=1e-10)

    def test_a_mixture_holds_two_words_whose_bits_all_differ(self):
        head = random_head({"type": "binary", "mixtures": 2}, 64)
        with torch.no_grad():
            for parameter in head.parameters():
                parameter.zero_()
            head.bits.linear.bias.copy_(torch.tensor([-20.0] * 6 + [20.0] * 6))
            head.bits.weights.bias.copy_(torch.tensor([0.25, 0.75]).log())
        probs = np.exp(all_log_probs(head, hidden_states(1)))[0]
        np.testing.assert_allclose(probs[[0, 63]], [0.25, 0.75], rtol=1e-6)


class TestSumInSinglePrecision:
    @pytest.mark.parametrize("vocab", [2, 3, 127, 128, 4095, 4096])
    @pytest.mark.parametrize("options", [{}, {"loss": "trellis"}, {"mixtures": 4}, {"hidden_layer": 7}], ids=name_of)
    def test_is_1(self, vocab, options):
        h = hidden_states(2).float()
        plain = families(vocab)
        for spec in [with_bits_options(spec, **options) for spec in plain]:
            if options and spec in plain:
                continue  # no bits
            probs = np.exp(all_log_probs(trained_head(spec, vocab, h), h).astype(np.float64))
            assert np.abs(probs.sum(-1) - 1).max() < 1e-5, spec

    @pytest.mark.parametrize("options", [{}, {"loss": "trellis"}, {"mixtures": 4}], ids=name_of)
    @pytest.mark.parametrize("kind", ["binary", "binary-ec", "hybrid-512", "hybrid-512-ec"])
    def test_is_1_over_65536_words(self, kind, options):
        h = hidden_states(1 if "mixtures" in options else 2).float()
        head = trained_head(with_options(kind, **options), 65_536, h)
        probs = np.exp(all_log_probs(head, h).astype(np.float64))
        assert np.abs(probs.sum(-1) - 1).max() < 1e-5

    def test_is_1_over_65536_words_of_a_softmax(self):
        """All at once, and some words alone: each alone would be V² numbers."""
        h = hidden_states(2).float()
        head = trained_head("softmax", 65_536, h)
        words, log_probs = (tensor.detach() for tensor in head.topk(h, 65_536))
        np.testing.assert_allclose(log_probs.double().exp().sum(-1), 1, atol=1e-5)
        for column in range(0, 65_536, 8192):
            alone = head.log_prob(h, words[:, column]).detach()
            np.testing.assert_allclose(alone, log_probs[:, column], rtol=1e-5)

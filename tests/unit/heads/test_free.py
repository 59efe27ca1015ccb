"""Free codes: the straight-through gradient against one by hand, every size, drawn words, and that codes learn."""

import math

import numpy as np
import pytest
import torch
from by_hand import FREE, ByHand, all_log_probs, enumerated_topk, hidden_states, name_of, random_head, with_options
from test_cost import LargestTensor
from test_hierarchical import check_topk

from trellex.heads import build_head
from trellex.heads.free_words import signs

each = pytest.mark.parametrize("spec", FREE, ids=name_of)
of_any_size = pytest.mark.parametrize("vocab", [2, 3, 31, 32, 33])


def straight_through(head, h, target):
    """The loss by formulae alone: signs as what latents are between −1 and 1 plus a constant."""
    layer = head.linear
    clipped = layer.latent.clamp(-1, 1)
    codes = clipped + (torch.where(layer.latent < 0, -1.0, 1.0) - clipped).detach()
    scores = h @ layer.project.weight.T @ codes.T / math.sqrt(codes.shape[1]) + layer.bias
    log_probs = scores.log_softmax(-1)
    own = log_probs.gather(1, target[:, None])[:, 0]
    return -(1 - head.label_smoothing) * own - head.label_smoothing * log_probs.mean(-1)


class TestProbabilities:
    @each
    @of_any_size
    @pytest.mark.parametrize("scale", [0, 1, 30, 1e6, 1e150])
    def test_are_those_of_enumeration(self, spec, vocab, scale):
        head, h = random_head(spec, vocab, scale), hidden_states(6)
        every = all_log_probs(head, h)
        assert np.isfinite(every).all()
        np.testing.assert_allclose(np.exp(every).sum(-1), 1, atol=1e-9)
        if scale < 1e100:
            expected = ByHand(head, spec, h).log_probs()
            np.testing.assert_allclose(every, expected, rtol=1e-9, atol=1e-9 * max(1, scale**2))
        check_topk(head, h, (1, 2, vocab, vocab + 3))

    @pytest.mark.parametrize("vocab", [2, 7, 64])
    def test_words_of_one_code_are_equally_probable(self, vocab):
        head, h = random_head({"type": "free", "bits": 8}, vocab), hidden_states(4)
        with torch.no_grad():
            head.linear.latent[:] = head.linear.latent[:1]
            head.linear.bias.zero_()
        np.testing.assert_allclose(all_log_probs(head, h), -math.log(vocab), rtol=1e-12)
        words, log_probs = head.topk(h, vocab)
        assert (words.sort().values == torch.arange(vocab)).all()
        np.testing.assert_allclose(log_probs.detach(), -math.log(vocab), rtol=1e-12)

    @each
    def test_depend_on_signs_alone(self, spec):
        head, h = random_head(spec, 40), hidden_states(5)
        before = all_log_probs(head, h)
        with torch.no_grad():
            head.linear.latent *= torch.rand_like(head.linear.latent) + 0.01
        assert np.array_equal(all_log_probs(head, h), before)

    @each
    def test_of_no_rows(self, spec):
        head, h, none = random_head(spec, 50), hidden_states(0), torch.zeros(0, dtype=torch.int64)
        assert [found.shape for found in head.topk(h, 3)] == [(0, 3), (0, 3)]
        for found in (head.loss(h, none), head.log_prob(h, none), head.best(h), head.sample(h)):
            assert found.shape == (0,)


class TestGradients:
    @of_any_size
    @pytest.mark.parametrize("smoothing", [0, 0.1])
    @pytest.mark.parametrize("scale", [0.3, 1, 3])
    @each
    def test_are_straight_through(self, spec, vocab, smoothing, scale):
        head = random_head(with_options(spec, label_smoothing=smoothing), vocab, scale)
        h, target = hidden_states(vocab + 3).requires_grad_(), torch.arange(vocab + 3) % vocab
        losses, inputs = [head.loss(h, target), straight_through(head, h, target)], [h, *head.parameters()]
        torch.testing.assert_close(*losses)
        found, expected = (torch.autograd.grad(loss.sum(), inputs) for loss in losses)
        torch.testing.assert_close(found, expected)
        assert any(gradient.any() for gradient in found)

    def test_of_signs_end_beyond_one(self):
        latent = torch.tensor([-1.1, -1.0, -0.5, -0.0, 0.0, 1e-30, 0.5, 1.0, 1.1], requires_grad=True)
        codes = signs(latent)
        assert codes.tolist() == [-1, -1, -1, -1, 1, 1, 1, 1, 1]
        (gradient,) = torch.autograd.grad(codes, latent, torch.full_like(latent, 3))
        assert gradient.tolist() == [0, 3, 3, 3, 3, 3, 3, 3, 0]


class TestDrawnWords:
    @of_any_size
    @each
    def test_all_words_are_the_full_loss(self, spec, vocab):
        h, target = hidden_states(vocab), torch.arange(vocab)
        head = random_head(with_options(spec, loss="sampled", samples=vocab), vocab)
        sampled, full = head.loss(h, target), head.eval().loss(h, target)
        torch.testing.assert_close(sampled, full)
        torch.testing.assert_close(full, -head.log_prob(h, target))
        found, expected = (torch.autograd.grad(loss.sum(), list(head.parameters())) for loss in (sampled, full))
        torch.testing.assert_close(found, expected)

    def test_the_more_words_the_nearer(self):
        h, target, distances = hidden_states(8), torch.tensor([0, 1, 2, 3, 10, 20, 40, 49]), []
        for samples in (2, 10, 30, 49):
            head = random_head({"type": "free", "bits": 8, "loss": "sampled", "samples": samples}, 50, scale=0.7)
            torch.manual_seed(samples)
            mean = torch.stack([head.loss(h, target) for _ in range(300)]).mean(0)
            distances.append((mean - head.eval().loss(h, target)).abs().mean().item())
        assert distances == sorted(distances, reverse=True)
        assert distances[-1] < 0.05 < distances[0]

    def test_no_row_has_a_tensor_of_all_words(self):
        vocab, rows = 1 << 14, 8
        head = build_head({"type": "free", "bits": 256, "loss": "sampled", "samples": 20}, hidden_size=6, vocab=vocab)
        h = hidden_states(rows).float().requires_grad_()
        with LargestTensor() as largest:
            head.loss(h, torch.arange(rows) * 2000).sum()
        assert largest.size <= vocab * 1.1


class TestTraining:
    @pytest.mark.parametrize("more", [{}, {"loss": "sampled", "samples": 12}], ids=["full", "sampled"])
    def test_codes_learn_whom_to_follow(self, more):
        """Forty contexts with a word each, in 16 bits: without codes that move it stays above."""
        torch.manual_seed(1)
        states, target = torch.randn(40, 6), torch.arange(40)
        losses = {}
        for moves in (True, False):
            torch.manual_seed(2)
            head = build_head({"type": "free", "bits": 16, **more}, hidden_size=6, vocab=40)
            head.linear.latent.requires_grad_(moves)
            before = head.linear.latent.detach().signbit()
            optimizer = torch.optim.Adam([each for each in head.parameters() if each.requires_grad], lr=0.02)
            for _ in range(200):
                optimizer.zero_grad()
                head.loss(states, target).mean().backward()
                optimizer.step()
            losses[moves] = head.eval().loss(states, target).mean().item()
            assert (head.linear.latent.signbit() != before).any() == moves
        assert losses[True] < 0.5 * losses[False] < math.log(40)

    @each
    def test_a_state_dict_holds_latents(self, spec):
        head, other, h = random_head(spec, 30), random_head(spec, 30, scale=0.5), hidden_states(3)
        assert set(head.state_dict()) == {"linear.latent", "linear.bias", "linear.project.weight"}
        other.load_state_dict(head.state_dict())
        assert np.array_equal(all_log_probs(other, h), all_log_probs(head, h))

    def test_under_autocast_the_loss_is_in_single_precision(self):
        head, h = random_head("free", 50, scale=0.3, dtype=torch.float32), hidden_states(5).float()
        with torch.autocast("cpu", torch.bfloat16):
            loss = head.loss(h, torch.arange(5))
        assert loss.dtype == torch.float32
        loss.sum().backward()
        assert head.linear.latent.grad.isfinite().all()

    @pytest.mark.parametrize("more", [{}, {"loss": "sampled", "samples": 5}], ids=["full", "sampled"])
    def test_no_value_is_looked_at_on_an_accelerator(self, more):
        """The device `meta` has none: what would wait for them fails."""
        head = random_head({"type": "free", "reduction": "sum", **more}, 40).to("meta")
        h = torch.zeros(30, 6, dtype=torch.float64, device="meta", requires_grad=True)
        head.loss(h, torch.zeros(30, dtype=torch.int64, device="meta")).backward()
        assert all(parameter.grad.is_meta for parameter in head.parameters())


def test_topk_is_brute_force():
    head, h = random_head({"type": "free", "bits": 8}, 301), hidden_states(9)
    expected = enumerated_topk(ByHand(head, {"type": "free", "bits": 8}, h).log_probs(), 6)
    words, log_probs = head.topk(h, 6)
    np.testing.assert_allclose(log_probs.detach(), expected[1], rtol=1e-9)
    assert np.array_equal(words, expected[0])
    assert torch.equal(head.best(h), words[:, 0])

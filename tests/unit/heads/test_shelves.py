"""Shelves at every size, with ties, with scores far apart, under autocast, and how rows read a shelf together."""

import numpy as np
import pytest
import torch
from by_hand import VECTOR, ByHand, H, all_log_probs, enumerated_topk, hidden_states, random_head, shelves
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import nn

from trellex.codes import PermutedCode
from trellex.heads import build_head, shelf_distribution
from trellex.heads.shelves import ShelvesHead

SIZES = [2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100]


def check(head, spec, h):
    """log_prob, loss, the k best and the best are those by hand; words of one probability are in any order."""
    truth = ByHand(head, spec, h)
    expected = truth.log_probs()
    np.testing.assert_allclose(np.exp(expected).sum(-1), 1, rtol=1e-10)
    np.testing.assert_allclose(all_log_probs(head, h), expected, rtol=1e-10, atol=1e-10)
    words = torch.arange(head.vocab_size).expand(len(h), -1)
    losses = head.loss(h[:, None].expand(-1, head.vocab_size, -1), words)
    np.testing.assert_allclose(losses.detach(), truth.losses(), rtol=1e-10, atol=1e-10)
    for k in (1, 5, head.vocab_size + 2):
        found, best = (values.detach().numpy() for values in head.topk(h, k))
        expected_words, expected_best = enumerated_topk(expected, k)
        np.testing.assert_allclose(best, expected_best, rtol=1e-10, atol=1e-10)
        assert np.array_equal(found < 0, expected_words < 0)
        assert all(len(set(row) - {-1}) == min(k, head.vocab_size) for row in found.tolist())
        own = np.where(found < 0, -np.inf, np.take_along_axis(expected, found.clip(0), -1))
        np.testing.assert_allclose(own, best, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(np.take_along_axis(expected, head.best(h)[:, None].numpy(), -1)[:, 0], expected.max(-1))


@pytest.mark.parametrize("vocab", SIZES)
@pytest.mark.parametrize("code", ["frequency", "random", "permuted"])
def test_every_size(vocab, code):
    numbers = np.roll(np.arange(vocab), vocab // 3)
    for words, visit, memory in ((2, 1, 3), (4, 2, 8), (8, 3, 4), (2, 99, 3)):
        spec = shelves(words=words, visit=visit, memory=memory, code=code)
        spec = spec | {"code": PermutedCode(numbers)} if code == "permuted" else spec
        check(random_head(spec, vocab), spec, hidden_states(4))


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 100),
    st.sampled_from([2, 4, 8, 16]),
    st.integers(1, 12),
    st.integers(3, 6),
    st.integers(0, 2**32 - 1),
)
def test_any_shelves_agree_with_enumeration(vocab, words, visit, memory, seed):
    spec = shelves(words=words, visit=visit, memory=memory, code="random", seed=seed)
    check(random_head(spec, vocab, scale=1.5), spec, hidden_states(3, seed))


class TestTies:
    @pytest.mark.parametrize("vocab", [2, 13, 50, 64])
    def test_all_words_and_shelves(self, vocab):
        """The visited shelves are those of the lowest numbers, in every function."""
        spec = shelves(code="random")
        head, h = random_head(spec, vocab, scale=0), hidden_states(3)
        check(head, spec, h)
        is_visited = head.place_of(np.arange(vocab))[0] < head.visit
        log_probs = all_log_probs(head, h)[:, is_visited]
        np.testing.assert_allclose(log_probs, np.log(head.visit / head.num_shelves / is_visited.sum()), rtol=1e-10)

    @pytest.mark.parametrize("part", ["words", "shelves"])
    def test_words_alone_or_shelves_alone(self, part):
        spec = shelves(code="random")
        head, h = random_head(spec, 50), hidden_states(3)
        with torch.no_grad():
            for parameter in getattr(head, part).parameters():
                parameter.zero_()
        check(head, spec, h)


class TestFarApart:
    @pytest.mark.parametrize("factor", [1e3, 1e6])
    @pytest.mark.parametrize("part", ["words", "shelves"])
    def test_scores(self, part, factor):
        spec = shelves(code="random")
        head, h = random_head(spec, 50), hidden_states(5)
        with torch.no_grad():
            for parameter in getattr(head, part).parameters():
                parameter *= factor
        truth = ByHand(head, spec, h)
        log_probs = all_log_probs(head, h)
        np.testing.assert_allclose(log_probs, truth.log_probs(), rtol=1e-9, atol=1e-9)
        expected_words, expected = enumerated_topk(truth.log_probs(), 50)
        words, best = head.topk(h, 50)
        np.testing.assert_allclose(best.detach(), expected, rtol=1e-9, atol=1e-9)
        assert np.array_equal(words[:, 0], expected_words[:, 0])

    def test_a_word_of_a_shelf_that_is_not_visited_may_be_the_best(self):
        """Nine words share the visited shelf, and one has the other shelf for itself."""
        spec = shelves(words=8, visit=1, code=PermutedCode([0, 1, 2, 4, 6, 8, 10, 12, 14, *range(3, 9, 2), 9, 11, 13]))
        head = random_head(spec, 15, scale=0)
        assert (head.num_shelves, head.width) == (2, 8)
        with torch.no_grad():
            head.shelves.bias.fill_(-0.1)  # shelf 0 is a little more probable
            head.words.bias[1] = 9.0  # the word of number 1, on shelf 1
        h = hidden_states(2)
        check(head, spec, h)
        assert head.best(h).tolist() == [1, 1]


def test_a_shelf_with_a_single_word():
    """Of 17 words on 16 shelves all but one are alone: their probability is that of the shelf."""
    spec = shelves(words=2, visit=1, memory=4)
    head, h = random_head(spec, 17), hidden_states(6)
    check(head, spec, h)
    log_shelves = head.log_prob_of_shelves(head.shelf_logits(h), torch.arange(16).expand(6, -1)).detach().numpy()
    np.testing.assert_allclose(all_log_probs(head, h)[:, 1:16], log_shelves[:, 1:], rtol=1e-10)


@pytest.mark.parametrize("rows", [0, 1, 2, 70, 3000])
@pytest.mark.parametrize("spec", [shelves(), shelves(visit=1), shelves(visit=99, words=16)], ids=str)
def test_rows_read_a_shelf_together_whatever_they_are(rows, spec):
    """Many rows of one shelf, of all shelves, and none."""
    head, h = random_head(spec, 50), hidden_states(rows)
    target = torch.arange(rows) * 7 % 50
    for states in (h, h[:1].expand(rows, -1)):
        expected = ByHand(head, spec, states[:70]).losses()[np.arange(len(states[:70])), target[:70]]
        np.testing.assert_allclose(head.loss(states, target)[:70].detach(), expected, rtol=1e-9)
    assert head.best(h).shape == head.sample(h).shape == (rows,)


def test_a_batch_of_ignored_targets_alone():
    head, h = random_head(shelves(), 50), hidden_states(3).requires_grad_()
    loss = head.loss(h, torch.full((3,), -100))
    loss.sum().backward()
    assert loss.tolist() == [0, 0, 0]
    assert not h.grad.any()


def test_under_autocast_losses_and_probabilities_are_in_single_precision():
    torch.manual_seed(0)
    embedding, h, words = nn.Embedding(50, 6), torch.randn(40, 4), torch.arange(40)
    head = build_head(shelves(), hidden_size=4, vocab=50, embedding=embedding)
    assert isinstance(head, ShelvesHead)
    expected = head.loss(h, words), -head.log_prob(h, words)
    with torch.autocast("cpu", torch.bfloat16):
        assert head.words.project(h).dtype == torch.bfloat16
        values = [head.loss(h, words), -head.log_prob(h, words), head.topk(h, 3)[1]]
    assert all(value.dtype == torch.float32 for value in values)
    for value, exact in zip(values, expected, strict=False):
        assert (value - exact).abs().median() < 0.02  # a row may visit other shelves
    values[0].sum().backward()
    assert embedding.weight.grad.dtype == torch.float32
    assert embedding.weight.grad.any(-1).all()


def test_the_loss_begins_near_that_of_equal_chances():
    torch.manual_seed(0)
    words = 1 << 12
    spec = {"type": "shelves", "code": "random", "shelf_weight": 0.0}
    head = build_head(spec, hidden_size=128, vocab=words, embedding=nn.Embedding(words, 128))
    with torch.no_grad():
        loss = head.loss(torch.tanh(torch.randn(64, 128)), torch.randint(words, (64,))).mean()
    assert loss == pytest.approx(np.log(words), abs=0.7)


def test_not_a_number_is_told():
    head, h = random_head(shelves(), 50), hidden_states(3)
    h[1, 2] = torch.nan
    for read in (lambda h: head.topk(h, 2), head.best, head.sample, lambda h: head.loss(h, torch.tensor([1, 2, 3]))):
        with pytest.raises(ValueError, match="logits: row 1 has a NaN"):
            read(h)


@pytest.mark.parametrize("temperature", [0.05, 0.3, 20.0])
@pytest.mark.parametrize("patience", [0, 1, 16])
def test_words_are_drawn_alike_however_soon_patience_ends(temperature, patience, monkeypatch):
    monkeypatch.setattr(shelf_distribution, "PATIENCE", patience)
    spec = shelves(visit=2, code="random")
    head, h = random_head(spec, 50, scale=0.2), hidden_states(1)
    draws = 20_000
    words = head.sample(h.expand(draws, -1), temperature, torch.Generator().manual_seed(0))
    expected = ByHand(head, spec, h).tempered_probs(temperature)[0] * draws
    counts = np.bincount(words, minlength=50)
    seldom = expected < max(10, np.sort(expected)[1])
    groups = [[*values[~seldom], values[seldom].sum()] for values in (counts, expected)]
    assert chisquare(*groups).pvalue > 1e-3


def test_word_vectors_are_shared_not_held():
    head = build_head(shelves(), hidden_size=H, vocab=50, embedding=nn.Embedding(50, VECTOR))
    assert set(head.state_dict()) == {"words.project.weight", "words.bias", "shelves.weight", "shelves.bias"}

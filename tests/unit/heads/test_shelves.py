"""Shelves at every size, with ties, with scores far apart, under autocast, and how rows read a shelf together."""

import copy

import numpy as np
import pytest
import torch
from by_hand import VECTOR, ByHand, H, all_log_probs, enumerated_topk, hidden_states, random_head, shelves
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare
from torch import nn

from trellex import heads
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


@pytest.mark.parametrize("vocab", [2, 3, 31, 32, 100])
@pytest.mark.parametrize(("words", "visit"), [(2, 1), (4, 3), (8, 99)])
@pytest.mark.parametrize("sharpness", [0.3, 3.0])
def test_what_kernels_rank_is_the_same(vocab, words, visit, sharpness, monkeypatch):
    """In Triton's interpreter where there is no GPU, and with the words of many rows and of few."""
    pytest.importorskip("triton", reason="Triton is not installed")
    place = "cuda" if torch.cuda.is_available() else "cpu"
    here = random_head(shelves(words=words, visit=visit, memory=4, code="random"), vocab, scale=sharpness).float()
    there, h = copy.deepcopy(here).to(place), hidden_states(9).float()
    there.words._embedding = [copy.deepcopy(here.words._embedding[0]).to(place)]
    with torch.no_grad():
        best = here.best(h)
        (expected, log_probs) = here.topk(h, 3)
        for module in (heads.shelves, heads.shelf_scores):
            monkeypatch.setattr(module, "has_kernels", lambda _: True)
        for rows in (slice(0, 1), slice(None)):
            assert torch.equal(there.best_at_once(h[rows].to(place)).cpu(), best[rows])
            assert torch.equal(there.best(h[rows].to(place)).cpu(), best[rows])
            for found, found_log_probs, *_ in (
                there.topk(h[rows].to(place), 3),
                there.topk_at_once(h[rows].to(place), 3),
            ):
                assert torch.equal(found.cpu(), expected[rows])
                torch.testing.assert_close(found_log_probs.cpu(), log_probs[rows], rtol=1e-4, atol=1e-4)


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


@pytest.mark.parametrize("visit", [1, 2, 4, 99])
def test_at_once_the_best_word_is_told_where_no_other_shelf_may_hold_a_better(visit):
    spec = shelves(words=4, visit=visit, memory=4, code="random")
    head, h = random_head(spec, 50), hidden_states(200)
    log_probs, found = all_log_probs(head, h), head.best_at_once(h).numpy()
    all_shelves = torch.arange(head.num_shelves).expand(len(h), -1)
    log_shelves = head.log_prob_of_shelves(head.shelf_logits(h), all_shelves).detach().numpy()
    visited = np.argsort(-log_shelves, -1)[:, : head.visit]
    is_visited = (head.place_of(np.arange(50))[0] == visited[..., None]).any(1)  # [T, V]
    np.put_along_axis(log_shelves, visited, -np.inf, -1)
    is_told = np.where(is_visited, log_probs, -np.inf).max(-1) >= log_shelves.max(-1)
    assert np.array_equal(found, np.where(is_told, log_probs.argmax(-1), -1))
    assert is_told.any()
    assert is_told.all() == (visit > 2)


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


class TestSumsThatRoundingTellsApart:
    """Scores that are equal but for rounding, of more shelves than are sought at once."""

    @pytest.fixture
    def head(self):
        def head(visit, vocab, logits, dtype=torch.float64):
            head = random_head(shelves(words=2, visit=visit, code="random"), vocab, dtype=dtype)
            with torch.no_grad():
                head.shelves.weight.zero_()
                head.shelves.bias.copy_(torch.from_numpy(logits(np.random.default_rng(3), head.length)))
            return head

        return head

    @pytest.mark.parametrize("visit", [1, 16, 64, 100, 300])
    @pytest.mark.parametrize("vocab", [300, 1000])
    def test_tenths(self, head, visit, vocab):
        head, h = head(visit, vocab, lambda random, length: random.integers(-3, 4, length) / 10), hidden_states(2)
        log_probs = all_log_probs(head, h)
        np.testing.assert_allclose(np.exp(log_probs).sum(-1), 1, rtol=1e-10)
        self.check(head, h, log_probs, {"rtol": 1e-10})
        words = torch.tensor([3, vocab - 1])
        loss = -head.log_prob(h, words) - head.log_prob_of_shelves(
            head.shelf_logits(h), head.place_of(words)[0][:, None]
        ).squeeze(-1)
        torch.testing.assert_close(head.loss(h, words), loss)

    @pytest.mark.parametrize("visit", [16, 100])
    def test_scores_of_few_rows_at_a_time(self, head, visit, monkeypatch):
        head, h = head(visit, 1000, lambda random, length: random.integers(-3, 4, length) / 10), hidden_states(5)
        expected, log_probs = head.topk(h, 300), head.log_prob(h, torch.arange(5))
        monkeypatch.setattr(shelf_distribution, "MOST_SCORES", 2 * head.num_shelves)
        assert all(torch.equal(*found) for found in zip(head.topk(h, 300), expected, strict=True))
        assert torch.equal(head.log_prob(h, torch.arange(5)), log_probs)

    @pytest.mark.parametrize("visit", [3, 64])
    def test_many_sizes(self, head, visit):
        """Up to those at which single precision tells no units apart."""

        def logits(random, length):
            return random.choice([-1.0, 1.0], length) * 10 ** random.uniform(14, 16, length)

        head, h = head(visit, 1000, logits, torch.float32), hidden_states(2).float()
        self.check(head, h, all_log_probs(head, h), {"rtol": 1e-5})

    @staticmethod
    def check(head, h, log_probs, rounding):
        """The k best are just those of all words."""
        for k in (1, 60, 250):
            words, best = (found.detach().numpy() for found in head.topk(h, k))
            assert all(len(set(row)) == k for row in words.tolist())
            np.testing.assert_allclose(np.take_along_axis(log_probs, words, -1), best, **rounding)
            np.testing.assert_allclose(best, enumerated_topk(log_probs, k)[1], **rounding)
        best = np.take_along_axis(log_probs, head.best(h)[:, None].numpy(), -1)[:, 0]
        np.testing.assert_allclose(best, log_probs.max(-1), **rounding)
        words, best = (found.detach().reshape(len(h), -1).numpy() for found in head.best_shelves(h, 200)[2:])
        own = np.take_along_axis(log_probs, words.clip(0), -1)
        np.testing.assert_allclose(np.where(words < 0, -np.inf, own), best, **rounding)


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


MANY = shelves(words=2, visit=100), 1000  # shelves: the scores of all are looked at


def test_no_rows_of_many_shelves():
    head, h, none = random_head(*MANY), hidden_states(0), torch.zeros(0, dtype=torch.int64)
    assert head.loss(h, none).shape == head.log_prob(h, none).shape == (0,)
    assert head.best(h).shape == head.sample(h).shape == head.sample(h, 0.5).shape == (0,)
    assert [found.shape for found in head.topk(h, 700)] == [(0, 700)] * 2
    assert head.best_shelves(h, 300)[0].shape == (0, 300)


@pytest.mark.parametrize(("spec", "vocab"), [(shelves(), 50), MANY])
def test_a_batch_of_ignored_targets_alone(spec, vocab):
    head, h = random_head(spec, vocab), hidden_states(3).requires_grad_()
    loss = head.loss(h, torch.full((3,), -100))
    loss.sum().backward()
    assert loss.tolist() == [0, 0, 0]
    assert not h.grad.any()


def test_on_an_accelerator_the_same_shelves_are_visited(monkeypatch):
    head, h = random_head(shelves(words=2, visit=9), 1000, dtype=torch.float32), hidden_states(50).float()
    words = torch.arange(50)
    expected = head.loss(h, words), head.log_prob(h, words)
    monkeypatch.setattr("trellex.heads.shelves.is_inspectable", lambda _: False)
    monkeypatch.setattr(ShelvesHead, "_first_shelves", None)  # by which they are found in main memory
    torch.testing.assert_close((head.loss(h, words), head.log_prob(h, words)), expected)


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
    """In the end three shelves are looked at together."""
    monkeypatch.setattr(shelf_distribution, "PATIENCE", patience)
    monkeypatch.setattr(shelf_distribution, "MOST_WORDS", 3 * 4)
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

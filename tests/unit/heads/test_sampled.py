"""A softmax that is trained by drawn words: estimates against enumeration, and what never changes."""

import copy
import math
from itertools import product

import numpy as np
import pytest
import torch
from by_hand import VECTOR, ByHand, Counted, H, code_words, hidden_states, name_of, random_head, with_options
from scipy.stats import chisquare
from test_cost import LargestTensor
from torch import nn

from trellex.codes import RandomCode, cluster_code
from trellex.heads import build_head
from trellex.heads.proposals import CodeProposal, LogUniform, Samples
from trellex.heads.sampled_losses import LOSSES

SAMPLED = {"type": "softmax", "loss": "sampled"}
CODE = {"proposal": "code", "memory": 3}
SPECS = [
    {**SAMPLED, "samples": 5},
    {**SAMPLED, "samples": 5, "tied": True},
    {**SAMPLED, "samples": 5, **CODE},
    {**SAMPLED, "samples": 5, **CODE, "tied": True, "code": "random"},
    {**SAMPLED, "samples": 5, **CODE, "code": "huffman"},
    {"type": "softmax", "loss": "nce", "samples": 5},
    {"type": "softmax", "loss": "nce", "samples": 5, **CODE},
    {"type": "softmax", "loss": "negative", "samples": 5},
]
each = pytest.mark.parametrize("spec", SPECS, ids=name_of)
of_any_size = pytest.mark.parametrize("vocab", [2, 31, 32, 33])


def gradients(head, h, target):
    """Of hidden states and weights, the loss being summed."""
    inputs = h.clone().requires_grad_()
    return torch.autograd.grad(head.loss(inputs, target).sum(), (inputs, *head.linear.parameters()))


def distance(found, expected):
    """Of several gradients, relative."""
    squares = [
        ((mine - exact).square().sum(), exact.square().sum()) for mine, exact in zip(found, expected, strict=True)
    ]
    return math.sqrt(sum(a for a, _ in squares) / sum(b for _, b in squares))


def mean_distance(samples, vocab, h, target, repeats=500):
    """How far the mean of gradients by shared words is from those of the full softmax."""
    head = random_head(with_options(SAMPLED, samples=samples), vocab, scale=0.7)
    torch.manual_seed(samples)
    drawn = [gradients(head, h, target) for _ in range(repeats)]
    means = [torch.stack(parts).mean(0) for parts in zip(*drawn, strict=True)]
    return distance(means, gradients(head.eval(), h, target))


def following(spec, vocab=32):
    """A head whose proposal is the softmax itself: a trellis whose memory holds all bits can be any distribution."""
    head = random_head(with_options(spec, memory=8), vocab, scale=0.7)
    rows = np.c_[head.linear.weight.detach(), head.linear.bias.detach()]  # [V, H + 1]
    words = code_words(int(math.log2(vocab)), True, 8)  # [V, L]
    found = torch.from_numpy(np.linalg.lstsq(words, rows - rows[:1], rcond=None)[0])
    with torch.no_grad():
        head.proposal.linear.weight.copy_(found[:, :-1])
        head.proposal.linear.bias.copy_(found[:, -1])
    return head


class TestGradients:
    @of_any_size
    @pytest.mark.parametrize("tied", [False, True])
    def test_of_all_words_are_those_of_the_full_softmax(self, vocab, tied):
        spec, h, target = {**SAMPLED, "tied": tied}, hidden_states(vocab), torch.arange(vocab)
        for samples in (vocab, vocab + 7):
            head = random_head(with_options(spec, samples=samples), vocab)
            expected = ByHand(head, {"type": "softmax", "tied": tied}, h).losses()[target, target]
            np.testing.assert_allclose(head.loss(h, target).detach(), expected, rtol=1e-10, atol=1e-12)
            found = gradients(head, h, target)
            torch.testing.assert_close(found, gradients(head.eval(), h, target))

    def test_their_mean_nears_that_of_the_full_softmax(self):
        """That of shared words, from one seed for each number of samples."""
        h, target = hidden_states(8), torch.tensor([0, 1, 2, 3, 10, 20, 40, 49])
        biases = [mean_distance(samples, 50, h, target) for samples in (3, 12, 30, 49)]
        assert biases == sorted(biases, reverse=True)
        assert biases[0] > 0.4
        assert biases[2] < 0.12
        assert biases[3] < 0.01

    @pytest.mark.parametrize("samples", [1, 2, 8])
    def test_a_proposal_that_follows_the_context_needs_few_samples(self, samples):
        """If q = P, a drawn word is the target's equal: the gradient has its direction for every S, and S / (S + 1) of
        its length. Rows are repeated, for each has words of its own."""
        h, target, repeats = hidden_states(8), torch.tensor([0, 1, 2, 3, 10, 20, 25, 31]), 4000
        head = following({**SAMPLED, **CODE, "samples": samples})
        exact = gradients(copy.deepcopy(head).eval(), h, target)
        torch.manual_seed(samples)
        of_states, *others = gradients(head, h.repeat(repeats, 1), target.repeat(repeats))
        means = [of_states.view(repeats, *h.shape).mean(0), *(part / repeats for part in others)]
        assert distance(means, exact) == pytest.approx(1 / (samples + 1), rel=0.05)
        assert distance([part * (samples + 1) / samples for part in means], exact) < 0.02
        assert 1 / (samples + 1) < mean_distance(samples, 32, h, target, 50) - 0.1

    @each
    def test_reach_all_and_are_finite(self, spec):
        for vocab in (2, 31, 32, 33):
            for size in (1, 1000):
                head = random_head(spec, vocab, dtype=torch.float32)
                h = (hidden_states(vocab).float() * size).requires_grad_()
                values = head.loss(h, torch.arange(vocab))
                values.sum().backward()
                assert values.shape == (vocab,)
                assert values.isfinite().all()
                for gradient in (h.grad, *(parameter.grad for parameter in head.parameters())):
                    assert gradient.isfinite().all()
                assert all(parameter.grad.any() for parameter in head.parameters()) or size > 1


class TestLosses:
    """Every sample that can be drawn, weighed by its probability."""

    V, S = 4, 3

    def cases(self, seed=0):
        """Probabilities of the words, scores, and every sample with its probability."""
        random = np.random.default_rng(seed)
        q, scores = torch.from_numpy(random.dirichlet(np.ones(self.V))), torch.from_numpy(random.normal(size=self.V))
        words = torch.tensor(list(product(range(self.V), repeat=self.S)))  # [V^S, S]
        return q, scores, words, q[words].prod(-1)

    def losses(self, name, q, scores, words, target):
        """Of one target and all samples. [V^S]"""
        log_counts = q.log() + math.log(self.S)
        targets = torch.full((len(words),), target)
        samples = Samples(words, log_counts[words], log_counts[targets], may_repeat=True)
        return LOSSES[name](scores[targets], scores[words], targets, samples)

    @pytest.mark.parametrize(("name", "nears"), [("nce", True), ("negative", False)])
    def test_expected_gradients_near_those_of_the_softmax(self, name, nears):
        """As more words are drawn, each with its probability, where scores are log P, as `nce` makes them."""
        q, scores, *_ = self.cases()
        scores, every, distances = scores.log_softmax(-1).requires_grad_(), torch.arange(self.V), []
        (exact,) = torch.autograd.grad(-scores.log_softmax(-1)[2], scores)
        for count in (1, 100, 10_000, 10_000_000):
            log_counts, target = q.log() + math.log(count), torch.full((self.V,), 2)
            drawn = Samples(every[:, None], log_counts[:, None], log_counts[target], may_repeat=True)
            nothing = Samples(every[:, None][:, :0], log_counts[:, None][:, :0], log_counts[target], may_repeat=True)
            of_target, loss = scores[target], LOSSES[name]
            alone = loss(of_target, scores[:, None][:, :0], target, nothing)
            expected = alone[0] + count * (q * (loss(of_target, scores[:, None], target, drawn) - alone)).sum()
            (found,) = torch.autograd.grad(expected, scores)
            distances.append(float((found - exact).norm()))
        assert (distances == sorted(distances, reverse=True)) == nears
        assert (distances[-1] < 1e-3) == nears

    @pytest.mark.parametrize(("name", "corrected"), [("sampled", 0), ("nce", 0), ("negative", 1)])
    def test_the_best_scores(self, name, corrected):
        """They are log P, whatever is drawn; of negative sampling log P less the log of expected counts."""
        q, _, words, probs = self.cases()
        p = torch.from_numpy(np.random.default_rng(7).dirichlet(np.ones(self.V)))
        best = (p.log() - corrected * (q.log() + math.log(self.S))).requires_grad_()
        each = [p[target] * (probs * self.losses(name, q, best, words, target)).sum() for target in range(self.V)]
        (gradient,) = torch.autograd.grad(sum(each), best)
        torch.testing.assert_close(gradient, torch.zeros_like(gradient), atol=1e-12, rtol=0)

    def test_a_sampled_softmax_needs_no_normalised_scores(self):
        q, scores, words, _ = self.cases()
        shifted = self.losses("sampled", q, scores + 5, words, 2)
        torch.testing.assert_close(shifted, self.losses("sampled", q, scores, words, 2))

    def test_a_target_that_was_drawn_without_repetition_counts_once(self):
        _, scores, _, _ = self.cases()
        words, log_counts = torch.tensor([3, 1, 2]), torch.tensor([-0.5, -0.25, 0.0]).double()
        drawn = Samples(words, log_counts, log_counts[1:], may_repeat=False)
        for row, target in enumerate((1, 2)):
            others = [float(score) for word, score in zip(words, scores[words] - log_counts, strict=True)]
            expected = np.logaddexp.reduce(others) - others[target]
            values = LOSSES["sampled"](scores[[1, 2]], scores[words].expand(2, -1), torch.tensor([1, 2]), drawn)
            assert values[row].item() == pytest.approx(expected)
        alone = Samples(words[:1], log_counts[:1], log_counts[:1], may_repeat=False)
        assert LOSSES["sampled"](scores[3:], scores[3:, None], torch.tensor([3]), alone) == 0


class TestLogUniform:
    def test_follows_the_law_of_zipf(self):
        rates = LogUniform(50).rates.array
        np.testing.assert_allclose(rates, [math.log((w + 2) / (w + 1)) / math.log(51) for w in range(50)], rtol=1e-9)
        assert rates.sum() == pytest.approx(1)

    def test_the_first_word_is_drawn_by_it(self):
        torch.manual_seed(0)
        proposal, h, target = LogUniform(9), torch.zeros(1, 1, dtype=torch.float64), torch.zeros(1, dtype=torch.int64)
        drawn = torch.cat([proposal.draw(h, target, 1).words for _ in range(5000)])
        assert chisquare(np.bincount(drawn, minlength=9), proposal.rates.array * 5000).pvalue > 1e-3

    @pytest.mark.parametrize("count", [1, 3, 8])
    def test_sums_over_expected_counts_are_right_on_average(self, count):
        torch.manual_seed(count)
        proposal, target = LogUniform(9), torch.arange(9)
        values, sums, counts = torch.linspace(1, 3, 9, dtype=torch.float64), [], []
        for _ in range(2000):
            words, log_counts, log_target_counts, *_ = proposal.draw(torch.zeros(9, 1).double(), target, count)
            assert len(set(words.tolist())) == count
            torch.testing.assert_close(log_target_counts[words], log_counts)
            sums.append((values[words] / log_counts.exp()).sum())
            counts.append(log_target_counts.exp().sum())
        error = torch.stack(sums) - values.sum()
        assert error.mean().abs() < 4 * error.std() / math.sqrt(len(sums))
        excess = torch.stack(counts) - count
        assert excess.mean().abs() < 4 * excess.std() / math.sqrt(len(counts))

    def test_of_half_precision_it_keeps_single(self):
        drawn = LogUniform(5000).draw(torch.zeros(2, 1, dtype=torch.bfloat16), torch.tensor([0, 4999]), 10)
        assert drawn.log_counts.dtype == drawn.log_target_counts.dtype == torch.float32


class TestCodeProposal:
    @of_any_size
    @pytest.mark.parametrize("code", ["frequency", "random", "huffman"])
    def test_expected_counts_are_those_of_its_probabilities(self, vocab, code):
        head, h = random_head({**SAMPLED, **CODE, "code": code}, vocab), hidden_states(5)
        target, every = torch.arange(5) % vocab, torch.arange(vocab)
        with torch.no_grad():
            log_q = torch.stack([head.proposal.log_prob(row.expand(vocab, -1), every) for row in h])  # [T, V]
            words, log_counts, log_target_counts, _, loss = head.proposal.draw(h, target, 7)
        np.testing.assert_allclose(log_q.exp().sum(-1), 1)
        assert words.shape == (5, 7)
        torch.testing.assert_close(log_counts, log_q.gather(1, words) + math.log(7))
        torch.testing.assert_close(log_target_counts, -loss + math.log(7))
        torch.testing.assert_close(loss, -log_q[torch.arange(5), target])

    def test_words_of_a_row_follow_its_hidden_state(self):
        head, h = random_head({**SAMPLED, **CODE}, 12, scale=0.5), hidden_states(3)
        torch.manual_seed(0)
        drawn = head.proposal.draw(h, torch.zeros(3, dtype=torch.int64), 4000).words
        with torch.no_grad():
            log_q = torch.stack([head.proposal.log_prob(row.expand(12, -1), torch.arange(12)) for row in h])
        for row in range(3):
            expected = log_q[row].exp().numpy() * 4000
            common = expected >= 5
            observed = np.bincount(drawn[row], minlength=12)
            observed, expected = (np.append(each[common], each[~common].sum() + 1e-9) for each in (observed, expected))
            assert chisquare(observed, expected * observed.sum() / expected.sum()).pvalue > 1e-3

    def test_it_follows_and_does_not_lead(self):
        """The hidden state learns nothing from it, and it learns −log q of the target alone."""
        head, h, target = random_head({**SAMPLED, **CODE}, 20), hidden_states(6), torch.arange(6)
        inputs = h.clone().requires_grad_()
        drawn = head.proposal.draw(inputs, target, 4)
        assert not drawn.log_counts.requires_grad
        assert not drawn.log_target_counts.requires_grad
        assert torch.autograd.grad(drawn.loss.sum(), inputs, allow_unused=True) == (None,)
        own = list(head.proposal.parameters())
        expected = torch.autograd.grad(head.proposal.loss(h, target).sum(), own)
        torch.testing.assert_close(torch.autograd.grad(head.loss(h, target).sum(), own), expected)

    def test_all_samples_may_be_the_target(self):
        """Then there is nothing to tell apart, and nothing to learn."""
        head = random_head({**SAMPLED, **CODE, "samples": 4}, 32)
        with torch.no_grad():
            head.proposal.linear.weight.zero_()
            head.proposal.linear.bias.fill_(-50)  # no bit is 1
        inputs = hidden_states(3).requires_grad_()
        loss = head.loss(inputs, torch.zeros(3, dtype=torch.int64))
        torch.testing.assert_close(loss, torch.full_like(loss, math.log(5)))
        (gradient,) = torch.autograd.grad(loss.sum(), inputs)
        torch.testing.assert_close(gradient, torch.zeros_like(gradient))


class TestTraining:
    @pytest.mark.parametrize(
        "spec",
        [SAMPLED, {"type": "softmax", "loss": "nce"}, {**SAMPLED, **CODE}, {"type": "softmax", "loss": "nce", **CODE}],
        ids=name_of,
    )
    def test_ends_near_the_true_probabilities(self, spec):
        """Three contexts with probabilities of their own, 8 samples of 24 words."""
        torch.manual_seed(1)
        truth = (torch.randn(3, 24) - torch.arange(1, 25).log()).softmax(-1)
        head = build_head(with_options(spec, samples=8), hidden_size=3, vocab=24)
        optimizer = torch.optim.Adam(head.parameters(), lr=0.1)
        contexts, states = torch.arange(3).repeat(300), torch.eye(3)
        for step in range(250):
            optimizer.param_groups[0]["lr"] = 0.1 * (1 - step / 250)
            target = torch.multinomial(truth[contexts], 1)[:, 0]
            optimizer.zero_grad()
            head.loss(states[contexts], target).mean().backward()
            optimizer.step()
        found = torch.stack([head.log_prob(states[[row] * 24], torch.arange(24)) for row in range(3)])
        divergence = (truth * (truth.log() - found)).sum(-1)
        assert divergence.max() < 0.02
        if spec["loss"] == "nce":  # and the scores are normalised by themselves
            assert head.linear(states).logsumexp(-1).abs().max() < 0.2

    def test_scores_of_nce_begin_normalised(self):
        head = build_head({"type": "softmax", "loss": "nce"}, hidden_size=64, vocab=2000)
        assert head._logits(torch.randn(5, 64)).logsumexp(-1).abs().max() < 0.3

    @each
    def test_ignored_targets_cost_nothing(self, spec):
        head = random_head(with_options(spec, ignore_index=3, reduction="sum"), 40)
        h, target = hidden_states(6).requires_grad_(), torch.tensor([3, 5, 3, 3, 39, 0])
        (gradient,) = torch.autograd.grad(head.loss(h, target), h)
        assert gradient.any(-1).tolist() == [False, True, False, False, True, True]
        assert head.loss(h, torch.full((6,), 3)) == 0

    @each
    def test_on_an_accelerator_all_rows_are_computed(self, spec, monkeypatch):
        monkeypatch.setattr("trellex.heads.distribution.is_inspectable", lambda _: False)
        head = random_head(with_options(spec, ignore_index=3), 40)
        h, target = hidden_states(4).requires_grad_(), torch.tensor([3, 5, 3, 39])
        values = head.loss(h, target)
        (gradient,) = torch.autograd.grad(values.sum(), h)
        assert (values != 0).tolist() == gradient.any(-1).tolist() == [False, True, False, True]

    @each
    def test_no_value_is_looked_at_on_an_accelerator(self, spec):
        """The device `meta` has none: what would wait for them fails."""
        head = random_head(with_options(spec, reduction="sum"), 40).to("meta")
        h = torch.zeros(300, H, dtype=torch.float64, device="meta", requires_grad=True)
        head.loss(h, torch.zeros(300, dtype=torch.int64, device="meta")).backward()
        assert all(parameter.grad.is_meta for parameter in head.parameters())
        assert h.grad.shape == h.shape

    @each
    def test_follows_the_global_generator(self, spec):
        head, h, target = random_head(spec, 200), hidden_states(5), torch.arange(5)
        drawn = []
        for seed in (1, 2, 1):
            torch.manual_seed(seed)
            drawn.append(head.loss(h, target))
        assert torch.equal(drawn[0], drawn[2])
        assert not torch.equal(drawn[0], drawn[1])

    @each
    def test_of_no_rows(self, spec):
        head, none = random_head(spec, 50), torch.zeros(0, dtype=torch.int64)
        loss = head.loss(hidden_states(0), none)
        assert loss.shape == (0,)
        loss.sum().backward()
        assert not any(parameter.grad.any() for parameter in head.linear.parameters())

    @each
    def test_under_autocast_the_loss_is_in_single_precision(self, spec):
        head, h = random_head(spec, 50, scale=0.3, dtype=torch.float32), hidden_states(5).float()
        with torch.autocast("cpu", torch.bfloat16):
            loss = head.loss(h, torch.arange(5))
        assert loss.dtype == torch.float32
        loss.sum().backward()
        assert head.linear.bias.grad.isfinite().all()

    @pytest.mark.parametrize("more", [{}, CODE], ids=["log-uniform", "code"])
    def test_vectors_of_a_decoder_may_have_a_sparse_gradient(self, more):
        embedding = nn.Embedding(2000, VECTOR, sparse=True)
        spec = {**SAMPLED, "samples": 8, "tied": True, **more}
        head = build_head(spec, hidden_size=H, vocab=2000, embedding=embedding)
        head.loss(hidden_states(4).float(), torch.arange(4)).sum().backward()
        assert embedding.weight.grad.is_sparse
        read = embedding.weight.grad.coalesce().indices().numel()
        assert 4 <= read <= (4 * 8 + 4 if more else 8 + 4)

    @pytest.mark.parametrize("spec", [SAMPLED, {**SAMPLED, **CODE}, {"type": "softmax", "loss": "nce"}], ids=name_of)
    def test_no_row_has_a_tensor_of_all_words(self, spec):
        vocab, rows = 1 << 16, 32
        head = build_head(spec, hidden_size=H, vocab=vocab)
        h, words = hidden_states(rows).float().requires_grad_(), torch.arange(rows) * 2000
        with LargestTensor() as largest:
            loss = head.loss(h, words).sum()
        assert largest.size <= vocab * 1.1
        with LargestTensor() as largest:
            loss.backward()
        assert largest.size == head.linear.weight.numel()


class TestReading:
    @each
    def test_is_that_of_the_softmax(self, spec):
        """Whatever it was trained by: probabilities, best words, samples, its loss in evaluation, and its cost."""
        plain = {"type": "softmax", "tied": spec.get("tied", False)}
        head, full, h, words = random_head(spec, 50), random_head(plain, 50), hidden_states(7), torch.arange(7)
        for one, other in ((full.linear, head.linear), (getattr(full, "owned", None), getattr(head, "owned", None))):
            if one is not None:
                one.load_state_dict(other.state_dict())
        assert torch.equal(head.log_prob(h, words), full.log_prob(h, words))
        for mine, other in zip(head.topk(h, 5), full.topk(h, 5), strict=True):
            assert torch.equal(mine, other)
        assert torch.equal(head.best(h), full.best(h))
        drawn = [each.sample(h, generator=torch.Generator().manual_seed(3)) for each in (head, full)]
        assert torch.equal(*drawn)
        assert torch.equal(head.eval().loss(h, words), full.loss(h, words))
        assert head.cost() == full.cost()

    def test_only_a_code_adds_weights(self):
        def names(spec):
            return set(random_head(spec, 50).state_dict())

        of_softmax = {"linear.weight", "linear.bias"}
        assert names("softmax") == names({"type": "softmax", "loss": "full"}) == names(SAMPLED) == of_softmax
        assert names({**SAMPLED, **CODE}) == of_softmax | {"proposal.linear.weight", "proposal.linear.bias"}


class TestCode:
    def test_is_a_part_of_the_model_where_there_is_one(self):
        embedding = nn.Embedding(50, 4)

        def build(**options):
            spec = {**SAMPLED, **options}
            return build_head(spec, hidden_size=4, vocab=Counted(np.arange(50, 0, -1)), embedding=embedding)

        assert build().code is build_head("softmax", hidden_size=4, vocab=50).code is None
        assert isinstance(build(**CODE).proposal, CodeProposal)
        clusters = build(**CODE, code="clusters")
        assert clusters.code == clusters.proposal.code == cluster_code(embedding.weight)
        assert clusters.spec.code == "clusters"
        assert build(**CODE, code="random", seed=3).code == RandomCode(50, 3)
        with pytest.raises(ValueError, match="^code: expected one of 50 words"):
            build(**CODE, code=RandomCode(49))

    def test_how_many_are_drawn_unless_it_is_told(self):
        assert build_head(SAMPLED, hidden_size=4, vocab=50).spec.num_samples == 1024
        assert build_head({**SAMPLED, **CODE}, hidden_size=4, vocab=50).spec.num_samples == 64
        assert build_head({**SAMPLED, "samples": 3}, hidden_size=4, vocab=50).spec.num_samples == 3
        assert build_head({**SAMPLED, "proposal": "code"}, hidden_size=4, vocab=50).proposal.ecc.memory == 6

"""Every output layer against a computation by hand: plain numpy, word by word, from the layer's weights."""

import math

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from torch.utils._python_dispatch import TorchDispatchMode

from trellex.heads import build_head

H = 6
UNK = 0

PLAIN = ["softmax", "binary", "binary-ec", "hybrid-9", "hybrid-9-ec"]
RARE = [{"type": "hybrid-9", "numbering": "rare"}, {"type": "hybrid-9-ec", "numbering": "rare"}]
OTHER_CODES = [
    {"type": kind, "code": code} for kind in ("binary", "binary-ec", "hybrid-9-ec") for code in ("random", "huffman")
]
LOSSES = ["squared", "cross_entropy", "trellis"]


def name_of(spec):
    return spec if isinstance(spec, str) else " ".join(map(str, spec.values()))


def with_options(spec, **options):
    return {**({"type": spec} if isinstance(spec, str) else spec), **options}


def random_head(spec, vocab, scale=1.0, dtype=torch.float64):
    """A head with weights large enough that its words differ."""
    head = build_head(spec, hidden_size=H, vocab=Counted(10_000 // np.arange(1, vocab + 1))).to(dtype)
    generator = torch.Generator().manual_seed(vocab)
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=torch.float64) * scale)
    return head


class Counted:
    """A vocabulary with counts, as far as a head looks at one."""

    def __init__(self, counts):
        self.counts = counts

    def __len__(self):
        return len(self.counts)


def hidden_states(rows, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).normal(size=(rows, H)))


def log_softmax(scores):
    shifted = scores - scores.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def affine(layer, h):
    return h @ layer.weight.detach().double().numpy().T + layer.bias.detach().double().numpy()


def code_word(number, num_bits, error_correcting):
    """Algorithm 1, and Algorithm 2 as a product of polynomials modulo 2."""
    bits = [number // 2**place % 2 for place in range(num_bits)]
    if not error_correcting:
        return np.array(bits)
    generators = [1, 1, 1, 1, 0, 0, 1], [1, 0, 1, 1, 0, 1, 1]  # newest bit first
    return np.stack([np.convolve(bits, generator) % 2 for generator in generators], -1).ravel()


class ByHand:
    """The paper's equations for one head with the frequency code and hidden states h [T, H]."""

    def __init__(self, head, spec, h):
        spec = with_options(spec)
        family, *rest = spec["type"].split("-")
        self.vocab_size, self.spec, h = head.vocab_size, spec, h.double().numpy()
        self.first_rare = self.vocab_size if family == "softmax" else 0
        if family == "softmax":
            self.log_v = log_softmax(affine(head.linear, h))  # [T, V]
            return
        if family == "hybrid":
            self.first_rare = int(rest[0]) - 1
            self.log_v = log_softmax(affine(head.softmax, h))  # [T, N], OTHER last
        else:
            self.log_v = np.zeros((len(h), 1))
        self.offset = self.first_rare if spec.get("numbering") == "rare" else 0
        self.num_bits = math.ceil(math.log2(self.vocab_size - self.offset))
        self.logits = affine(head.bits.linear, h)
        arrays = [code_word(number, self.num_bits, rest[-1:] == ["ec"]) for number in range(2**self.num_bits)]
        self.arrays = np.array(arrays)  # [2^B, L]
        words = np.arange(self.first_rare, self.vocab_size)
        self.scores = self.logits @ self.arrays[words - self.offset].T
        self.log_pi = log_softmax(self.scores)  # [T, rare words]

    def log_probs(self):
        """[T, V]"""
        if self.first_rare == self.vocab_size:
            return self.log_v
        return np.concatenate([self.log_v[:, :-1], self.log_v[:, -1:] + self.log_pi], -1)

    def loss(self, row, word):
        if word < self.first_rare:
            return -self.spec.get("softmax_weight", 1) * self.log_v[row, word]
        bits, q = self.arrays[word - self.offset], 1 / (1 + np.exp(-self.logits[row]))
        bit_loss = {
            "squared": sum((q - bits) ** 2),
            "cross_entropy": -sum(np.log(np.where(bits == 1, q, 1 - q))),
            "trellis": np.log(np.exp(self.scores[row]).sum()) - self.scores[row, word - self.first_rare],
        }[self.spec.get("loss", "squared")]
        return -self.spec.get("softmax_weight", 1) * self.log_v[row, -1] + self.spec.get("bits_weight", 1) * bit_loss

    def paper_word(self, row):
        """Softmax first; behind OTHER the best of all arrays, UNK if it is not a word's."""
        place = int(self.log_v[row].argmax())
        if place < self.log_v.shape[1] - 1 or self.first_rare == self.vocab_size:
            return place
        best = int((self.arrays @ self.logits[row]).argmax())
        return best + self.offset if best + self.offset < self.vocab_size else UNK


def enumerated_topk(log_probs, k):
    """The k best words by sorting all of them, padded with −1 and −inf. log_probs [T, V] -> [T, k] twice"""
    order = np.argsort(-log_probs, axis=-1)[:, :k]
    missing = ((0, 0), (0, k - order.shape[1]))
    best = np.take_along_axis(log_probs, order, -1)
    return np.pad(order, missing, constant_values=-1), np.pad(best, missing, constant_values=-np.inf)


def all_log_probs(head, h):
    """log_prob of every word for every row. [T, V]"""
    words = torch.arange(head.vocab_size)
    with torch.no_grad():
        return torch.stack([head.log_prob(row.expand(len(words), -1), words) for row in h]).numpy()


def spell(head, number, strength=8.0, frequent=None):
    """Make the head predict the array of `number` whatever h is, and OTHER or the word `frequent` in its softmax."""
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.zero_()
        bits = code_word(number, head.bits.code.num_bits, head.bits.ecc.memory > 0)
        head.bits.linear.bias.copy_(torch.from_numpy(2.0 * bits - 1) * strength)
        if hasattr(head, "softmax"):
            head.softmax.bias[head.other if frequent is None else frequent] = 5
    return head


class TestLoss:
    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("spec", PLAIN + RARE, ids=name_of)
    @pytest.mark.parametrize("vocab", [50, 64])
    def test_is_that_by_hand(self, spec, loss, vocab):
        spec = spec if spec == "softmax" else with_options(spec, loss=loss)
        head, h, target = random_head(spec, vocab), hidden_states(vocab), torch.arange(vocab)
        truth = ByHand(head, spec, h)
        expected = [truth.loss(row, word) for row, word in enumerate(target.tolist())]
        values = head.loss(h, target)
        assert values.shape == (vocab,)
        assert values.dtype == torch.float64
        np.testing.assert_allclose(values.detach(), expected, rtol=1e-10)
        np.testing.assert_allclose(head.float().loss(h.float(), target).detach(), expected, rtol=1e-4, atol=1e-4)

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("weights", [(0.5, 2.0), (0.0, 1.0), (3.0, 0.0)])
    def test_weights_of_the_two_parts(self, loss, weights):
        spec = {"type": "hybrid-9-ec", "loss": loss, "softmax_weight": weights[0], "bits_weight": weights[1]}
        head, h = random_head(spec, 50), hidden_states(50)
        truth = ByHand(head, spec, h)
        values = head.loss(h, torch.arange(50)).detach()
        np.testing.assert_allclose(values, [truth.loss(word, word) for word in range(50)], rtol=1e-10, atol=1e-12)

    def test_squared_distance_is_the_default(self):
        head, h = random_head("hybrid-9-ec", 50), hidden_states(50)
        truth = ByHand(head, {"type": "hybrid-9-ec", "loss": "squared"}, h)
        values = head.loss(h, torch.arange(50)).detach()
        np.testing.assert_allclose(values, [truth.loss(word, word) for word in range(50)], rtol=1e-10)

    @pytest.mark.parametrize("spec", PLAIN + RARE, ids=name_of)
    @pytest.mark.parametrize("ignored", [-100, 0, 11])
    def test_ignored_targets_and_reductions(self, spec, ignored):
        h, target = hidden_states(20).requires_grad_(), torch.arange(20)
        target[[2, 3, 19]] = ignored
        counted = (target != ignored).numpy()
        truth = ByHand(random_head(spec, 50), spec, h.detach())
        expected = np.array(
            [truth.loss(row, word) if word != ignored else 0 for row, word in enumerate(target.tolist())]
        )

        def loss(reduction):
            options = {"reduction": reduction, "ignore_index": ignored}
            return random_head(with_options(spec, **options), 50).loss(h, target)

        np.testing.assert_allclose(loss("none").detach(), expected, rtol=1e-10)
        assert loss("sum").item() == pytest.approx(expected.sum())
        assert loss("mean").item() == pytest.approx(expected[counted].mean())
        loss("mean").backward()
        assert ((h.grad != 0).any(-1).numpy() == counted).all()

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("spec", PLAIN + RARE, ids=name_of)
    @pytest.mark.parametrize("size", [1, 1000])
    def test_gradients_are_finite(self, spec, loss, size):
        head = random_head(spec if spec == "softmax" else with_options(spec, loss=loss), 50, dtype=torch.float32)
        h = (hidden_states(50).float() * size).requires_grad_()
        values = head.loss(h, torch.arange(50))
        values.sum().backward()
        gradients = [h.grad, *(parameter.grad for parameter in head.parameters())]
        assert values.isfinite().all()
        assert all(gradient.isfinite().all() and gradient.any() for gradient in gradients)

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("spec", PLAIN, ids=name_of)
    def test_gradients_by_finite_differences(self, spec, loss):
        head = random_head(spec if spec == "softmax" else with_options(spec, loss=loss), 50)
        target = torch.tensor([2, 8, 49])
        assert torch.autograd.gradcheck(lambda h: head.loss(h, target), (hidden_states(3).requires_grad_(),))


class TestLogProb:
    @pytest.mark.parametrize("spec", PLAIN + RARE, ids=name_of)
    @pytest.mark.parametrize("vocab", [50, 64])
    def test_is_that_by_hand(self, spec, vocab):
        head, h = random_head(spec, vocab), hidden_states(5)
        np.testing.assert_allclose(all_log_probs(head, h), ByHand(head, spec, h).log_probs(), rtol=1e-10, atol=1e-12)

    @pytest.mark.parametrize("spec", PLAIN + RARE + OTHER_CODES, ids=name_of)
    @pytest.mark.parametrize("vocab", [50, 64])
    def test_sums_to_1_over_the_vocabulary(self, spec, vocab):
        log_probs = all_log_probs(random_head(spec, vocab), hidden_states(5))
        np.testing.assert_allclose(np.exp(log_probs).sum(-1), 1, rtol=1e-10)

    @pytest.mark.parametrize("spec", PLAIN + RARE, ids=name_of)
    def test_half_precision_is_in_the_weights_alone(self, spec):
        head, h = random_head(spec, 50, dtype=torch.float16), hidden_states(3).half()
        log_probs = all_log_probs(head, h)
        assert log_probs.dtype == np.float32
        np.testing.assert_allclose(np.exp(log_probs).sum(-1), 1, rtol=1e-4)
        assert head.topk(h, 4)[1].dtype == torch.float32


class TestTopk:
    @pytest.mark.parametrize("spec", PLAIN + RARE + OTHER_CODES, ids=name_of)
    @pytest.mark.parametrize("vocab", [50, 64])
    def test_exact_is_enumeration(self, spec, vocab):
        head = random_head(spec if spec == "softmax" else with_options(spec, decoding="exact"), vocab)
        h = hidden_states(20)
        log_probs = all_log_probs(head, h)
        for k in (1, 5, vocab + 2):
            words, best = head.topk(h, k)
            expected_words, expected_best = enumerated_topk(log_probs, k)
            assert words.dtype == torch.int64
            assert np.array_equal(words, expected_words)
            np.testing.assert_allclose(best.detach(), expected_best, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("spec", PLAIN + RARE, ids=name_of)
    def test_paper_for_several_words_is_exact(self, spec):
        head, h = random_head(spec, 50), hidden_states(20)
        assert np.array_equal(head.topk(h, 3)[0], enumerated_topk(all_log_probs(head, h), 3)[0])

    @pytest.mark.parametrize("spec", PLAIN + RARE, ids=name_of)
    @pytest.mark.parametrize("vocab", [50, 64])
    def test_paper_is_softmax_then_the_best_array(self, spec, vocab):
        head, h = random_head(spec, vocab), hidden_states(300)
        truth = ByHand(head, spec, h)
        expected = np.array([truth.paper_word(row) for row in range(len(h))])
        words, log_probs = head.topk(h, 1)
        assert words.shape == log_probs.shape == (300, 1)
        assert np.array_equal(words[:, 0], expected)
        np.testing.assert_allclose(
            log_probs[:, 0].detach(), truth.log_probs()[np.arange(300), expected], rtol=1e-9, atol=1e-12
        )

    @pytest.mark.parametrize("spec", ["binary", "binary-ec", "hybrid-9", "hybrid-9-ec", *RARE], ids=name_of)
    def test_an_array_of_no_word_is_unk_in_the_paper_only(self, spec):
        h = torch.zeros(2, H)
        head = spell(random_head(spec, 50, dtype=torch.float32), 63)
        assert head.topk(h, 1)[0].tolist() == [[UNK], [UNK]]
        exact = spell(random_head(with_options(spec, decoding="exact"), 50, dtype=torch.float32), 63)
        assert exact.topk(h, 1)[0].tolist() == np.argmax(all_log_probs(exact, h), -1)[:, None].tolist()
        assert (exact.topk(h, 1)[0] != UNK).all()

    @pytest.mark.parametrize(
        ("spec", "word"), [("hybrid-9", 13), ("hybrid-9-ec", 13), (RARE[0], 13 + 8), (RARE[1], 13 + 8)]
    )
    def test_the_softmax_says_whether_bits_are_read(self, spec, word):
        head = random_head(spec, 50, dtype=torch.float32)
        assert spell(head, 13).topk(torch.zeros(1, H), 1)[0].item() == word
        assert spell(head, 13, frequent=4).topk(torch.zeros(1, H), 1)[0].item() == 4

    def test_bits_behind_other_may_spell_a_frequent_word_in_the_paper(self):
        assert spell(random_head("hybrid-9-ec", 50, dtype=torch.float32), 5).topk(torch.zeros(1, H), 1)[0].item() == 5

    def test_other_wins_first_though_no_rare_word_is_the_most_probable(self):
        for decoding, word in (("paper", 33), ("exact", 4)):
            head = random_head({"type": "hybrid-9", "decoding": decoding}, 50, dtype=torch.float32)
            spell(head, 33, strength=0.1)
            with torch.no_grad():
                head.softmax.bias[4] = 4.9  # OTHER has 5
            assert head.topk(torch.zeros(1, H), 1)[0].item() == word

    def test_a_probability_that_rounds_to_1_is_not_certain(self):
        """A wrong bit of 20 nats, whose float32 probability is 1, against many right bits of 10."""
        head = spell(random_head("binary-ec", 50, dtype=torch.float32), 37, strength=10)
        wrong = int((head.bits.linear.bias < 0).nonzero()[0])
        with torch.no_grad():
            head.bits.linear.bias[wrong] = 20
        assert head.topk(torch.zeros(1, H), 1)[0].item() == 37


class TestSample:
    SPECS = ("softmax", "binary", "binary-ec", "hybrid-6", "hybrid-6-ec", {"type": "hybrid-6-ec", "numbering": "rare"})

    @pytest.mark.parametrize("temperature", [1.0, 0.5])
    @pytest.mark.parametrize("spec", SPECS, ids=name_of)
    def test_follows_the_tempered_distribution(self, spec, temperature):
        draws = 20_000
        head, h = random_head(spec, 20, scale=0.3, dtype=torch.float32), hidden_states(1).float()
        tempered = np.exp(log_softmax(ByHand(head, spec, h).log_probs()[0] / temperature))
        torch.manual_seed(0)
        words = head.sample(h.expand(draws, -1), temperature)
        assert words.shape == (draws,)
        counts, expected = np.bincount(words, minlength=20), tempered * draws
        assert len(counts) == 20
        seldom = expected < 10
        counts = [*counts[~seldom], *([counts[seldom].sum()] if seldom.any() else [])]
        expected = [*expected[~seldom], *([expected[seldom].sum()] if seldom.any() else [])]
        assert len(counts) > 5
        assert chisquare(counts, expected).pvalue > 1e-3


class TestCost:
    @pytest.mark.parametrize(
        ("vocab", "spec", "bits", "outputs", "parameters"),
        [
            (65536, "softmax", 0, 65536, 33.6e6),
            (65536, "binary", 16, 16, 8.21e3),
            (65536, "hybrid-512", 16, 528, 271e3),
            (65536, "hybrid-2048", 16, 2064, 1.06e6),
            (65536, "binary-ec", 44, 44, 22.6e3),
            (65536, "hybrid-512-ec", 44, 556, 285e3),
            (65536, "hybrid-2048-ec", 44, 2092, 1.07e6),
            (25000, "softmax", 0, 25000, 12.8e6),
            (25000, "binary", 15, 15, 7.70e3),
            (25000, "hybrid-512", 15, 527, 270e3),
            (25000, "hybrid-2048", 15, 2063, 1.06e6),
            (25000, "binary-ec", 42, 42, 21.5e3),
            (25000, "hybrid-512-ec", 42, 554, 284e3),
            (25000, "hybrid-2048-ec", 42, 2090, 1.07e6),
        ],
    )
    def test_columns_of_the_paper_s_table(self, vocab, spec, bits, outputs, parameters):
        with torch.device("meta"):
            head = build_head(spec, hidden_size=512, vocab=vocab)
        cost = head.cost()
        assert (cost.bits, cost.outputs, cost.multiply_adds) == (bits, outputs, outputs * 512)
        assert float(f"{cost.parameters:.3g}") == parameters
        assert cost.parameters == sum(parameter.numel() for parameter in head.parameters())


class LargestTensor(TorchDispatchMode):
    """Remembers the most numbers that any operation put out."""

    def __init__(self):
        super().__init__()
        self.size = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for output in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(output, torch.Tensor):
                self.size = max(self.size, output.numel())
        return result


def largest_tensor(spec, vocab):
    """The size of the largest tensor in what a head does with 4 rows."""
    head = build_head(spec, hidden_size=H, vocab=vocab)
    h = hidden_states(4).float().requires_grad_()
    words = torch.tensor([0, 3, vocab // 2, vocab - 1])
    with LargestTensor() as largest:
        head.loss(h, words).sum().backward()
        for k in (1, 5):
            assert (head.topk(h, k)[0] < vocab).all()
        head.log_prob(h, words)
        head.sample(h, 0.7)
    held = [tensor.numel() for tensor in (*head.parameters(), *head.buffers())]
    return max(largest.size, *held)


class TestMemory:
    VOCAB = 1 << 20

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("decoding", ["paper", "exact"])
    @pytest.mark.parametrize("kind", ["binary", "binary-ec", "hybrid-64", "hybrid-64-ec"])
    def test_no_tensor_is_as_large_as_the_vocabulary(self, kind, loss, decoding):
        assert largest_tensor({"type": kind, "loss": loss, "decoding": decoding}, self.VOCAB) < self.VOCAB / 200

    def test_nor_with_rare_words_numbered_apart(self):
        assert largest_tensor({"type": "hybrid-64-ec", "numbering": "rare"}, self.VOCAB - 77) < self.VOCAB / 200

    def test_but_those_of_the_softmax_are(self):
        assert largest_tensor("softmax", 5000) >= 4 * 5000

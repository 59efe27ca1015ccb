"""P(word | h) of every family, in numpy and in torch, against a sum over all words."""

import numpy as np
import pytest
import torch
from scipy.special import logsumexp
from scipy.stats import chisquare

from trellex.codes import FrequencyCode, HuffmanCode, RandomCode
from trellex.heads import HeadSpec
from trellex.heads.code_distribution import UNK, CodeDistribution
from trellex.heads.distribution import SoftmaxDistribution
from trellex.heads.hybrid_distribution import HybridDistribution
from trellex.heads.shelf_distribution import ShelfDistribution
from trellex.trellis import CompleteCode, ConvolutionalCode, IdentityCode

ROWS, RARE = 7, 8
SHORT = ConvolutionalCode(("101", "111"))
CODES = {
    "plain": (FrequencyCode(11), IdentityCode(), {}),
    "paper": (FrequencyCode(37), ConvolutionalCode(), {}),
    "random": (RandomCode(13, 2), SHORT, {}),
    "huffman": (HuffmanCode([30, 12, 9, 4, 4, 3, 2, 2, 1]), SHORT, {}),
    "rare words of a code of all": (
        FrequencyCode(21),
        ConvolutionalCode(("101", "111", "011")),
        {"vocab_size": 21, "first_rare": RARE},
    ),
    "a code of rare words": (FrequencyCode(13), ConvolutionalCode(), {"vocab_size": 21, "first_rare": RARE}),
    "a random code of rare words": (RandomCode(13, 2), SHORT, {"vocab_size": 21, "first_rare": RARE}),
    "complete": (RandomCode(37, 2), CompleteCode(3), {}),
    "complete huffman": (HuffmanCode([30, 12, 9, 4, 4, 3, 2, 2, 1]), CompleteCode(3), {}),
    "complete, a code of rare words": (FrequencyCode(13), CompleteCode(4), {"vocab_size": 21, "first_rare": RARE}),
}
KINDS = pytest.mark.parametrize("kind", [np.asarray, torch.as_tensor], ids=["numpy", "torch"])


def spec_of(ecc, first_rare=0, **options):
    """The description of a head with this error-correcting code, whose bits spell the words from `first_rare` on."""
    kind = f"hybrid-{first_rare + 1}" if first_rare else "binary"
    redundancy = {} if ecc.memory == 0 else {"generators": ecc.generators}
    if isinstance(ecc, CompleteCode):
        redundancy = {"generators": "complete", "memory": ecc.memory}
    return HeadSpec.parse({"type": f"{kind}-ec" if redundancy else kind, **redundancy, **options})


class GivenBits(CodeDistribution):
    """The hidden state ends with the logits and log π themselves."""

    def __init__(self, code, ecc, mixtures=1, before=0, vocab_size=None, **options):
        super().__init__(spec_of(ecc, **options), code, vocab_size or code.vocab_size)
        self.mixtures, self.before = mixtures, before
        self.hidden_size = before + mixtures * (self.length + 1)

    def outputs(self, h):
        given = h[:, self.before :]
        return given[:, : -self.mixtures].reshape(len(h), self.mixtures, self.length), given[:, -self.mixtures :]


class GivenSoftmax(SoftmaxDistribution):
    """The hidden state is the logits."""

    def __init__(self, vocab_size):
        self.hidden_size = self.vocab_size = vocab_size

    def _logits(self, h):
        return h


class GivenShelves(ShelfDistribution):
    """The hidden state is the logits of the trellis, followed by the scores of all words."""

    def __init__(self, code, **options):
        super().__init__(HeadSpec.parse({"type": "shelves", "memory": 3, **options}), code)
        self.hidden_size = self.length + self.vocab_size

    def shelf_logits(self, h):
        return h[:, : self.length]

    def word_scores(self, h, shelves):
        words, library = self.words_on(shelves), np if isinstance(h, np.ndarray) else torch
        rows = library.arange(len(h))[:, None, None]
        return library.where(words >= 0, h[rows, self.length + words.clip(0)], -np.inf)


class GivenHybrid(HybridDistribution):
    """The hidden state begins with the logits of the softmax."""

    def __init__(self, bits):
        self.bits, self.hidden_size, self.vocab_size = bits, bits.hidden_size, bits.vocab_size

    def _logits(self, h):
        return 1 * h[:, : self.first_rare + 1]  # a new array, as a layer gives


def log_softmax(scores):
    return scores - logsumexp(scores, axis=-1, keepdims=True)


def hidden_of(bits, rows=ROWS, seed=0):
    """Hidden states of a code's distribution, whose log π are normalised. [T, H]"""
    random = np.random.default_rng(seed)
    weights = log_softmax(random.normal(size=(rows, bits.mixtures)))
    others = 2 * random.normal(size=(rows, bits.hidden_size - bits.mixtures))
    return np.concatenate([others, weights], -1)


def shelves_by_hand(shelves, h):
    """log P of every word, a row after the other. -> [T, words]"""
    shelf_of = shelves.code.numbers(np.arange(shelves.vocab_size)) % shelves.num_shelves
    scores = h[:, shelves.length :]
    log_shelves = log_softmax(shelves.ecc.all_scores(h[:, : shelves.length], shelves.shelf_bits))
    found = np.empty(scores.shape)
    for row, log_shelf in enumerate(log_shelves):
        best = np.argsort(-log_shelf, kind="stable")[: shelves.visit]
        for part in [best, *([shelf] for shelf in range(shelves.num_shelves) if shelf not in best)]:
            words = np.isin(shelf_of, part)
            found[row, words] = logsumexp(log_shelf[part]) + log_softmax(scores[row, words])
    return found


def parts_by_hand(bits, h):
    """log π_k P_k of every word that bits spell, from the first rare one on. -> [T, K, words]"""
    logits, log_weights = bits.outputs(h)
    words = np.arange(bits.first_rare, bits.vocab_size)
    return log_softmax(logits @ bits.redundant_bits(words).T) + log_weights[..., None]


def by_hand(distribution, h, temperature=1.0):
    """The log of the sum over the parts of P^(1 / temperature), of part and word together. -> [T, words]"""
    if isinstance(distribution, SoftmaxDistribution):
        return log_softmax(h) / temperature
    if isinstance(distribution, ShelfDistribution):
        return shelves_by_hand(distribution, h) / temperature
    if isinstance(distribution, CodeDistribution):
        return logsumexp(parts_by_hand(distribution, h) / temperature, axis=1)
    log_v = log_softmax(h[:, : distribution.first_rare + 1]) / temperature
    rare = logsumexp(parts_by_hand(distribution.bits, h) / temperature, axis=1)
    return np.concatenate([log_v[:, :-1], log_v[:, -1:] + rare], -1)


def words_of(distribution):
    """The words that have a probability."""
    first = distribution.first_rare if isinstance(distribution, CodeDistribution) else 0
    return np.arange(first, distribution.vocab_size)


def bits_of(name, mixtures=1, **options):
    code, ecc, others = CODES[name]
    return GivenBits(code, ecc, mixtures, **others, **options)


def hybrid_of(name, mixtures=1, **options):
    return GivenHybrid(bits_of(name, mixtures, before=RARE + 1, **options))


WITH_PAPERS_DECODING = [name for name in CODES if "complete" not in name]
OF_RARE_WORDS = [name for name in CODES if "rare words" in name]
SHELVES = {
    "shelves": lambda: GivenShelves(FrequencyCode(37), words=4, visit=3),
    "one shelf": lambda: GivenShelves(RandomCode(32, 2), words=8, visit=1),
    "all shelves": lambda: GivenShelves(RandomCode(33, 2), words=2, visit=99),
}
DISTRIBUTIONS = {
    "softmax": lambda: GivenSoftmax(30),
    **SHELVES,
    **{f"{name}, {k}": lambda name=name, k=k: bits_of(name, k) for name in CODES for k in (1, 3)},
    **{f"hybrid, {name}, {k}": lambda name=name, k=k: hybrid_of(name, k) for name in OF_RARE_WORDS for k in (1, 3)},
}


@pytest.fixture(params=DISTRIBUTIONS)
def distribution(request):
    return DISTRIBUTIONS[request.param]()


@pytest.fixture
def h(distribution):
    if isinstance(distribution, SoftmaxDistribution | ShelfDistribution):
        return 2 * np.random.default_rng(0).normal(size=(ROWS, distribution.hidden_size))
    return hidden_of(getattr(distribution, "bits", distribution))


def generator(kind, seed):
    return np.random.default_rng(seed) if kind is np.asarray else torch.Generator().manual_seed(seed)


@KINDS
class TestLogProb:
    def test_by_hand(self, distribution, h, kind):
        expected, words = by_hand(distribution, h), words_of(distribution)
        found = distribution.log_prob(kind(h[:, None].repeat(len(words), 1)), kind(np.tile(words, (ROWS, 1))))
        assert type(found) is type(kind(0))
        np.testing.assert_allclose(found, expected, atol=1e-9)
        np.testing.assert_allclose(np.exp(np.asarray(found)).sum(-1), 1, atol=1e-9)

    @pytest.mark.parametrize("name", CODES)
    def test_impossible_parts_do_not_count(self, name, kind):
        bits = bits_of(name, 3)
        h = hidden_of(bits)
        h[:, -3:] = -np.inf, -np.inf, 0
        word = bits.first_rare + 3
        expected = parts_by_hand(bits, h)[:, -1, 3]
        np.testing.assert_allclose(bits.log_prob(kind(h), kind(np.full(ROWS, word))), expected, atol=1e-9)


class TestTopk:
    @pytest.mark.parametrize("k", [1, 2, 5, 40])
    def test_numpy_and_torch_agree(self, distribution, h, k):
        words, log_probs = distribution.topk(h, k)
        in_tensors = distribution.topk(torch.from_numpy(h), k)
        assert words.shape == log_probs.shape == (ROWS, k)
        assert (words.dtype, in_tensors[0].dtype) == (np.int64, torch.int64)
        assert np.array_equal(in_tensors[0].numpy(), words)
        np.testing.assert_allclose(in_tensors[1].numpy(), log_probs, atol=1e-9)

    @KINDS
    def test_every_word_by_hand(self, distribution, h, kind):
        """With as many as there are, a mixture's best are exact, too; behind them there is nothing."""
        every = words_of(distribution)
        expected = by_hand(distribution, h)
        words, log_probs = map(np.asarray, distribution.topk(kind(h), len(every) + 2))
        assert np.array_equal(words[:, :-2], every[np.argsort(-expected, -1)])
        np.testing.assert_allclose(log_probs[:, :-2], -np.sort(-expected, -1), atol=1e-9)
        assert (words[:, -2:] == -1).all()
        assert (log_probs[:, -2:] == -np.inf).all()

    @KINDS
    def test_the_best_is_the_first(self, distribution, h, kind):
        best = distribution.best(kind(h))
        assert type(best) is type(kind(0))
        assert np.array_equal(best, distribution.topk(kind(h), 1)[0][:, 0])

    @KINDS
    @pytest.mark.parametrize(
        "name", [name for name in DISTRIBUTIONS if name in SHELVES or name.endswith(("softmax", "1"))]
    )
    def test_the_best_of_one_part_is_the_most_probable(self, name, kind):
        distribution = DISTRIBUTIONS[name]()
        h = np.random.default_rng(1).normal(size=(50, distribution.hidden_size))
        if not isinstance(distribution, SoftmaxDistribution | ShelfDistribution):
            h[:, -1] = 0
        expected = words_of(distribution)[by_hand(distribution, h).argmax(-1)]
        assert np.array_equal(distribution.best(kind(h)), expected)
        if isinstance(distribution, HybridDistribution):
            assert 0 < (expected >= RARE).mean() < 1


@KINDS
class TestPaper:
    """The softmax first; behind OTHER the best of all bit arrays, and UNK if it is not a word's."""

    def expected(self, bits, h):
        """The arrays that are read, and their words. -> [T, B], [T]"""
        num_bits = bits.code.num_bits
        arrays = (np.arange(1 << num_bits)[:, None] >> np.arange(num_bits)) & 1
        read = arrays[(bits.outputs(h)[0][:, 0] @ bits.ecc.encode(arrays).T).argmax(-1)]
        words = bits.code.ids(read)
        return read, np.where(words >= 0, words + bits.offset, UNK)

    @pytest.mark.parametrize("name", WITH_PAPERS_DECODING)
    def test_by_hand(self, name, kind):
        bits = bits_of(name, decoding="paper")
        h = hidden_of(bits, rows=40)
        arrays, words = self.expected(bits, h)
        assert np.array_equal(bits.best(kind(h)), words)
        assert np.array_equal(bits.decoded_bits(kind(h)), arrays)
        assert (words == UNK).any()

    @pytest.mark.parametrize("name", [name for name in OF_RARE_WORDS if name in WITH_PAPERS_DECODING])
    def test_of_a_hybrid_by_hand(self, name, kind):
        hybrid = hybrid_of(name, decoding="paper")
        h = hidden_of(hybrid.bits, rows=60)
        h[:, RARE] += 2
        places = h[:, : RARE + 1].argmax(-1)
        expected = np.where(places == RARE, self.expected(hybrid.bits, h)[1], places)
        assert 3 < (places == RARE).sum() < 57
        assert np.array_equal(hybrid.best(kind(h)), expected)
        assert np.array_equal(hybrid.topk(kind(h), 1)[0][:, 0], expected)
        assert np.array_equal(hybrid.topk(kind(h), 3)[0], hybrid_of(name).topk(kind(h), 3)[0])

    @pytest.mark.parametrize("name", WITH_PAPERS_DECODING)
    def test_several_words_are_exact(self, name, kind):
        bits = bits_of(name, decoding="paper")
        h = hidden_of(bits)
        assert np.array_equal(bits.topk(kind(h), 3)[0], bits_of(name).topk(kind(h), 3)[0])


@KINDS
@pytest.mark.parametrize("mixtures", [1, 3])
@pytest.mark.parametrize("name", CODES)
def test_the_decoded_bits_are_those_of_the_best_word(name, mixtures, kind):
    bits = bits_of(name, mixtures)
    h = kind(hidden_of(bits))
    assert np.array_equal(bits.decoded_bits(h), bits.code.bits(bits.best(h) - bits.offset))


class TestSample:
    @KINDS
    @pytest.mark.parametrize("temperature", [0.4, 1.0, 3.0])
    @pytest.mark.parametrize("mixtures", [1, 3])
    @pytest.mark.parametrize("name", CODES)
    def test_masses_by_hand(self, name, mixtures, temperature, kind):
        bits = bits_of(name, mixtures)
        h = hidden_of(bits)
        expected = logsumexp(parts_by_hand(bits, h) / temperature, axis=(1, 2))
        np.testing.assert_allclose(bits.log_mass(kind(h), temperature), expected, atol=1e-9)

    @KINDS
    @pytest.mark.parametrize("temperature", [1.0, 0.5, 2.0])
    def test_follows_the_tempered_probabilities(self, distribution, h, temperature, kind):
        draws, row = 6000, h[:1] / 2 if isinstance(distribution, SoftmaxDistribution) else h[:1]
        words = distribution.sample(kind(row.repeat(draws, 0)), temperature, generator(kind, 1))
        assert type(words) is type(kind(0))
        expected = np.exp(log_softmax(by_hand(distribution, row, temperature))[0]) * draws
        counts = np.bincount(np.asarray(words) - words_of(distribution)[0], minlength=len(expected))
        seldom = expected < max(8, np.sort(expected)[1])
        groups = [[*values[~seldom], values[seldom].sum()] for values in (counts, expected)]
        assert chisquare(*groups).pvalue > 1e-4

    @KINDS
    def test_a_seed_gives_the_same_again(self, distribution, h, kind):
        rows = kind(h.repeat(20, 0))
        first, again, other = (distribution.sample(rows, 0.8, generator(kind, seed)).tolist() for seed in (1, 1, 2))
        assert first == again != other


@KINDS
class TestShapes:
    def test_leading_dimensions_are_kept(self, distribution, h, kind):
        rows, words = h[:6], np.tile(words_of(distribution)[:3], 2)
        wide, wide_words = kind(rows.reshape(2, 3, -1)), kind(words.reshape(2, 3))
        assert distribution.log_prob(wide, wide_words).tolist() == [
            distribution.log_prob(kind(rows[part]), kind(words[part])).tolist() for part in (slice(3), slice(3, 6))
        ]
        assert [tuple(found.shape) for found in distribution.topk(wide, 4)] == [(2, 3, 4)] * 2
        assert distribution.topk(wide, 4)[0].reshape(6, 4).tolist() == distribution.topk(kind(rows), 4)[0].tolist()
        assert distribution.best(wide).tolist() == distribution.best(kind(rows)).reshape(2, 3).tolist()
        assert tuple(distribution.sample(wide, 0.7, generator(kind, 0)).shape) == (2, 3)
        assert tuple(distribution.topk(kind(rows[0]), 4)[0].shape) == (4,)
        assert tuple(distribution.best(kind(rows[0])).shape) == ()

    def test_no_rows(self, distribution, h, kind):
        none, words = kind(h[:0]), kind(np.zeros(0, int))
        assert tuple(distribution.log_prob(none, words).shape) == (0,)
        assert tuple(distribution.best(none).shape) == tuple(distribution.sample(none).shape) == (0,)
        for k in (1, 3):
            assert [tuple(found.shape) for found in distribution.topk(none, k)] == [(0, k)] * 2
        if isinstance(distribution, CodeDistribution):
            assert tuple(distribution.log_mass(none, 0.5).shape) == (0,)
            assert tuple(distribution.decoded_bits(none).shape) == (0, distribution.code.num_bits)

    def test_what_does_not_fit_is_refused(self, distribution, h, kind):
        size, words = distribution.hidden_size, kind(np.full((2, 3), 9))
        wide = kind(h[:6].reshape(2, 3, -1))
        with pytest.raises(ValueError, match=rf"h: the last dimension must be {size}, got shape \(2, {size + 1}\)"):
            distribution.best(kind(np.zeros((2, size + 1))))
        with pytest.raises(ValueError, match=r"words: expected shape \(2, 3\), as h has, got \(3, 2\)"):
            distribution.log_prob(wide, words.reshape(3, 2))
        with pytest.raises(ValueError, match="words: expected whole numbers"):
            distribution.log_prob(wide, kind(np.zeros((2, 3))))
        with pytest.raises(ValueError, match="k: expected a whole number of at least 1, got 0"):
            distribution.topk(wide, 0)
        for temperature in (0, -1.0, 1e-9, 1e9, float("nan")):
            with pytest.raises(ValueError, match="temperature: expected 0.001 to 1,000"):
                distribution.sample(wide, temperature)


def test_single_precision_is_doubled_where_differences_are_small():
    """All bits are certain but the last, on which 31 and 63 differ."""
    bits = GivenBits(FrequencyCode(64), IdentityCode())
    row = np.array([[10_001.0] * 5 + [0.3, 0.0]], np.float32)
    expected = -np.log1p(np.exp([-0.3, 0.3]))
    for kind in (np.asarray, torch.as_tensor):
        words, log_probs = bits.topk(kind(row), 2)
        assert words.tolist() == [[63, 31]]
        np.testing.assert_allclose(log_probs[0], expected, rtol=1e-6)

"""Word vectors composed from codes, against sums by hand."""

import copy

import pytest
import torch
from torch import nn

from trellex.codes import FrequencyCode, HuffmanCode, RandomCode
from trellex.heads import build_head
from trellex.nmt.build import build_model
from trellex.nmt.composed_embedding import ComposedEmbedding
from trellex.nmt.settings import EmbeddingSettings, ModelSettings
from trellex.nmt.word_codes import WordCodes

TIED = {"type": "softmax", "tied": True}
SHELVES = {"type": "shelves", "code": "random", "words": 4, "visit": 2, "memory": 3}
WORDS = torch.tensor([[0, 39, 7], [7, 3, 21]])


def settings(**options):
    return EmbeddingSettings(type="composed", **options)


def composed(code, memory=2, residual=3, size=5, is_shared=False, frequent=10):
    torch.manual_seed(0)
    sizes = settings(memory=memory, residual=residual, frequent=frequent)
    embedding = ComposedEmbedding(sizes, code, size, is_shared).double()
    if embedding.own is not None:
        nn.init.normal_(embedding.own)
    return embedding


def by_hand(embedding, word):
    """The vector of a word, bit by bit."""
    bits, memory = embedding.code.bits([word])[0].tolist(), embedding.windows.memory
    total, first = torch.zeros(embedding.embedding_dim, dtype=torch.float64), 0
    for step in range(len(bits)):
        window = bits[max(0, step - memory) : step + 1]
        total += embedding.table[first + sum(bit << place for place, bit in enumerate(window))]
        first += 2 ** len(window)
    total /= (2 * len(bits)) ** 0.5
    for place, value in enumerate(embedding.residual[word]):
        total += value * embedding.project[:, place]
    return total + embedding.own[word] if embedding.own is not None and word < len(embedding.own) else total


@pytest.mark.parametrize("code", [FrequencyCode(40), RandomCode(40, 5), RandomCode(64), RandomCode(2)], ids=str)
@pytest.mark.parametrize("memory", [1, 2, 4, 10])
@pytest.mark.parametrize("is_shared", [False, True])
@pytest.mark.parametrize("frequent", [0, 1, 10])
class TestVectors:
    def test_are_sums_over_windows_residuals_and_own_vectors(self, code, memory, is_shared, frequent):
        embedding = composed(code, memory, is_shared=is_shared, frequent=frequent)
        words = torch.arange(code.vocab_size)
        expected = torch.stack([by_hand(embedding, word) for word in words.tolist()])
        torch.testing.assert_close(embedding.weight, expected)
        torch.testing.assert_close(embedding(words), expected * (5**0.5 if is_shared else 1))


@pytest.mark.parametrize("is_shared", [False, True])
def test_vectors_begin_as_long_as_those_of_a_table(is_shared):
    torch.manual_seed(0)
    sizes = settings(memory=4, residual=16, frequent=50)
    embedding = ComposedEmbedding(sizes, RandomCode(500), 400, is_shared)
    assert not embedding.own.any()
    assert 0.9 < embedding(torch.arange(500)).std() < 1.1
    sums = embedding.windows.sums(embedding.parts()["table"])
    assert 0.4 < (sums * embedding.length).var() < 0.6  # the other half is of residuals


class TestGradients:
    @pytest.mark.parametrize("read", [lambda embedding: embedding(WORDS), lambda embedding: embedding.weight])
    def test_are_those_of_differences(self, read):
        embedding = composed(RandomCode(40, 5))
        names = [name for name, _ in embedding.named_parameters()]

        def vectors(*values):
            with_values = copy.copy(embedding)
            with_values._parameters = dict(zip(names, values, strict=True))
            return read(with_values)

        assert torch.autograd.gradcheck(vectors, tuple(embedding.parameters()))

    def test_reach_only_what_was_read(self):
        embedding = composed(RandomCode(40, 5))
        embedding(torch.tensor([7, 7])).sum().backward()
        windows = embedding.windows.of(embedding.code.numbers(torch.tensor(7)))
        assert embedding.table.grad.any(-1).nonzero()[:, 0].tolist() == sorted(windows.tolist())
        assert embedding.residual.grad.any(-1).nonzero()[:, 0].tolist() == [7]
        assert embedding.own.grad.any(-1).nonzero()[:, 0].tolist() == [7]
        embedding.zero_grad()
        embedding(torch.tensor([10, 39])).sum().backward()
        assert not embedding.own.grad.any()

    @pytest.mark.parametrize("head", [TIED, SHELVES], ids=str)
    def test_of_both_ends_add_up(self, head):
        """What the head does with a table of the same vectors reaches the parts of the composed ones."""
        embedding, h, target = composed(RandomCode(40), is_shared=True), torch.randn(9, 4), torch.arange(9)
        table = nn.Embedding(40, 5).double()
        table.weight = nn.Parameter(embedding.weight.detach().clone())
        heads = []
        for vectors in (embedding, table):
            torch.manual_seed(1)
            heads.append(build_head(head, hidden_size=4, vocab=40, embedding=vectors).double())
        losses = [each.loss(h.double(), target) for each in heads]
        torch.testing.assert_close(*losses)
        losses[0].sum().backward()
        losses[1].sum().backward()
        embedding_grads = [parameter.grad for parameter in embedding.parameters()]
        expected = torch.autograd.grad(embedding.weight, tuple(embedding.parameters()), table.weight.grad)
        for found, each in zip(embedding_grads, expected, strict=True):
            torch.testing.assert_close(found, each)


class TestKeptVectors:
    def test_are_composed_once_in_evaluation(self):
        embedding = composed(RandomCode(40)).eval()
        with torch.inference_mode():
            assert embedding.weight is embedding.weight
        assert embedding.weight is not embedding.weight  # they have gradients

    @pytest.mark.parametrize("name", ["table", "residual", "project", "own"])
    def test_are_composed_anew_when_weights_change(self, name):
        embedding = composed(RandomCode(40)).eval()
        with torch.no_grad():
            before = embedding.weight.clone()
            getattr(embedding, name).mul_(2)
            assert not torch.equal(embedding.weight, before)
            torch.testing.assert_close(embedding.weight, embedding(torch.arange(40)))

    def test_are_composed_anew_after_training(self):
        """A recorded step changes weights where no version tells."""
        embedding = composed(RandomCode(40)).eval()
        with torch.no_grad():
            before = embedding.weight.clone()
            embedding.table.data.add_(1)
            embedding.train().eval()
            assert not torch.equal(embedding.weight, before)

    def test_outlive_a_search(self, monkeypatch):
        """Which puts a model that is not being trained into evaluation mode once more."""
        embedding = composed(RandomCode(40)).eval()
        with torch.no_grad():
            before = embedding.weight
            monkeypatch.setattr(embedding, "_all_vectors", None)
            assert embedding.eval().weight is before

    def test_of_a_model_that_was_made_in_inference_mode(self):
        with torch.inference_mode():
            embedding = composed(RandomCode(40)).eval()
        with torch.inference_mode():
            torch.testing.assert_close(embedding.weight, embedding(torch.arange(40)))

    def test_are_as_precise_under_autocast(self):
        embedding = composed(RandomCode(40), size=16, residual=4).float().eval()
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            found = embedding.weight.clone()
        torch.testing.assert_close(found, embedding(torch.arange(40)).detach())

    def test_stay_in_their_place(self):
        """Where a recording of a step looks for them."""
        embedding = composed(RandomCode(40)).eval()
        with torch.inference_mode():
            place = embedding.weight.data_ptr()
        with torch.no_grad():
            embedding.table.add_(1)
            embedding.train().eval()
            assert embedding.weight.data_ptr() == place
            torch.testing.assert_close(embedding.weight, embedding(torch.arange(40)))


def test_half_precision_reads_what_single_precision_does():
    embedding = composed(RandomCode(40), size=16, residual=4).float()
    with torch.autocast("cpu", torch.bfloat16):
        found, every = embedding(WORDS), embedding.weight
    assert found.dtype == every.dtype == torch.float32
    torch.testing.assert_close(found, embedding(WORDS), atol=0.02, rtol=0.02)
    found.sum().backward()
    assert {parameter.grad.dtype for parameter in embedding.parameters()} == {torch.float32}


def test_no_words_have_no_vectors():
    assert composed(RandomCode(40))(torch.empty(0, 3, dtype=torch.long)).shape == (0, 3, 5)


class TestModels:
    def sizes(self, **options):
        return ModelSettings(embedding_size=16, hidden_size=8, embeddings=settings(residual=4, **options))

    @pytest.mark.parametrize("head", ["binary", TIED, SHELVES], ids=str)
    def test_compose_the_vectors_of_both_sides(self, head):
        codes = WordCodes(RandomCode(30, 1), RandomCode(40, 2))
        network = build_model(self.sizes(code="clusters"), head, 30, 40, word_codes=codes).network
        assert network.word_codes == codes
        assert (network.source_embedding.length, network.embedding.length) == (1, 1 if head == "binary" else 4)

    def test_codes_need_no_text_but_for_clusters(self):
        assert build_model(self.sizes(code="random"), "binary", 30, 40).network.word_codes.source == RandomCode(30)
        assert build_model(self.sizes(code="frequency"), "binary", 30, 40).network.word_codes.target == FrequencyCode(
            40
        )
        with pytest.raises(ValueError, match="^embeddings.code: clusters need word vectors; pass word_codes"):
            build_model(self.sizes(), "binary", 30, 40)

    def test_tables_have_no_codes(self):
        assert build_model(ModelSettings(embedding_size=16, hidden_size=8), "binary", 30, 40).network.word_codes is None

    def test_codes_are_of_these_words(self):
        with pytest.raises(ValueError, match=r"^source: expected a code of 31 words whose .*, got .*vocab_size=30"):
            WordCodes(RandomCode(30), RandomCode(40)).check(31, 40)
        with pytest.raises(ValueError, match="^target: expected a code of 40 words whose numbers .*, got Huffman"):
            WordCodes(RandomCode(30), HuffmanCode(range(40))).check(30, 40)

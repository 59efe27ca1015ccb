"""From settings to a model: what the head is built on, and which code it has."""

import pytest
import torch
from torch import nn

from trellex.codes import HuffmanCode, PermutedCode, RandomCode
from trellex.heads import HeadSpec, build_head
from trellex.heads.build import HEADS
from trellex.heads.distribution import SoftmaxDistribution
from trellex.heads.head import Head, linear_cost
from trellex.nmt.build import build_model
from trellex.nmt.lstm.network import LSTMNetwork
from trellex.nmt.settings import ModelSettings
from trellex.text import Vocabulary

SETTINGS = ModelSettings(embedding_size=6, hidden_size=6)


class TiedHead(SoftmaxDistribution, Head):
    """A score for every word, from its vector."""

    def __init__(self, spec, hidden_size, vocab, embedding):
        super().__init__(spec, hidden_size, vocab)
        assert self.vocab_size == embedding.num_embeddings
        self.linear = nn.Linear(hidden_size, embedding.num_embeddings)
        self.linear.weight = embedding.weight

    def _logits(self, h):
        return self.linear(h)

    def _loss(self, h, target):
        return nn.functional.cross_entropy(self._logits(h), target, reduction="none")

    def cost(self):
        return linear_cost(self.linear)


@pytest.fixture
def tied(monkeypatch):
    """The spec of a head that is built on the decoder's word vectors."""
    monkeypatch.setattr(HeadSpec, "families", [*HeadSpec.families])

    class TiedSpec(HeadSpec):
        forms = ("tied",)
        uses_embedding = True

    monkeypatch.setitem(HEADS, TiedSpec, TiedHead)
    return TiedSpec


class TestEmbedding:
    @pytest.mark.parametrize("vocab", [20, Vocabulary.from_counts({f"w{rank}": 20 - rank for rank in range(17)})])
    def test_a_head_that_asks_for_it_has_the_decoders(self, tied, vocab):
        model = build_model(SETTINGS, "tied", 15, vocab)
        assert type(model.head) is TiedHead
        assert type(model.head.spec) is tied
        assert model.head.linear.weight is model.network.embedding.weight
        assert model.network.embedding.weight.shape == (20, 6)

    def test_what_is_shared_learns_from_both(self, tied):
        model = build_model(SETTINGS, "tied", 15, 20)
        words = torch.tensor([[1, 4]])
        model(words, torch.tensor([2]), words, words).sum().backward()
        assert model.network.embedding.weight.grad.any()
        assert sum(parameter is model.head.linear.weight for parameter in model.parameters()) == 1

    @pytest.mark.usefixtures("tied")
    def test_without_one_the_head_says_what_is_missing(self):
        with pytest.raises(ValueError, match="embedding: tied is built on word vectors; pass those of the decoder"):
            build_head("tied", hidden_size=6, vocab=20)

    def test_other_heads_share_nothing(self):
        model = build_model(SETTINGS, "softmax", 15, 20)
        assert model.head.linear.weight is not model.network.embedding.weight
        assert len(list(model.parameters())) == len(list(model.network.parameters())) + 2


class TestCode:
    @pytest.mark.parametrize("head", [{"type": "binary-ec", "code": "random"}, "binary-ec"], ids=str)
    def test_one_that_is_given_is_used_and_the_spec_stays_as_written(self, head):
        code = RandomCode(20, 7)
        model = build_model(SETTINGS, head, 15, 20, code)
        assert model.head.code is code
        assert model.head.spec.model_dump() == head

    def test_of_a_hybrid_it_is_that_of_the_rare_words(self):
        code = PermutedCode([*range(1, 12), 0])
        model = build_model(SETTINGS, {"type": "hybrid-9-ec", "code": "random", "seed": 3}, 15, 20, code)
        assert model.head.code is code
        assert model.head.bits.offset == model.head.first_rare == 8

    def test_a_huffman_code_needs_no_counts_again(self):
        code = HuffmanCode(range(20, 0, -1))
        head = {"type": "binary", "code": "huffman"}
        with pytest.raises(ValueError, match="code: a Huffman code needs a vocabulary with counts"):
            build_model(SETTINGS, head, 15, 20)
        assert build_model(SETTINGS, head, 15, 20, code).head.code is code

    def test_of_another_number_of_words_it_is_refused(self):
        with pytest.raises(ValueError, match="code: expected one of 20 words"):
            build_model(SETTINGS, "binary", 15, 20, RandomCode(19))

    def test_without_one_the_head_makes_its_own(self):
        model = build_model(SETTINGS, {"type": "binary", "code": "random", "seed": 3}, 15, 20)
        assert model.head.code == RandomCode(20, 3)
        assert build_model(SETTINGS, "softmax", 15, 20).head.code is None


def test_the_network_has_the_sizes_of_the_vocabularies():
    network = build_model(SETTINGS, "softmax", 15, 20).network
    assert isinstance(network, LSTMNetwork)
    assert network.settings == SETTINGS
    assert network.encoder.embedding.weight.shape == (15, 6)
    assert network.embedding.weight.shape == (20, 6)


class TestMemory:
    @pytest.mark.parametrize("size", [2**20, 2**40, 2**62, 2**70])
    @pytest.mark.parametrize("name", ["hidden_size", "embedding_size", "hidden_layer", "mixtures"])
    def test_what_does_not_fit_is_named_before_it_is_taken(self, name, size):
        size = size * 2**10 if size == 2**20 and name != "hidden_size" else size
        settings = SETTINGS.model_copy(update={name: size} if name in ModelSettings.model_fields else {})
        options = {} if name in ModelSettings.model_fields else {name: size}
        with pytest.raises(ValueError, match=f"{name} {size}.*; choose smaller sizes"):
            build_model(settings, {"type": "binary-ec", **options}, 10_000, 10_000)

    @pytest.mark.parametrize("size", [2**46, 2**62, 2**70])
    def test_of_a_head_alone(self, size):
        for spec, hidden_size in (("softmax", size), ({"type": "binary", "hidden_layer": size}, 8)):
            with pytest.raises(ValueError, match=f"{size}.*: too large for any memory; choose smaller sizes"):
                build_head(spec, hidden_size=hidden_size, vocab=100)

    def test_the_look_beforehand_draws_no_numbers(self):
        torch.manual_seed(5)
        build_model(SETTINGS, "binary", 9, 9)
        after = torch.rand(1)
        torch.manual_seed(5)
        build_head("binary", hidden_size=6, vocab=9)
        LSTMNetwork(SETTINGS, 9, 9)
        assert torch.equal(torch.rand(1), after)

    def test_other_mistakes_keep_their_class(self, monkeypatch):
        def fail(*_):
            raise RuntimeError("a mistake")

        monkeypatch.setattr(LSTMNetwork, "__init__", fail)
        with pytest.raises(RuntimeError, match="a mistake"):
            build_model(SETTINGS, "binary", 9, 9)

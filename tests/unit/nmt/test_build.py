"""From settings to a model: what the head is built on, and which code it has."""

import copy
import pickle

import pytest
import torch
from torch import nn

from trellex.codes import HuffmanCode, PermutedCode, RandomCode, cluster_code
from trellex.heads import build_head
from trellex.nmt.build import build_model
from trellex.nmt.lstm.network import LSTMNetwork
from trellex.nmt.settings import ModelSettings
from trellex.text import Vocabulary

SETTINGS = ModelSettings(embedding_size=6, hidden_size=6)


TIED = {"type": "softmax", "tied": True}


def is_tied(model):
    """Whether the head reads the decoder's word vectors themselves, which the model then has once."""
    weight, vectors = model.network.embedding.weight, model.head.linear.vectors
    has_one = sum(parameter.shape == weight.shape for parameter in model.parameters()) == 1
    return has_one and vectors is weight and vectors.data_ptr() == weight.data_ptr()


class TestEmbedding:
    @pytest.mark.parametrize("vocab", [20, Vocabulary.from_counts({f"w{rank}": 20 - rank for rank in range(17)})])
    def test_a_head_that_asks_for_it_has_the_decoders(self, vocab):
        model = build_model(SETTINGS, TIED, 15, vocab)
        assert model.head.spec.model_dump() == TIED
        assert model.network.embedding.weight.shape == (20, 6)
        assert is_tied(model)

    def test_what_is_shared_learns_from_both(self):
        """From the scores all words learn; from being read, those that are read."""
        model = build_model(SETTINGS, TIED, 15, 20)
        weight, read, target = model.network.embedding.weight, torch.tensor([[7, 8]]), torch.tensor([3, 9])
        hidden = model.network(torch.tensor([[1, 4]]), torch.tensor([2]), read)[0]
        (as_scored,) = torch.autograd.grad(model.head.loss(hidden.detach(), target).sum(), weight)
        model.head.loss(hidden, target).sum().backward()
        as_read = weight.grad - as_scored
        assert as_scored.any(-1).all()
        assert as_read.any(-1).nonzero().flatten().tolist() == [7, 8]
        before = weight.detach().clone()
        torch.optim.SGD(model.parameters(), lr=0.5).step()
        torch.testing.assert_close(model.head.linear.vectors, before - 0.5 * (as_scored + as_read))

    @pytest.mark.parametrize(
        "changed",
        [
            copy.deepcopy,
            lambda model: pickle.loads(pickle.dumps(model)),
            lambda model: model.to(torch.bfloat16),
            lambda model: model.to("meta"),
            lambda model: copy.deepcopy(model).double(),
        ],
        ids=["copy", "pickle", "type", "device", "copy and type"],
    )
    def test_it_stays_shared(self, changed):
        model = build_model(SETTINGS, TIED, 15, 20)
        assert is_tied(changed(model))
        assert is_tied(model)

    def test_a_copy_shares_nothing_with_the_model(self):
        model = build_model(SETTINGS, TIED, 15, 20)
        other = copy.deepcopy(model)
        with torch.no_grad():
            other.network.embedding.weight.zero_()
        assert not other.head.linear.vectors.any()
        assert model.head.linear.vectors.any()

    def test_it_is_saved_once_and_loaded_for_both(self):
        model, other = (build_model(SETTINGS, TIED, 15, 20) for _ in range(2))
        saved = model.state_dict()
        assert {name for name in saved if name.startswith("head")} == {"head.linear.project.weight", "head.linear.bias"}
        assert sum(weight.shape == (20, 6) for weight in saved.values()) == 1
        other.load_state_dict(saved)
        h, words = torch.randn(3, 6), torch.tensor([1, 5, 19])
        assert is_tied(other)
        assert torch.equal(other.head.log_prob(h, words), model.head.log_prob(h, words))

    @pytest.mark.parametrize("embedding", [None, torch.zeros(20, 6)], ids=["none", "a tensor"])
    def test_without_one_the_head_says_what_is_missing(self, embedding):
        message = r"embedding: softmax \(tied\) is built on word vectors; pass those of the decoder, an nn.Embedding"
        with pytest.raises(ValueError, match=message):
            build_head(TIED, hidden_size=6, vocab=20, embedding=embedding)

    @pytest.mark.parametrize("rows", [19, 21])
    def test_one_of_another_number_of_words_is_refused(self, rows):
        with pytest.raises(ValueError, match=f"embedding: expected one of 20 words, got one of {rows}; make it as"):
            build_head(TIED, hidden_size=6, vocab=20, embedding=nn.Embedding(rows, 6))

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

    def test_clusters_are_made_once_and_not_without_weights(self, monkeypatch):
        made, words = [], Vocabulary.from_counts({f"w{rank}": 20 - rank for rank in range(17)})
        monkeypatch.setattr(
            "trellex.heads.coded_spec.cluster_code", lambda vectors: made.append(vectors) or cluster_code(vectors)
        )
        head = {"type": "binary", "code": "clusters"}
        assert build_model(SETTINGS, head, 15, 20, RandomCode(20)).head.code == RandomCode(20)
        with pytest.raises(ValueError, match="code: clusters need word vectors"):
            build_model(SETTINGS, head, 15, words)
        assert not made
        words.vectors = torch.randn(20, 3)
        assert build_model(SETTINGS, head, 15, words).head.code == cluster_code(words.vectors)
        assert len(made) == 1

    def test_of_another_number_of_words_it_is_refused(self):
        with pytest.raises(ValueError, match="code: expected one of 20 words, got .*vocab_size=19"):
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
        is_of_network = name in ModelSettings.model_fields
        settings = SETTINGS.model_copy(update={name: size} if is_of_network else {})
        options = {} if is_of_network else {name: size}
        with pytest.raises(ValueError, match=f"{name.replace('_', '.')} {size}.*; choose smaller sizes"):
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

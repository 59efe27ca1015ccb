"""Hierarchical softmax where it is hard: ties, logits without bounds, sizes at powers of 2, and what it may read."""

import numpy as np
import pytest
import torch
from by_hand import HIERARCHICAL, Counted, H, all_log_probs, enumerated_topk, hidden_states, name_of, random_head
from test_cost import LargestTensor
from torch import nn

from trellex.codes import RandomCode, cluster_code
from trellex.heads import build_head

each = pytest.mark.parametrize("spec", HIERARCHICAL, ids=name_of)


def check_topk(head, h, counts):
    """The probabilities are the largest, and those of the words; among equal ones any word may stand."""
    every = all_log_probs(head, h)
    for k in counts:
        words, best = (found.detach().numpy() for found in head.topk(h, k))
        count = min(k, head.vocab_size)
        np.testing.assert_allclose(best, enumerated_topk(every, k)[1], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(np.take_along_axis(every, words[:, :count], -1), best[:, :count], rtol=1e-9)
        assert all(len(set(row)) == count for row in words[:, :count].tolist())
        assert (words[:, count:] == -1).all()


class TestTopk:
    @each
    @pytest.mark.parametrize("vocab", [2, 3, 31, 32, 33])
    @pytest.mark.parametrize("scale", [0, 0.1, 30, 1e6])
    def test_is_enumeration(self, spec, vocab, scale):
        check_topk(random_head(spec, vocab, scale), hidden_states(6), (1, 2, 5, vocab, vocab + 3))

    @each
    @pytest.mark.parametrize("vocab", [2, 3, 31, 32, 33])
    @pytest.mark.parametrize("scale", [0, 0.1, 30, 1e6])
    @pytest.mark.parametrize("most", [1, 1 << 20], ids=["row by row", "at once"])
    def test_is_enumeration_by_all_words(self, spec, vocab, scale, most, monkeypatch):
        """As on an accelerator."""
        monkeypatch.setattr("trellex.heads.tree_distribution.is_inspectable", lambda _: False)
        monkeypatch.setattr("trellex.heads.tree_distribution.MOST_ON_DEVICE", most)
        head = random_head(spec, vocab, scale)
        check_topk(head, hidden_states(6), (1, 2, 5, vocab, vocab + 3))
        assert [found.shape for found in head.topk(hidden_states(0), 3)] == [(0, 3), (0, 3)]

    @each
    def test_no_value_is_looked_at_on_an_accelerator(self, spec):
        """The device `meta` has none: what would wait for them fails."""
        head = random_head(spec, 50).to("meta")
        h = hidden_states(6).to("meta")
        for words, log_probs in (head.topk(h, 3), head.topk(h, 1)):
            assert words.is_meta
            assert log_probs.is_meta

    @each
    def test_ties_between_words_and_prefixes(self, spec):
        """Logits of a few values: many words are as probable as one another and as open prefixes."""
        head = random_head(spec, 60)
        with torch.no_grad():
            head.nodes.weight.zero_()
            head.nodes.bias.copy_(torch.tensor([0.0, 1e4, -1e4, 0.0, 2.0]).repeat(12)[:59])
        check_topk(head, hidden_states(2), (1, 2, 3, 10, 60))

    def test_the_best_word_is_not_on_the_best_way(self):
        """The first bit says 1, but below it 32 words are alike, and below 0 one is certain."""
        head = random_head({"type": "hierarchical", "code": "frequency"}, 64, scale=0)
        with torch.no_grad():
            head.nodes.bias[0] = 0.5
            head.nodes.bias[head.tree.turns(torch.tensor(6))[1:] >> 1] = 1e3 * torch.tensor([1, 1, -1, -1, -1]).double()
        words, log_probs = head.topk(hidden_states(1), 3)
        assert words[0, 0] == 6
        np.testing.assert_allclose(log_probs.detach().exp(), [[0.3775, 0.01945, 0.01945]], rtol=1e-3)

    @each
    def test_is_the_same_again_and_alone(self, spec):
        head, h = random_head(spec, 200, dtype=torch.float32), hidden_states(40).float()
        words, log_probs = head.topk(h, 4)
        assert all(torch.equal(*pair) for pair in zip(head.topk(h, 4), (words, log_probs), strict=True))
        assert torch.equal(torch.cat([head.topk(row[None], 4)[0] for row in h]), words)

    @each
    def test_of_no_rows(self, spec):
        head, h = random_head(spec, 50), hidden_states(0)
        none = torch.zeros(0, dtype=torch.int64)
        assert [found.shape for found in head.topk(h, 3)] == [(0, 3), (0, 3)]
        assert head.loss(h, none).shape == head.log_prob(h, none).shape == head.best(h).shape == (0,)
        assert head.sample(h).shape == head.sample(h, 0.5).shape == (0,)


class TestMemory:
    VOCAB = 1 << 17

    @pytest.mark.parametrize("code", ["frequency", "random", "huffman"])
    def test_gradients_alone_are_as_large_as_the_vocabulary(self, code):
        counts = Counted(10_000_000 // np.arange(1, self.VOCAB + 1))
        head = build_head({"type": "hierarchical", "code": code}, hidden_size=H, vocab=counts)
        with torch.no_grad():
            head.nodes.weight *= 20
        h, words = hidden_states(4).float().requires_grad_(), torch.tensor([0, 3, self.VOCAB // 2, self.VOCAB - 1])
        head.tree.children(words[:1])  # makes the table
        head.tree.turns(words)  # and this one
        with LargestTensor() as largest:
            loss = head.loss(h, words).sum()
            head.log_prob(h, words)
            head.sample(h)
            for k in (1, 2):
                head.topk(h, k)
        assert largest.size < self.VOCAB / 8
        loss.backward()
        assert (head.nodes.weight.grad != 0).any(-1).sum() <= 4 * head.tree.depth

    def test_tempered_words_are_drawn_some_rows_at_a_time(self, monkeypatch):
        head, h = random_head("hierarchical", 50), hidden_states(20)
        torch.manual_seed(0)
        expected = head.sample(h, 1e-3)
        monkeypatch.setattr("trellex.heads.tree_distribution.MOST_SCORES", 150)
        assert torch.equal(head.sample(h, 1e-3), expected)
        assert torch.equal(expected, head.best(h))


class TestCode:
    def test_huffman_needs_counts(self):
        with pytest.raises(ValueError, match="^code: a Huffman code needs .* counts, .*; pass a Vocabulary, or choose"):
            build_head("hierarchical", hidden_size=4, vocab=50)

    def test_clusters_and_codes_of_ones_own(self):
        embedding, code = nn.Embedding(50, 4), RandomCode(50, 7)
        head = build_head({"type": "hierarchical", "code": "clusters"}, hidden_size=4, vocab=50, embedding=embedding)
        assert head.code == cluster_code(embedding.weight)
        assert head.spec.code == "clusters"
        assert build_head({"type": "hierarchical", "code": code}, hidden_size=4, vocab=50).code == code
        with pytest.raises(ValueError, match="^code: expected one of 51 words, got "):
            build_head({"type": "hierarchical", "code": code}, hidden_size=4, vocab=51)

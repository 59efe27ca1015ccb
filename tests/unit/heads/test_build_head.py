"""Names and mappings become the output layers they describe, and mistakes in them are named."""

import numpy as np
import pytest

from trellex.codes import FrequencyCode, HuffmanCode, PermutedCode, RandomCode
from trellex.heads import BinaryHead, HybridHead, SoftmaxHead, build_head
from trellex.text import Vocabulary
from trellex.trellis import ConvolutionalCode, IdentityCode


def build(spec, vocab=50, hidden_size=4):
    return build_head(spec, hidden_size=hidden_size, vocab=vocab)


@pytest.fixture
def vocabulary():
    return Vocabulary.from_counts({f"word{rank}": 5000 // rank for rank in range(1, 48)}, sentences=100)


class TestNames:
    @pytest.mark.parametrize(
        ("name", "kind", "outputs"),
        [
            ("softmax", SoftmaxHead, 50),
            ("binary", BinaryHead, 6),
            ("binary-ec", BinaryHead, 24),
            ("hybrid-9", HybridHead, 9 + 6),
            ("hybrid-9-ec", HybridHead, 9 + 24),
        ],
    )
    def test_each_is_the_layer_of_the_paper(self, name, kind, outputs):
        for spec in (name, {"type": name}):
            head = build(spec)
            assert type(head) is kind
            assert head.cost().outputs == outputs
            assert (head.hidden_size, head.vocab_size) == (4, 50)
            assert (head.ignore_index, head.reduction) == (-100, "none")

    def test_defaults_are_those_of_the_paper(self):
        for name in ("binary-ec", "hybrid-9-ec"):
            head = build(name)
            assert (head.decoding, head.bits.loss_name) == ("paper", "squared")
            assert head.bits.code == FrequencyCode(50)
            assert head.bits.ecc.generators == ConvolutionalCode().generators == ("1001111", "1101101")
        assert (head.softmax_weight, head.bits_weight) == (1, 1)
        assert isinstance(build("hybrid-9").bits.ecc, IdentityCode)

    def test_the_mapping_is_left_as_it_was(self):
        spec = {"type": "hybrid-9-ec", "loss": "trellis", "generators": ["101", "111"], "numbering": "rare"}
        before = dict(spec)
        build(spec)
        assert spec == before

    def test_the_smallest_and_the_largest_softmax_of_a_hybrid(self):
        assert build("hybrid-2").other == 1
        assert build("hybrid-49").other == 48
        rare = build({"type": "hybrid-49", "numbering": "rare"})
        assert (rare.bits.code.vocab_size, rare.cost().bits) == (2, 1)


class TestOptions:
    def test_those_of_every_head(self):
        for name in ("softmax", "binary", "hybrid-9-ec"):
            head = build({"type": name, "ignore_index": 7, "reduction": "mean"})
            assert (head.ignore_index, head.reduction) == (7, "mean")

    def test_generators(self):
        head = build({"type": "binary-ec", "generators": ["101", "111", "011"]})
        assert head.bits.ecc.generators == ("101", "111", "011")
        assert head.cost().outputs == 3 * (6 + 2)

    def test_loss_decoding_and_weights(self):
        spec = {"type": "hybrid-9", "loss": "trellis", "decoding": "exact", "softmax_weight": 0.5, "bits_weight": 2}
        head = build(spec)
        assert (head.bits.loss_name, head.decoding) == ("trellis", "exact")
        assert (head.softmax_weight, head.bits_weight) == (0.5, 2)

    def test_rare_words_numbered_apart_save_bits(self):
        assert build({"type": "hybrid-20", "numbering": "paper"}).cost().bits == 6
        head = build({"type": "hybrid-20", "numbering": "rare"})
        assert head.bits.code == FrequencyCode(31)
        assert head.cost().bits == 5

    def test_random_code_follows_its_seed(self):
        assert build({"type": "binary", "code": "random"}).bits.code == RandomCode(50, 0)
        assert build({"type": "binary", "code": "random", "seed": 3}).bits.code == RandomCode(50, 3)
        hybrid = build({"type": "hybrid-9", "code": "random", "seed": 3}).bits.code
        assert isinstance(hybrid, PermutedCode)
        assert hybrid == RandomCode(42, 3)

    def test_a_vocabulary_gives_its_size_and_counts(self, vocabulary):
        assert build("softmax", vocabulary).vocab_size == len(vocabulary) == 50
        assert build({"type": "binary-ec", "code": "huffman"}, vocabulary).bits.code == HuffmanCode(vocabulary.counts)
        hybrid = build({"type": "hybrid-9-ec", "code": "huffman"}, vocabulary)
        assert hybrid.bits.code == HuffmanCode(vocabulary.counts[8:])
        assert np.array_equal(hybrid.bits.restriction, HuffmanCode(vocabulary.counts[8:]).restriction)


class TestErrors:
    @pytest.mark.parametrize(
        "name", ["soft-max", "Softmax", "softmax-ec", "binary-16", "hybrid", "hybrid-", "hybrid-x-ec", "", None, 3]
    )
    def test_unknown_type(self, name):
        with pytest.raises(ValueError, match=f"type: expected softmax, .* hybrid-N-ec, got {name!r}"):
            build({"type": name})

    def test_no_type(self):
        with pytest.raises(ValueError, match="type: expected softmax, .* got None"):
            build({"loss": "squared"})

    @pytest.mark.parametrize(
        ("spec", "message"),
        [
            ({"type": "binary", "los": "squared"}, "los: not an option of binary; did you mean 'loss'"),
            ({"type": "hybrid-9", "softmax_wieght": 1}, "softmax_wieght: .* did you mean 'softmax_weight'"),
            ({"type": "binary-ec", "generator": ["101"]}, "generator: .* of binary-ec; did you mean 'generators'"),
            ({"type": "softmax", "reductoin": "sum"}, "reductoin: .* did you mean 'reduction'"),
            (
                {"type": "softmax", "loss": "squared"},
                "loss: not an option of softmax; there are ignore_index, reduction",
            ),
            ({"type": "binary", "numbering": "rare"}, "numbering: not an option of binary"),
            ({"type": "binary", 5: 6}, "5: not an option of binary; there are"),
            ({"type": "hybrid-50"}, "softmax_size: N = 50 does not fit a vocabulary of 50 words: .*smaller N"),
            ({"type": "hybrid-512-ec", "numbering": "rare"}, "softmax_size: N = 512 does not fit a vocabulary of 50"),
            ({"type": "hybrid-512", "code": "random"}, "softmax_size: N = 512 does not fit"),
            ({"type": "hybrid-1"}, "softmax_size: N = 1 does not fit .* at least 2"),
            ({"type": "binary", "generators": ["101", "111"]}, "generators: binary has no .*; add -ec to its type"),
            ({"type": "hybrid-9", "generators": ["101", "111"]}, "generators: hybrid-9 has no .*; add -ec"),
            ({"type": "binary-ec", "generators": ["101"]}, "generators: expected two or more"),
            ({"type": "binary-ec", "generators": []}, "generators: expected two or more"),
            ({"type": "binary", "code": "huffman"}, "code: a Huffman code needs a vocabulary with counts"),
            ({"type": "hybrid-9-ec", "code": "huffman"}, "code: a Huffman code needs a vocabulary with counts"),
            ({"type": "binary", "code": "brown"}, "code: expected one of frequency, random, huffman, got 'brown'"),
            ({"type": "hybrid-9", "code": "brown"}, "code: expected one of frequency, random, huffman, got 'brown'"),
            ({"type": "binary", "loss": "hinge"}, "loss: expected one of squared, cross_entropy, trellis, got 'hinge'"),
            ({"type": "hybrid-9", "loss": None}, "loss: expected one of squared, cross_entropy, trellis, got None"),
            ({"type": "binary", "decoding": "best"}, "decoding: expected one of exact, paper, got 'best'"),
            ({"type": "hybrid-9", "decoding": "best"}, "decoding: expected one of exact, paper, got 'best'"),
            ({"type": "hybrid-9", "numbering": "all"}, "numbering: expected rare, or paper .* got 'all'"),
            ({"type": "hybrid-9", "numbering": "paper", "code": "random"}, "numbering: expected rare, or paper with"),
            ({"type": "softmax", "reduction": "max"}, "reduction: expected one of none, mean, sum, got 'max'"),
        ],
    )
    def test_mistakes_are_named_with_a_remedy(self, spec, message):
        with pytest.raises(ValueError, match=message):
            build(spec)

    def test_a_code_for_another_number_of_rare_words(self):
        with pytest.raises(ValueError, match="code: expected 42 rare words, got 41"):
            HybridHead(4, 50, 9, IdentityCode(), code=FrequencyCode(41))

"""Names and mappings become the output layers they describe, and mistakes in them are named."""

import numpy as np
import pytest
import torch

from trellex.codes import FrequencyCode, HuffmanCode, PermutedCode, RandomCode, cluster_code
from trellex.heads import HeadSpec, build_head
from trellex.heads.binary import BinaryHead
from trellex.heads.hybrid import HybridHead
from trellex.heads.softmax import SoftmaxHead
from trellex.text import Vocabulary
from trellex.trellis import CompleteCode, ConvolutionalCode, IdentityCode

COMPLETE = {"type": "hybrid-9-ec", "generators": "complete", "memory": 3}
SHELVES = {"type": "shelves", "code": "random", "words": 4}


def build(spec, vocab=50, hidden_size=4):
    embedding = torch.nn.Embedding(50, 6) if spec is SHELVES else None
    return build_head(spec, hidden_size=hidden_size, vocab=vocab, embedding=embedding)


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
            assert (head.ignore_index, head.reduction, head.label_smoothing) == (-100, "none", 0)

    def test_defaults_are_those_of_the_paper_but_for_decoding(self):
        for name in ("binary-ec", "hybrid-9-ec"):
            head = build(name)
            assert (head.bits.decoding, head.bits.loss_name) == ("exact", "squared")
            assert (head.bits.mixtures, head.bits.weights, head.bits.hidden) == (1, None, None)
            assert head.bits.code == FrequencyCode(50)
            assert head.bits.ecc.generators == ConvolutionalCode().generators == ("1001111", "1101101")
        assert (head.spec.softmax_weight, head.spec.bits_weight) == (1, 1)
        assert isinstance(build("hybrid-9").bits.ecc, IdentityCode)

    def test_the_mapping_is_left_as_it_was(self):
        spec = {"type": "hybrid-9-ec", "loss": "trellis", "generators": ["101", "111"], "numbering": "rare"}
        before = dict(spec)
        build(spec)
        assert spec == before

    def test_the_smallest_and_the_largest_softmax_of_a_hybrid(self):
        assert build("hybrid-2").first_rare == 1
        assert build("hybrid-49").first_rare == 48
        rare = build({"type": "hybrid-49", "numbering": "rare"})
        assert (rare.bits.code.vocab_size, rare.cost().bits) == (2, 1)


class TestOptions:
    def test_those_of_every_head(self):
        for name in ("softmax", "binary", "hybrid-9-ec"):
            head = build({"type": name, "ignore_index": 7, "reduction": "mean", "label_smoothing": 0.1})
            assert (head.ignore_index, head.reduction, head.label_smoothing) == (7, "mean", 0.1)

    def test_generators(self):
        head = build({"type": "binary-ec", "generators": ["101", "111", "011"]})
        assert head.bits.ecc.generators == ("101", "111", "011")
        assert head.cost().outputs == 3 * (6 + 2)

    @pytest.mark.parametrize("memory", [3, 5, None, 10])
    def test_complete_trellises(self, memory):
        for name in ("binary-ec", "hybrid-9-ec"):
            bits = build({"type": name, "generators": "complete", "memory": memory}).bits
            assert isinstance(bits.ecc, CompleteCode)
            assert (bits.ecc.memory, bits.loss_name, bits.decoding) == (memory or 8, "trellis", "exact")

    @pytest.mark.parametrize(
        ("vocab", "options", "shelves", "width", "visit"),
        [
            (50, {"words": 4}, 16, 4, 16),
            (50, {"words": 4, "visit": 5}, 16, 4, 5),
            (64, {"words": 2, "visit": 1}, 32, 2, 1),
            (65, {"words": 2}, 64, 2, 16),
            (50, {}, 2, 25, 2),
            (65_536, {}, 1024, 64, 16),
            (2, {}, 2, 1, 2),
        ],
    )
    def test_shelves_are_as_many_as_the_words_need(self, vocab, options, shelves, width, visit):
        embedding = torch.nn.Embedding(vocab, 3)
        spec = {"type": "shelves", "code": "frequency", **options}
        head = build_head(spec, hidden_size=4, vocab=vocab, embedding=embedding)
        assert (head.num_shelves, head.width, head.visit, head.ecc.memory) == (shelves, width, visit, 7)
        assert np.array_equal(np.sort(head.words_on(np.arange(shelves)), None)[-vocab:], np.arange(vocab))

    def test_shelves_are_of_words_with_near_vectors(self):
        embedding = torch.nn.Embedding(50, 3)
        head = build_head("shelves", hidden_size=4, vocab=50, embedding=embedding)
        assert head.code == cluster_code(embedding.weight)
        with pytest.raises(ValueError, match="^embedding: shelves is built on word vectors; pass those of the decoder"):
            build("shelves")

    def test_loss_decoding_and_weights(self):
        spec = {"type": "hybrid-9", "loss": "trellis", "decoding": "paper", "softmax_weight": 0.5, "bits_weight": 2}
        head = build(spec)
        assert (head.bits.loss_name, head.bits.decoding) == ("trellis", "paper")
        assert (head.spec.softmax_weight, head.spec.bits_weight) == (0.5, 2)

    def test_no_loss_is_the_default(self):
        for name in ("binary", "hybrid-9-ec"):
            assert build({"type": name, "loss": None}).bits.loss_name == "squared"
            assert build({"type": name, "loss": None, "mixtures": 2}).bits.loss_name == "trellis"

    @pytest.mark.parametrize("name", ["binary", "binary-ec", "hybrid-9", "hybrid-9-ec"])
    def test_mixtures_minimise_the_trellis_loss(self, name):
        for spec in ({"type": name, "mixtures": 4}, {"type": name, "mixtures": 4, "loss": "trellis"}):
            bits = build(spec).bits
            assert (bits.mixtures, bits.loss_name, bits.decoding) == (4, "trellis", "exact")
            assert bits.linear.out_features == 4 * bits.length
            assert bits.weights.out_features == 4

    def test_a_mixture_of_one_is_none(self):
        spec = {"type": "hybrid-9-ec", "mixtures": 1, "decoding": "paper", "label_smoothing": 0.1, "loss": "squared"}
        head = build(spec)
        assert (head.bits.mixtures, head.bits.weights) == (1, None)
        assert head.bits.code == FrequencyCode(50)

    def test_hidden_layer(self):
        bits = build({"type": "hybrid-9-ec", "hidden_layer": 7, "mixtures": 3}).bits
        assert (bits.hidden.in_features, bits.hidden.out_features) == (4, 7)
        assert bits.linear.in_features == bits.weights.in_features == 7
        assert build({"type": "binary", "hidden_layer": None}).bits.hidden is None

    def test_rare_words_numbered_apart_save_bits(self):
        assert build({"type": "hybrid-20", "numbering": "paper"}).cost().bits == 6
        head = build({"type": "hybrid-20", "numbering": "rare"})
        assert head.bits.code == FrequencyCode(31)
        assert head.cost().bits == 5

    @pytest.mark.parametrize(
        ("options", "rare"),
        [
            ({}, False),
            ({"loss": "squared"}, False),
            ({"loss": "cross_entropy"}, False),
            ({"loss": "squared", "decoding": "paper", "label_smoothing": 0.1, "hidden_layer": 7}, False),
            ({"loss": "trellis"}, True),
            ({"mixtures": 2}, True),
            ({"code": "random"}, True),
            ({"loss": "trellis", "numbering": "paper"}, False),
            ({"mixtures": 2, "numbering": "paper"}, False),
            ({"loss": "squared", "numbering": "rare"}, True),
        ],
    )
    def test_rare_words_are_numbered_apart_unless_all_is_as_in_the_paper(self, options, rare):
        head = build({"type": "hybrid-9-ec", **options})
        assert (head.bits.code.vocab_size, head.bits.offset) == ((42, 8) if rare else (50, 0))

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
        assert np.array_equal(hybrid.bits.automaton, HuffmanCode(vocabulary.counts[8:]).automaton)

    def test_clusters_are_those_of_the_vocabularys_vectors_or_of_the_embedding(self, vocabulary, monkeypatch):
        embedding = torch.nn.Embedding(50, 4)
        for vocab in (50, vocabulary):
            options = {"hidden_size": 16, "vocab": vocab, "embedding": embedding}
            binary = build_head({"type": "binary-ec", "code": "clusters"}, **options)
            assert binary.code == binary.bits.code == cluster_code(embedding.weight)
            assert binary.spec.model_dump() == {"type": "binary-ec", "code": "clusters"}
            hybrid = build_head({"type": "hybrid-9", "code": "clusters"}, **options)
            assert (hybrid.code, hybrid.bits.offset) == (cluster_code(embedding.weight[8:]), 8)
        vectors = np.random.default_rng(0).normal(size=(50, 3))
        monkeypatch.setattr(vocabulary, "vectors", vectors, raising=False)
        assert build_head({"type": "binary", "code": "clusters"}, **options).code == cluster_code(vectors)


class TestKept:
    @pytest.mark.parametrize(
        "spec", ["softmax", "binary-ec", {"type": "hybrid-9-ec", "code": "random", "seed": 3, "mixtures": 2}], ids=str
    )
    def test_what_it_was_built_from(self, spec):
        assert build(spec).spec.model_dump() == spec
        assert build(HeadSpec.parse(spec)).spec.model_dump() == spec

    def test_the_code_is_that_of_the_bits(self):
        assert build("softmax").code is build("softmax").bits is None
        for spec in ("binary-ec", "hybrid-9"):
            head = build(spec)
            assert head.code is head.bits.code
        assert build({"type": "hybrid-9", "code": "random"}).code == RandomCode(42)
        assert (build(SHELVES).code, build(SHELVES).bits) == (RandomCode(50), None)

    def test_a_code_that_was_saved(self, tmp_path):
        RandomCode(50, 7).save(tmp_path / "code.json")
        assert build({"type": "binary", "code": {"file": tmp_path / "code.json"}}).code == RandomCode(50, 7)
        message = f"^code: {tmp_path}/code.json: expected one of 51 words, got .*=50,.*; make one .*`trellex codes`"
        with pytest.raises(ValueError, match=message):
            build({"type": "binary", "code": {"file": tmp_path / "code.json"}}, 51)


class TestErrors:
    @pytest.mark.parametrize(
        "name", ["soft-max", "Softmax", "softmax-ec", "binary-16", "hybrid", "hybrid-", "hybrid-x-ec", "", None, 3]
    )
    def test_unknown_type(self, name):
        with pytest.raises(ValueError, match=f"type: expected softmax, .* shelves.* or [a-z]+, got {name!r}"):
            build({"type": name})

    @pytest.mark.parametrize(
        ("name", "nearest"),
        [
            *(("sofmax", "softmax"), ("binary-es", "binary-ec"), ("Binary_EC", "binary-ec")),
            ("hybrid-64ec", "hybrid-64-ec"),
            *((name, "hybrid-512-ec") for name in ("hybrid512-ec", "hybrid_512_ec", "hybrid-ec", "hybrid-N-ec")),
        ],
    )
    def test_a_misspelt_type_is_told_with_the_nearest(self, name, nearest):
        with pytest.raises(ValueError, match=rf"got '{name}'; did you mean '{nearest}'\?$"):
            build(name)

    @pytest.mark.parametrize("name", ["x", "transformer"])
    def test_one_that_is_near_to_none(self, name):
        with pytest.raises(ValueError, match=f"got '{name}'$"):
            build(name)

    def test_more_digits_than_any_size_has(self):
        with pytest.raises(ValueError, match=f"got 'hybrid-{10**18}'; its N has more than 18 digits$"):
            build(f"hybrid-{10**18}")
        with pytest.raises(ValueError, match="N = 9{18} does not fit a vocabulary"):
            build(f"hybrid-{10**18 - 1}")

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
                "loss: Input should be 'full', 'sampled', 'nce' or 'negative', got 'squared'",
            ),
            ({"type": "binary", "numbering": "rare"}, "numbering: not an option of binary"),
            ({"type": "binary", 5: 6}, "5: not an option of binary; known"),
            ({"type": "hybrid-50"}, "type: N = 50 does not fit a vocabulary of 50 words: .*smaller N"),
            ({"type": "hybrid-512-ec", "numbering": "rare"}, "type: N = 512 does not fit a vocabulary of 50"),
            ({"type": "hybrid-512", "code": "random"}, "type: N = 512 does not fit"),
            ({"type": "hybrid-1"}, "type: N = 1 does not fit .* at least 2"),
            ({"type": "binary", "generators": ["101", "111"]}, "generators: binary has no .*; add -ec to its type"),
            ({"type": "hybrid-9", "generators": ["101", "111"]}, "generators: hybrid-9 has no .*; add -ec"),
            ({"type": "binary-ec", "generators": ["101"]}, "generators: expected two or more"),
            ({"type": "binary-ec", "generators": []}, "generators: expected two or more"),
            ({"type": "binary", "code": "huffman"}, "code: a Huffman code needs a vocabulary with counts"),
            ({"type": "binary", "code": "clusters"}, "code: clusters need word vectors; pass a vocabulary"),
            ({"type": "hybrid-9-ec", "code": "huffman"}, "code: a Huffman code needs a vocabulary with counts"),
            ({"type": "binary", "code": "brown"}, "code: brown needs a text; train by a recipe, .*`trellex codes`"),
            (
                {"type": "hybrid-9", "code": "gray"},
                "code: expected one of frequency, random, huffman, clusters, brown, or {file: …}, got 'gray'",
            ),
            (
                {"type": "binary", "loss": "hinge"},
                "loss: Input should be 'squared', 'cross_entropy' or 'trellis', got 'hinge'",
            ),
            ({"type": "binary", "decoding": "best"}, "decoding: Input should be 'exact' or 'paper', got 'best'"),
            ({"type": "hybrid-9", "decoding": "best"}, "decoding: Input should be 'exact' or 'paper', got 'best'"),
            ({"type": "binary", "mixture": 4}, "mixture: not an option of binary; did you mean 'mixtures'"),
            ({"type": "hybrid-9", "hidden_layers": 4}, "hidden_layers: .* did you mean 'hidden_layer'"),
            ({"type": "softmax", "label_smooth": 0.1}, "label_smooth: .* did you mean 'label_smoothing'"),
            ({"type": "softmax", "mixtures": 4}, "mixtures: not an option of softmax"),
            ({"type": "binary", "mixtures": 0}, "mixtures: Input should be greater than or equal to 1, got 0"),
            ({"type": "hybrid-9-ec", "mixtures": 2.5}, "mixtures: Input should be a valid integer.* got 2.5"),
            ({"type": "hybrid-9", "mixtures": None}, "mixtures: Input should be a valid integer, got None"),
            ({"type": "binary", "hidden_layer": 0}, "hidden_layer: Input should be greater than or equal to 1, got 0"),
            ({"type": "hybrid-9", "hidden_layer": "x"}, "hidden_layer: Input should be a valid integer.* got 'x'"),
            ({"type": "binary", "mixtures": 2, "loss": "squared"}, "loss: a mixture needs .* 'trellis', got 'squared'"),
            ({"type": "hybrid-9", "mixtures": 2, "loss": "cross_entropy"}, "loss: a mixture needs .*; leave it out"),
            ({"type": "binary", "mixtures": 2, "decoding": "paper"}, "decoding: the paper's .* a mixture; use 'exact'"),
            ({"type": "hybrid-9-ec", "mixtures": 2, "decoding": "paper"}, "decoding: the paper's .* use 'exact'"),
            ({"type": "binary", "mixtures": 2, "label_smoothing": 0.1}, "label_smoothing: a mixture's .* set it to 0"),
            ({"type": "hybrid-9", "mixtures": 2, "label_smoothing": 0.1}, "label_smoothing: a mixture's .* to 0"),
            ({"type": "softmax", "label_smoothing": 1}, "label_smoothing: Input should be less than 1, got 1"),
            (
                {"type": "binary", "label_smoothing": -0.1},
                "label_smoothing: Input should be greater than or equal to 0, got -0.1",
            ),
            ({"type": "hybrid-9", "label_smoothing": float("nan")}, "label_smoothing: Input should be .*, got nan"),
            ({"type": "hybrid-9", "bits_weight": "x"}, "bits_weight: Input should be a valid number.*, got 'x'"),
            ({"type": "hybrid-9", "bits_weight": None}, "bits_weight: Input should be a valid number, got None"),
            (
                {"type": "hybrid-9-ec", "bits_weight": -1},
                "bits_weight: Input should be greater than or equal to 0, got -1",
            ),
            ({"type": "hybrid-9", "softmax_weight": -0.5}, "softmax_weight: Input should be greater .* 0, got -0.5"),
            ({"type": "binary", "code": "random", "seed": "x"}, "seed: Input should be a valid integer.* got 'x'"),
            (
                {"type": "binary", "code": "random", "seed": -1},
                "seed: Input should be greater than or equal to 0, got -1",
            ),
            ({"type": "hybrid-9", "numbering": "all"}, "numbering: Input should be 'paper' or 'rare', got 'all'"),
            (
                {"type": "hybrid-9", "numbering": "paper", "code": "random"},
                "numbering: the paper's is for the frequency code; use rare",
            ),
            ({"type": "softmax", "tied": "yes"}, "tied: Input should be a valid boolean, got 'yes'"),
            ({"type": "softmax", "tied": 1}, "tied: Input should be a valid boolean, got 1"),
            ({"type": "binary", "tied": True}, "tied: not an option of binary"),
            ({"type": "softmax", "reduction": "max"}, "reduction: Input should be 'none', 'mean' or 'sum', got 'max'"),
        ],
    )
    def test_mistakes_are_named_with_a_remedy(self, spec, message):
        with pytest.raises(ValueError, match=message):
            build(spec)

    def test_bits_for_another_number_of_rare_words(self):
        with pytest.raises(ValueError, match="code: expected one of 42 words, got .*41"):
            build({"type": "hybrid-9", "code": FrequencyCode(41)})
        with pytest.raises(ValueError, match="code: expected one of 42 words, got .*50"):
            build({"type": "hybrid-9", "code": FrequencyCode(50), "numbering": "rare"})


class TestShapes:
    @pytest.mark.parametrize(
        "spec",
        ["softmax", "binary-ec", "hybrid-9-ec", {"type": "binary-ec", "mixtures": 2}, COMPLETE, SHELVES],
        ids=str,
    )
    def test_leading_dimensions_are_kept(self, spec):
        head, h, words = build(spec), torch.randn(2, 3, 4), torch.randint(0, 50, (2, 3))
        assert head(h, words).shape == head.loss(h, words).shape == head.log_prob(h, words).shape == (2, 3)
        assert head.topk(h, 5)[0].shape == head.topk(h, 5)[1].shape == (2, 3, 5)
        assert head.sample(h).shape == (2, 3)
        flat = head.log_prob(h.reshape(6, 4), words.reshape(6))
        assert torch.equal(head.log_prob(h, words).reshape(6), flat)
        assert head.topk(h[0, 0], 5)[0].shape == (5,)

    @pytest.mark.parametrize("spec", ["softmax", "binary-ec", "hybrid-9-ec", COMPLETE, SHELVES], ids=str)
    def test_words_that_do_not_fit_the_hidden_states_are_refused(self, spec):
        head, h = build(spec), torch.randn(2, 3, 4)
        with pytest.raises(ValueError, match=r"target: expected shape \(2, 3\), as h has, got \(3, 2\)"):
            head.loss(h, torch.zeros(3, 2, dtype=torch.long))
        with pytest.raises(ValueError, match=r"h: the last dimension must be 4, got shape \(2, 3, 5\)"):
            head.log_prob(torch.randn(2, 3, 5), torch.zeros(2, 3, dtype=torch.long))

    @pytest.mark.parametrize("spec", ["softmax", "binary-ec", "hybrid-9-ec", COMPLETE, SHELVES], ids=str)
    @pytest.mark.parametrize("word", [-100, -1, 50])
    def test_words_that_do_not_exist_have_no_probability(self, spec, word):
        with pytest.raises(ValueError, match=f"words: ids go from 0 to 49, got {word}"):
            build(spec).log_prob(torch.randn(1, 4), torch.tensor([word]))

    @pytest.mark.parametrize("spec", ["softmax", "binary-ec", "hybrid-9-ec", COMPLETE, SHELVES], ids=str)
    def test_odd_arguments_are_refused_alike(self, spec):
        head, h = build(spec), torch.randn(2, 4)
        with pytest.raises(ValueError, match="k: expected"):
            head.topk(h, 0)
        for temperature in (0, -1.0, 1e-9, float("nan")):
            with pytest.raises(ValueError, match="temperature: expected"):
                head.sample(h, temperature)
        with pytest.raises(ValueError, match="target: expected whole numbers"):
            head.loss(h, torch.zeros(2))
        assert head.loss(h, torch.zeros(2, dtype=torch.int32)).shape == (2,)

    @pytest.mark.parametrize("spec", ["softmax", "binary-ec", "hybrid-9-ec", COMPLETE, SHELVES], ids=str)
    def test_hidden_states_that_are_no_real_tensor_are_refused_everywhere(self, spec):
        head, words = build(spec), torch.zeros(2, dtype=torch.long)
        for h, message in (
            (np.zeros((2, 4)), r"h: expected a torch tensor, got numpy.ndarray; use torch.from_numpy\(h\)"),
            ([[0.0] * 4] * 2, r"h: expected a torch tensor, got list; use torch.tensor\(h\)"),
            (torch.zeros(2, 4, dtype=torch.long), r"h: expected real numbers, got torch.int64; .* h.float\(\)"),
            (torch.zeros(2, 5), r"h: the last dimension must be 4, got shape \(2, 5\)"),
        ):
            for read in (
                *(lambda h: head.loss(h, words), lambda h: head.log_prob(h, words)),
                *(lambda h: head.topk(h, 1), head.best, head.sample),
            ):
                with pytest.raises(ValueError, match=message):
                    read(h)

    @pytest.mark.parametrize("spec", ["softmax", "binary-ec", "hybrid-9-ec", COMPLETE, SHELVES], ids=str)
    def test_words_that_are_no_tensor_beside_them_are_refused(self, spec):
        head, h = build(spec), torch.zeros(2, 4)
        with pytest.raises(ValueError, match=r"target: expected a torch tensor, got numpy.ndarray; use torch.from_n"):
            head.loss(h, np.zeros(2, np.int64))
        with pytest.raises(ValueError, match=r"words: is on meta, but h is on cpu; use words.to\(h.device\)"):
            head.log_prob(h, torch.zeros(2, dtype=torch.long, device="meta"))

    def test_numpy_integers_are_sizes(self):
        assert build("binary-ec", np.int64(50), np.int64(4)).vocab_size == 50
        for spec, vocab, size in ((5, 50, 4), ("binary", 50, 0), ("binary", 2.5, 4)):
            with pytest.raises(ValueError, match="expected"):
                build(spec, vocab, size)

"""What a head takes: the columns of the paper's table, and the memory that no operation may exceed."""

import pytest
import torch
from by_hand import LOSSES, H, hidden_states, name_of
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from trellex.heads import Cost, build_head, shelf_distribution


def cost_and_size(spec, vocab):
    """The cost of a head of 512 hidden units, and how many parameters it really has."""
    with torch.device("meta"):
        head = build_head(spec, hidden_size=512, vocab=vocab)
    return head.cost(), sum(parameter.numel() for parameter in head.parameters())


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
        cost, size = cost_and_size(spec, vocab)
        assert (cost.bits, cost.outputs, cost.multiply_adds) == (bits, outputs, outputs * 512)
        assert float(f"{cost.parameters:.3g}") == parameters
        assert cost.parameters == size

    @pytest.mark.parametrize(
        ("options", "expected"),
        [
            (
                {"type": "binary-ec", "mixtures": 4},
                Cost(outputs=4 * 44 + 4, bits=4 * 44, parameters=180 * 513, multiply_adds=180 * 512),
            ),
            (
                {"type": "hybrid-512-ec", "mixtures": 4, "numbering": "paper"},
                Cost(outputs=512 + 180, bits=4 * 44, parameters=692 * 513, multiply_adds=692 * 512),
            ),
            (
                {"type": "binary-ec", "hidden_layer": 100},
                Cost(outputs=44, bits=44, parameters=513 * 100 + 44 * 101, multiply_adds=512 * 100 + 44 * 100),
            ),
            (
                {"type": "hybrid-512", "hidden_layer": 100, "mixtures": 3},
                Cost(
                    outputs=512 + 3 * 16 + 3,
                    bits=3 * 16,
                    parameters=512 * 513 + 513 * 100 + 51 * 101,
                    multiply_adds=512 * 512 + 512 * 100 + 51 * 100,
                ),
            ),
        ],
        ids=["mixture", "hybrid mixture", "hidden layer", "hybrid mixture with a hidden layer"],
    )
    def test_of_mixtures_and_hidden_layers(self, options, expected):
        cost, size = cost_and_size(options, 65536)
        assert cost == expected
        assert cost.parameters == size

    @pytest.mark.parametrize("size", [512, 300])
    def test_of_a_tied_softmax_the_word_vectors_are_none(self, size):
        """They are the decoder's; to multiply by them takes time all the same."""
        with torch.device("meta"):
            embedding = nn.Embedding(65536, size)
            head = build_head({"type": "softmax", "tied": True}, hidden_size=512, vocab=65536, embedding=embedding)
        parameters, multiply_adds = 65536 + 512 * size, 512 * size + size * 65536
        assert head.cost() == Cost(outputs=65536, bits=0, parameters=parameters, multiply_adds=multiply_adds)
        assert sum(parameter.numel() for parameter in head.parameters()) == parameters

    @pytest.mark.parametrize(
        ("spec", "outputs", "frequent"),
        [
            ({"type": "binary-ec", "memory": 8}, 256 * 8 + 255, 0),
            ({"type": "binary-ec", "memory": 3}, 8 * 13 + 7, 0),
            ({"type": "hybrid-2048-ec", "memory": 6}, 64 * 10 + 63, 2048),
            ({"type": "hybrid-2048-ec", "memory": 6, "numbering": "paper"}, 64 * 10 + 63, 2048),
        ],
        ids=str,
    )
    def test_of_complete_trellises(self, spec, outputs, frequent):
        cost, size = cost_and_size({"generators": "complete", **spec}, 65536)
        every = outputs + frequent
        assert cost == Cost(outputs=every, bits=outputs, parameters=every * 513, multiply_adds=every * 512)
        assert cost.parameters == size

    @pytest.mark.parametrize(
        ("options", "logits", "scored"),
        [
            ({}, 128 * 3 + 127, 16 * 64),
            ({"visit": 8, "memory": 8}, 256 * 2 + 255, 8 * 64),
            ({"visit": 1, "memory": 6}, 64 * 4 + 63, 64),
            ({"words": 256, "visit": 999}, 255, 65536),
        ],
        ids=str,
    )
    def test_of_shelves_only_words_of_visited_ones_are_scored(self, options, logits, scored):
        vocab, size = 65536, 300
        spec = {"type": "shelves", "code": "frequency", **options}
        with torch.device("meta"):
            head = build_head(spec, hidden_size=512, vocab=vocab, embedding=nn.Embedding(vocab, size))
        assert head.cost() == Cost(
            outputs=logits + scored,
            bits=logits,
            parameters=513 * logits + 512 * size + vocab,
            multiply_adds=512 * logits + 512 * size + scored * size,
        )
        assert sum(parameter.numel() for parameter in head.parameters()) == head.cost().parameters

    @pytest.mark.parametrize("vocab", [65536, 65535])
    def test_of_a_tree_one_path_is_read(self, vocab):
        cost, size = cost_and_size({"type": "hierarchical", "code": "frequency"}, vocab)
        assert cost == Cost(outputs=16, bits=0, parameters=513 * (vocab - 1), multiply_adds=512 * 16)
        assert cost.parameters == size

    def test_of_an_adaptive_softmax_one_tail_is_read(self):
        cost, size = cost_and_size("adaptive", 65536)
        tails = [(128, 6144), (32, 24576), (8, 32768)]  # widths and words
        assert cost == Cost(
            outputs=2048 + 3 + 32768,
            bits=0,
            parameters=513 * 2051 + sum(width * (512 + words) for width, words in tails),
            multiply_adds=512 * 2051 + max(width * (512 + words) for width, words in tails),
        )
        assert cost.parameters == size

    def test_of_a_differentiated_softmax_every_band_has_its_block(self):
        cost, size = cost_and_size("differentiated", 65536)
        products = 2048 * 256 + 6144 * 128 + 24576 * 64 + 32768 * 64
        assert cost == Cost(outputs=65536, bits=0, parameters=products + 65536, multiply_adds=products)
        assert cost.parameters == size

    def test_of_free_codes_latents_are_counted(self):
        cost, size = cost_and_size({"type": "free", "bits": 128}, 65536)
        products = 512 * 128 + 65536 * 128
        assert cost == Cost(outputs=65536, bits=0, parameters=products + 65536, multiply_adds=products)
        assert cost.parameters == size

    def test_of_two_layers_together(self):
        assert Cost(1, 2, 3, 4) + Cost(10, 20, 30, 40) == Cost(11, 22, 33, 44)


class LargestTensor(TorchDispatchMode):
    """Remembers the most numbers that any operation put out."""

    def __init__(self):
        super().__init__()
        self.size = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for output in result if isinstance(result, (tuple, list)) else [result]:
            if isinstance(output, torch.Tensor):
                held = output.untyped_storage().nbytes() // output.element_size()  # less, of repeated values
                self.size = max(self.size, min(output.numel(), held))
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

    @pytest.mark.parametrize(
        "options",
        [
            {"numbering": "rare"},
            {"mixtures": 4},
            {"mixtures": 4, "numbering": "paper"},
            {"hidden_layer": 20},
            {"mixtures": 4, "hidden_layer": 20},
            *({"label_smoothing": 0.1, "loss": loss} for loss in LOSSES),
        ],
        ids=name_of,
    )
    @pytest.mark.parametrize("kind", ["binary-ec", "hybrid-64", "hybrid-64-ec"])
    @pytest.mark.parametrize("vocab", [VOCAB, VOCAB - 77])
    def test_nor_with_other_options(self, kind, options, vocab):
        options = {key: value for key, value in options.items() if key != "numbering" or kind != "binary-ec"}
        assert largest_tensor({"type": kind, **options}, vocab) < self.VOCAB / 200

    @pytest.mark.parametrize("memory", [3, 6])
    @pytest.mark.parametrize("kind", ["binary-ec", "hybrid-64-ec"])
    def test_nor_of_complete_trellises(self, kind, memory):
        assert largest_tensor({"type": kind, "generators": "complete", "memory": memory}, self.VOCAB) < self.VOCAB / 100

    @pytest.mark.parametrize(("scale", "share"), [(50, 1 / 40), (0, 3 / 4)], ids=["decided", "undecided"])
    @pytest.mark.parametrize(("code", "vocab"), [("frequency", VOCAB - 77), ("random", VOCAB)])
    def test_of_shelves_gradients_alone_are(self, code, vocab, scale, share):
        """That of the word vectors, and that of the bias of every word; a code keeps its tables."""
        embedding = nn.Embedding(vocab, 5)
        head = build_head({"type": "shelves", "code": code}, hidden_size=H, vocab=vocab, embedding=embedding)
        with torch.no_grad():
            head.shelves.weight *= scale
        h, words = hidden_states(4).float().requires_grad_(), torch.tensor([0, 3, vocab // 2, vocab - 1])
        head.code.words(head.code.numbers(words))  # makes the tables
        with LargestTensor() as largest:
            for k in (1, 5):
                head.topk(h, k)
            head.best(h)
            head.log_prob(h, words)
            head.sample(h)
            loss = head.loss(h, words).sum()
        assert largest.size < vocab * share
        loss.backward()
        assert {embedding.weight.grad.numel(), head.words.bias.grad.numel()} == {5 * vocab, vocab}

    def test_nor_of_shelves_that_are_refused(self, monkeypatch):
        """A tempered word that no shelf gave is drawn from all shelves, some at a time."""
        monkeypatch.setattr(shelf_distribution, "PATIENCE", 0)
        vocab = 1 << 20
        spec, embedding = {"type": "shelves", "code": "frequency", "words": 1024}, nn.Embedding(vocab, 5)
        head = build_head(spec, hidden_size=H, vocab=vocab, embedding=embedding)
        with LargestTensor() as largest:
            head.sample(hidden_states(1).float(), 0.7)
        assert vocab / 16 < largest.size < vocab / 4

    def test_but_those_of_the_softmax_are(self):
        assert largest_tensor("softmax", 5000) >= 4 * 5000

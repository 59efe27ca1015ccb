"""Bit errors against bits that are counted word by word."""

from dataclasses import astuple

import numpy as np
import pytest
import torch
from splits import Pairs

from trellex.evaluation.bit_errors import bit_errors
from trellex.text.vocabulary import EOS, UNK


def hidden_states(model, source, target):
    """What the head reads to predict each word and EOS, one sentence and one word at a time. -> [T + 1, H]"""
    state, hidden = model.start([source]), []
    for word in [*target, EOS]:
        hidden.append(state.hidden)
        state = model.step(state, np.array([word]))
    return torch.cat(hidden)


def counted(model, pairs):
    """Predictions and the three shares of errors, by plain Python from the logits."""
    layer = model.head.bits
    code, ecc = layer.code, layer.ecc
    before, after = [], []
    with model.inference():
        for source, target in zip(pairs.sources, pairs.targets, strict=True):
            hidden = hidden_states(model, source, target)
            logits, log_weights = layer.outputs(hidden)
            best, _ = layer.topk(hidden, 1)
            for place, word in enumerate([*target.tolist(), EOS]):
                if word < layer.first_rare:
                    continue
                right = code.bits(np.array(word - layer.offset))
                part = logits[place, log_weights[place].argmax()].numpy()
                before.append([(logit > 0) != bit for logit, bit in zip(part, ecc.encode(right), strict=True)])
                if layer.decoding == "paper":
                    read = ecc.decode(1 / (1 + np.exp(-part.astype(np.float64))))
                else:
                    read = code.bits(best[place, 0].numpy() - layer.offset)
                after.append([mine != bit for mine, bit in zip(read, right, strict=True)])
    return len(before), np.mean(before), np.mean(after), np.mean([any(word) for word in after])


HEADS = [
    "binary",
    {"type": "binary", "decoding": "paper"},
    "binary-ec",
    {"type": "binary-ec", "decoding": "paper"},
    {"type": "binary-ec", "mixtures": 3},
    {"type": "binary-ec", "code": "huffman", "decoding": "paper"},
    "hybrid-9-ec",
    {"type": "hybrid-9-ec", "decoding": "paper"},
    {"type": "hybrid-9", "numbering": "rare"},
    {"type": "hybrid-9-ec", "mixtures": 2, "code": "random"},
]


@pytest.mark.parametrize("head", HEADS, ids=str)
class TestCounts:
    def test_word_by_word(self, model_of, pairs, head):
        model = model_of(head)
        found = bit_errors(model, pairs)
        assert astuple(found) == pytest.approx(counted(model, pairs))
        assert 0 < found.before < 1
        assert 0 < found.after <= found.words

    def test_batches_change_nothing(self, model_of, pairs, head):
        model = model_of(head)
        assert bit_errors(model, pairs, batch_tokens=1) == bit_errors(model, pairs)


class TestPredictions:
    def test_a_binary_head_spells_every_word_and_eos(self, model_of, pairs):
        assert bit_errors(model_of("binary-ec"), pairs).predictions == sum(map(len, pairs.targets)) + len(pairs)

    def test_a_hybrid_head_spells_the_rare_words(self, model_of, pairs):
        rare = sum(int((target >= 8).sum()) for target in pairs.targets)
        assert bit_errors(model_of("hybrid-9-ec"), pairs).predictions == rare

    @pytest.mark.parametrize(
        "head",
        [
            "softmax",
            {"type": "binary-ec", "generators": "complete"},
            {"type": "hybrid-9-ec", "generators": "complete", "memory": 3, "mixtures": 2},
            {"type": "shelves", "code": "frequency", "words": 4},
        ],
        ids=str,
    )
    def test_what_has_no_bits_of_its_own_spells_nothing(self, model_of, pairs, head):
        assert bit_errors(model_of(head), pairs) is None

    def test_no_rare_words_no_errors(self, model_of, pairs):
        frequent = Pairs(pairs.sources, [np.full(3, UNK)] * len(pairs))
        assert astuple(bit_errors(model_of("hybrid-9-ec"), frequent)) == (0, 0, 0, 0)

    def test_an_empty_source_is_left_out(self, model_of, pairs):
        model = model_of("binary-ec")
        more = Pairs([*pairs.sources, np.zeros(0, np.int64)], [*pairs.targets, np.array([5])])
        assert bit_errors(model, more) == bit_errors(model, pairs)


SILENCE = Pairs([np.array([5, 6])], [np.zeros(0, np.int64)])  # the reference is EOS alone


def always_says(model, word, flipped=()):
    """The model with bits that spell one word, some of them flipped, whatever comes in."""
    linear, bits = model.head.bits.linear, model.head.bits.redundant_bits(torch.tensor(word))
    bits[list(flipped)] ^= 1
    linear.weight.zero_()
    linear.bias.copy_(bits * 2 - 1)
    return model


class TestCorrection:
    @pytest.mark.parametrize("decoding", ["exact", "paper"])
    def test_the_code_corrects_flipped_bits(self, model_of, decoding):
        model = always_says(model_of({"type": "binary-ec", "decoding": decoding}), EOS, flipped=(3, 14))
        assert astuple(bit_errors(model, SILENCE)) == pytest.approx((1, 2 / 24, 0, 0))

    def test_without_redundancy_they_stay(self, model_of):
        model = always_says(model_of({"type": "binary", "decoding": "paper"}), EOS, flipped=(3,))
        assert astuple(bit_errors(model, SILENCE)) == pytest.approx((1, 1 / 6, 1 / 6, 1))

    def test_bits_that_spell_no_word_are_compared_too(self, model_of):
        """EOS is 2, the bits of which are 010000; 58 is 010111, no word of 40: three bits of six are wrong."""
        model = always_says(model_of({"type": "binary", "decoding": "paper"}), EOS, flipped=(3, 4, 5))
        assert astuple(bit_errors(model, SILENCE)) == pytest.approx((1, 1 / 2, 1 / 2, 1))

    def test_exact_decoding_reads_words_alone(self, model_of):
        """58 again: the nearest word, 26, is 010110."""
        model = always_says(model_of("binary"), EOS, flipped=(3, 4, 5))
        assert astuple(bit_errors(model, SILENCE)) == pytest.approx((1, 1 / 2, 1 / 3, 1))

    def test_some_words_are_right(self, model_of):
        """The bits say the one word of the reference thrice, and once more instead of EOS."""
        found = bit_errors(always_says(model_of("binary-ec"), 7), Pairs([np.array([5, 6])], [np.full(3, 7)]))
        assert (found.predictions, found.words) == (4, 1 / 4)


def test_a_model_in_training_drops_nothing_out_and_stays_in_training(model_of, pairs):
    model = model_of("binary-ec")
    expected = bit_errors(model, pairs)
    assert bit_errors(model.train(), pairs) == expected
    assert model.training


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("head", HEADS, ids=str)
def test_a_gpu_counts_as_a_cpu_does(model_of, pairs, head):
    model = model_of(head).double()  # in single precision a logit near 0 may have another sign there
    on_cpu = bit_errors(model, pairs)
    assert bit_errors(model.cuda(), pairs) == on_cpu

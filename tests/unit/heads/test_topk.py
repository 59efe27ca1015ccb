"""The k best words against sorting all of them; in the paper's decoding, against the paper's equations."""

import numpy as np
import pytest
import torch
from by_hand import (
    COMPLETE,
    LAYERED,
    MIXED,
    MIXED_COMPLETE,
    NUMBERED,
    OTHER_CODES,
    OTHER_CODES_COMPLETE,
    PLAIN,
    RIVALS,
    SHELVES,
    SINGLE,
    UNK,
    ByHand,
    H,
    all_log_probs,
    enumerated_topk,
    families,
    hidden_states,
    name_of,
    random_head,
    spell,
    with_bits_options,
    with_options,
)

BITS = PLAIN[1:]


class TestExact:
    @pytest.mark.parametrize(
        "spec", SINGLE + LAYERED + OTHER_CODES + COMPLETE + OTHER_CODES_COMPLETE + SHELVES + RIVALS, ids=name_of
    )
    @pytest.mark.parametrize("vocab", [50, 64])
    def test_is_enumeration(self, spec, vocab):
        head, h = random_head(spec, vocab), hidden_states(20)
        log_probs = all_log_probs(head, h)
        for k in (1, 5, vocab + 2):
            words, best = head.topk(h, k)
            expected_words, expected_best = enumerated_topk(log_probs, k)
            assert words.dtype == torch.int64
            assert np.array_equal(words, expected_words)
            np.testing.assert_allclose(best.detach(), expected_best, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("vocab", [2, 3, 63, 64, pytest.param(1000, marks=pytest.mark.slow)])
    @pytest.mark.parametrize("loss", ["squared", "trellis"])
    def test_is_enumeration_at_every_size(self, vocab, loss):
        for spec in families(vocab):
            spec = with_bits_options(spec, loss=loss)
            head, h = random_head(spec, vocab), hidden_states(10)
            log_probs = ByHand(head, spec, h).log_probs()
            for k in (1, 2, 30):
                words, best = head.topk(h, k)
                expected_words, expected_best = enumerated_topk(log_probs, k)
                assert np.array_equal(words, expected_words), spec
                np.testing.assert_allclose(best.detach(), expected_best, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize(
        "spec", SINGLE + LAYERED + OTHER_CODES + MIXED + COMPLETE + MIXED_COMPLETE + SHELVES + RIVALS, ids=name_of
    )
    def test_best_is_the_first(self, spec):
        head, h = random_head(spec, 50), 2 * hidden_states(300)
        assert torch.equal(head.best(h), head.topk(h, 1)[0][:, 0])
        assert torch.equal(head.best(h.view(20, 15, -1)), head.best(h).view(20, 15))

    @pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
    @pytest.mark.parametrize("rows", [1, 300, 2000])  # few are fetched, many are read where they are
    @pytest.mark.parametrize(
        "spec",
        PLAIN + COMPLETE + SHELVES + RIVALS + [with_options(spec, decoding="paper") for spec in BITS],
        ids=name_of,
    )
    def test_on_a_gpu(self, spec, rows):
        head, h = random_head(spec, 50), hidden_states(rows)
        best, (words, log_probs) = head.best(h), head.topk(h, 3)
        head, h = head.cuda(), h.cuda()
        assert head.best(h).is_cuda
        assert torch.equal(head.best(h).cpu(), best)
        found = head.topk(h, 3)
        assert torch.equal(found[0].cpu(), words)
        torch.testing.assert_close(found[1].cpu(), log_probs)

    def test_is_the_default(self):
        head, h = spell(random_head("binary-ec", 50), 63), hidden_states(1)
        assert head.topk(h, 1)[0].item() == all_log_probs(head, h).argmax() != UNK


def check_topk_of_mixture(head, truth, h, k):
    """What holds of any k best words. Returns where the parts reach all of the true ones, and where those are found."""
    words, log_probs = (tensor.detach().numpy() for tensor in head.topk(h, k))
    every = truth.log_probs()
    best_words, best = enumerated_topk(every, k)
    count = min(k, truth.vocab_size)
    assert words.shape == log_probs.shape == (len(h), k)
    assert (words[:, count:] == -1).all()
    assert np.isneginf(log_probs[:, count:]).all()
    found, log_probs, best_words, best = words[:, :count], log_probs[:, :count], best_words[:, :count], best[:, :count]
    assert all(len(set(row)) == count for row in found.tolist())
    np.testing.assert_allclose(log_probs, np.take_along_axis(every, found, -1), rtol=1e-9, atol=1e-10)
    assert (np.diff(log_probs, axis=-1) <= 0).all()
    assert (log_probs <= best + 1e-9 * (1 + np.abs(best))).all()
    within_reach = np.take_along_axis(truth.reach_of_the_parts(k), best_words, -1).all(-1)
    np.testing.assert_allclose(log_probs[within_reach], best[within_reach], rtol=1e-9, atol=1e-10)
    return within_reach, (found == best_words).all(-1)


def check_topk_is_exact(head, truth, h):
    for k in (1, 5, 52):
        within_reach, exact = check_topk_of_mixture(head, truth, h, k)
        assert within_reach.all()
        assert exact.all()


class TestMixture:
    @pytest.mark.parametrize("spec", MIXED + MIXED_COMPLETE, ids=name_of)
    @pytest.mark.parametrize("vocab", [50, 64])
    def test_is_enumeration_where_the_parts_reach_the_best(self, spec, vocab):
        head, h = random_head(spec, vocab, scale=0.7), hidden_states(200)
        truth = ByHand(head, spec, h)
        for k in (1, 2, 5, 20):
            within_reach, exact = check_topk_of_mixture(head, truth, h, k)
            assert within_reach.sum() > 20
            assert exact[within_reach].all()

    @pytest.mark.parametrize("kind", BITS)
    def test_is_enumeration_at_every_size(self, kind):
        for vocab in (10, 1000, 4096):
            spec = {"type": kind, "mixtures": 3}
            head, h = random_head(spec, vocab), hidden_states(20)
            within_reach, exact = check_topk_of_mixture(head, ByHand(head, spec, h), h, 5)
            assert within_reach.any()
            assert exact[within_reach].all()

    @pytest.mark.parametrize("spec", MIXED, ids=name_of)
    def test_all_words_are_ranked_and_padded(self, spec):
        head, h = random_head(spec, 50), hidden_states(20)
        truth = ByHand(head, spec, h)
        for k in (50, 53):
            within_reach, exact = check_topk_of_mixture(head, truth, h, k)
            assert within_reach.all()
            assert exact.all()
            assert np.array_equal(np.sort(head.topk(h, k)[0][:, :50]), np.tile(np.arange(50), (20, 1)))

    @pytest.mark.parametrize("code", ["random", "huffman"])
    @pytest.mark.parametrize("kind", ["binary-ec", "hybrid-9-ec"])
    def test_all_words_of_any_code(self, kind, code):
        head, h = random_head({"type": kind, "mixtures": 3, "code": code}, 50), hidden_states(10)
        words, best = head.topk(h, 52)
        expected_words, expected_best = enumerated_topk(all_log_probs(head, h), 52)
        assert np.array_equal(words, expected_words)
        np.testing.assert_allclose(best.detach(), expected_best, rtol=1e-9, atol=1e-12)

    @pytest.mark.parametrize("vocab", [2, 3])
    def test_two_and_three_words(self, vocab):
        for kind in families(vocab)[-2 if vocab == 2 else -4 :]:
            spec = {"type": kind, "mixtures": 4}
            head, h = random_head(spec, vocab), hidden_states(20)
            for k in (1, 2, 5):
                within_reach, exact = check_topk_of_mixture(head, ByHand(head, spec, h), h, k)
                assert exact[within_reach].all()

    @pytest.mark.parametrize("kind", BITS)
    def test_parts_that_are_all_the_same(self, kind):
        spec = {"type": kind, "mixtures": 4}
        head, h = random_head(spec, 50), hidden_states(20)
        with torch.no_grad():
            for parameter in head.bits.parameters():
                parameter.copy_(parameter[: len(parameter) // 4].repeat(4, *[1] * (parameter.dim() - 1)))
        check_topk_is_exact(head, ByHand(head, spec, h), h)

    @pytest.mark.parametrize("kind", BITS)
    def test_all_words_tied(self, kind):
        spec = {"type": kind, "mixtures": 3}
        head, h = random_head(spec, 50, scale=0), hidden_states(3)
        for k in (1, 5, 52):
            check_topk_of_mixture(head, ByHand(head, spec, h), h, k)

    @pytest.mark.parametrize("kind", BITS)
    def test_a_part_of_no_weight(self, kind):
        spec = {"type": kind, "mixtures": 2}
        head, h = random_head(spec, 50), hidden_states(20)
        with torch.no_grad():
            head.bits.weights.bias[0] = -1e4
        check_topk_is_exact(head, ByHand(head, spec, h), h)

    @pytest.mark.parametrize("kind", BITS)
    def test_bits_that_are_nearly_certain(self, kind):
        spec = {"type": kind, "mixtures": 3}
        head, h = random_head(spec, 50), hidden_states(20)
        with torch.no_grad():
            for parameter in head.bits.linear.parameters():
                parameter.copy_(parameter.sign() * 1e4)
        truth = ByHand(head, spec, h)
        for k in (1, 5, 52):
            within_reach, _ = check_topk_of_mixture(head, truth, h, k)
            assert within_reach.any()


class TestPaper:
    @pytest.mark.parametrize("spec", SINGLE, ids=name_of)
    def test_for_several_words_is_exact(self, spec):
        head, h = random_head(with_bits_options(spec, decoding="paper"), 50), hidden_states(20)
        assert np.array_equal(head.topk(h, 3)[0], enumerated_topk(all_log_probs(head, h), 3)[0])

    @pytest.mark.parametrize("spec", SINGLE + LAYERED, ids=name_of)
    @pytest.mark.parametrize("vocab", [50, 64])
    def test_is_softmax_then_the_best_array(self, spec, vocab):
        head, h = random_head(with_bits_options(spec, decoding="paper"), vocab), hidden_states(300)
        truth = ByHand(head, spec, h)
        expected = np.array([truth.paper_word(row) for row in range(len(h))])
        words, log_probs = head.topk(h, 1)
        assert words.shape == log_probs.shape == (300, 1)
        assert np.array_equal(words[:, 0], expected)
        np.testing.assert_allclose(
            log_probs[:, 0].detach(), truth.log_probs()[np.arange(300), expected], rtol=1e-9, atol=1e-12
        )

    @pytest.mark.parametrize("spec", BITS + NUMBERED, ids=name_of)
    def test_an_array_of_no_word_is_unk(self, spec):
        h = torch.zeros(2, H)
        head = spell(random_head(with_options(spec, decoding="paper"), 50, dtype=torch.float32), 63)
        assert head.topk(h, 1)[0].tolist() == [[UNK], [UNK]]
        exact = spell(random_head(spec, 50, dtype=torch.float32), 63)
        assert exact.topk(h, 1)[0].tolist() == np.argmax(all_log_probs(exact, h), -1)[:, None].tolist()
        assert (exact.topk(h, 1)[0] != UNK).all()

    @pytest.mark.parametrize("spec", NUMBERED, ids=name_of)
    def test_the_softmax_says_whether_bits_are_read(self, spec):
        word = 13 + 8 if spec["numbering"] == "rare" else 13
        head = random_head(with_options(spec, decoding="paper"), 50, dtype=torch.float32)
        assert spell(head, 13).topk(torch.zeros(1, H), 1)[0].item() == word
        assert spell(head, 13, frequent=4).topk(torch.zeros(1, H), 1)[0].item() == 4

    def test_bits_behind_other_may_spell_a_frequent_word(self):
        head = random_head({"type": "hybrid-9-ec", "decoding": "paper"}, 50, dtype=torch.float32)
        assert spell(head, 5).topk(torch.zeros(1, H), 1)[0].item() == 5

    def test_other_wins_first_though_no_rare_word_is_the_most_probable(self):
        for decoding, word in (("paper", 33), ("exact", 4)):
            head = random_head({"type": "hybrid-9", "decoding": decoding}, 50, dtype=torch.float32)
            spell(head, 33, strength=0.1)
            with torch.no_grad():
                head.softmax.bias[4] = 4.9  # OTHER has 5
            assert head.topk(torch.zeros(1, H), 1)[0].item() == word

    def test_a_probability_that_rounds_to_1_is_not_certain(self):
        """A wrong bit of 20 nats, whose float32 probability is 1, against many right bits of 10."""
        head = random_head({"type": "binary-ec", "decoding": "paper"}, 50, dtype=torch.float32)
        spell(head, 37, strength=10)
        wrong = int((head.bits.linear.bias < 0).nonzero()[0])
        with torch.no_grad():
            head.bits.linear.bias[wrong] = 20
        assert head.topk(torch.zeros(1, H), 1)[0].item() == 37

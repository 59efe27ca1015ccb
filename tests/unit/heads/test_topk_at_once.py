"""The k best words without a second look, and the bound on all others, against enumeration."""

import numpy as np
import pytest
import torch
from by_hand import (
    COMPLETE,
    LAYERED,
    MIXED,
    OTHER_CODES,
    RIVALS,
    SHELVES,
    SINGLE,
    all_log_probs,
    enumerated_topk,
    hidden_states,
    name_of,
    random_head,
    shelves,
    with_bits_options,
)

from trellex.heads import shelf_distribution

V = 50
PAPER = [with_bits_options(spec, decoding="paper") for spec in SINGLE + LAYERED]


@pytest.mark.parametrize(
    "spec", SINGLE + LAYERED + OTHER_CODES + MIXED + COMPLETE + SHELVES + RIVALS + PAPER, ids=name_of
)
def test_is_topk_where_all_words_are_looked_at(spec):
    head, h = random_head(spec, V), hidden_states(12).view(3, 4, -1)
    for k in (1, 5, V + 2):
        words, log_probs, log_bound = head.topk_at_once(h, k)
        expected_words, expected = head.topk(h, k)
        assert torch.equal(words, expected_words)
        torch.testing.assert_close(log_probs, expected)
        assert torch.equal(log_bound, torch.full((3, 4), -torch.inf, dtype=torch.float64))


@pytest.mark.parametrize("code", ["frequency", "random"])
@pytest.mark.parametrize("visit", [1, 3, 5])
@pytest.mark.parametrize("at_once", [2, 5, 7])
def test_of_some_shelves_no_other_word_is_beyond_the_bound(at_once, visit, code, monkeypatch):
    monkeypatch.setattr(shelf_distribution, "AT_ONCE", at_once)
    monkeypatch.setattr(shelf_distribution, "SHELVES_A_WORD", 0)
    head, h = random_head(shelves(words=4, visit=visit, memory=4, code=code), V), hidden_states(200)
    every, read = all_log_probs(head, h), max(at_once - 1, visit)
    log_shelves = head.log_prob_of_shelves(head.shelf_logits(h), torch.arange(head.num_shelves).expand(200, -1))
    in_order = log_shelves.detach().sort(-1, descending=True).values
    for k in (1, 5, V):
        words, log_probs, log_bound = (found.detach().numpy() for found in head.topk_at_once(h, k))
        np.testing.assert_allclose(log_bound, in_order[:, read], rtol=1e-10)
        expected_words, expected = enumerated_topk(every, k)
        is_told = expected > log_bound[:, None]
        assert np.array_equal(words[is_told], expected_words[is_told])
        np.testing.assert_allclose(log_probs[is_told], expected[is_told], rtol=1e-9)
        own = np.where(words < 0, -np.inf, np.take_along_axis(every, words.clip(0), -1))
        np.testing.assert_allclose(log_probs, own, rtol=1e-9)
        assert is_told[:, 0].any()
    others = every.copy()  # k words are all that were looked at
    np.put_along_axis(others, np.where(words < 0, words[:, :1], words), -np.inf, -1)
    assert (others <= log_bound[:, None] + 1e-10).all()
    assert np.array_equal((words >= 0).sum(-1), np.isneginf(others).sum(-1))
    assert ((words >= 0).sum(-1) <= 4 * read).all()
    assert (words < 0).any()


@pytest.mark.parametrize(("k", "read"), [(1, 32), (5, 32), (32, 128)])
@pytest.mark.parametrize("by_kernel", [False, True])
def test_wide_beams_read_more_shelves_where_a_kernel_ranks_them(k, read, by_kernel, monkeypatch):
    """All words of a beam may follow its first hypothesis. Without a kernel more would be waited for."""
    head, h = random_head(shelves(words=2, visit=3, memory=4, code="frequency"), 1000), hidden_states(20)
    if by_kernel:

        def ranked(self, logits, count=4):
            return self.ecc.topk(logits, count, self.num_shelves)

        monkeypatch.setattr(type(head), "_is_ranked", lambda self, values: True)
        monkeypatch.setattr(type(head), "_ranked", ranked)
    words, _, log_bound = (found.detach().numpy() for found in head.topk_at_once(h, k))
    log_shelves = head.log_prob_of_shelves(head.shelf_logits(h), torch.arange(512).expand(20, -1))
    in_order = log_shelves.detach().sort(-1, descending=True).values
    np.testing.assert_allclose(log_bound, in_order[:, (read if by_kernel else 32) - 1], rtol=1e-10)
    expected_words, expected = enumerated_topk(all_log_probs(head, h), k)
    is_told = expected > log_bound[:, None]
    assert np.array_equal(words[is_told], expected_words[is_told])


def test_a_bound_in_single_precision():
    head, h = random_head(shelves(words=2, visit=1), V, dtype=torch.float32), hidden_states(5).float()
    words, log_probs, log_bound = head.topk_at_once(h, 3)
    assert (words.dtype, log_probs.dtype, log_bound.dtype) == (torch.int64, torch.float32, torch.float32)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("spec", ["softmax", *COMPLETE, *SHELVES, {"type": "hybrid-9-ec", "mixtures": 3}], ids=name_of)
@pytest.mark.parametrize("k", [1, 5, 32])
def test_a_gpu_is_not_waited_for(spec, k):
    head, h = random_head(spec, V, dtype=torch.float32).cuda(), hidden_states(7).float().cuda()
    expected = head.topk(h, k)
    with torch.no_grad():
        head.topk_at_once(h, k)  # tables find their way to the device
        torch.cuda.set_sync_debug_mode("error")
        try:
            words, log_probs, _ = head.topk_at_once(h, k)
        finally:
            torch.cuda.set_sync_debug_mode("default")
    assert torch.equal(words, expected[0])
    torch.testing.assert_close(log_probs, expected[1])

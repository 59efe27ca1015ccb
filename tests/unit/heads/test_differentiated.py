"""Differentiated softmax: which words read which units, at every size."""

import pytest
import torch
from by_hand import DIFFERENTIATED, all_log_probs, hidden_states, name_of, random_head
from test_hierarchical import check_topk

from trellex.heads import build_head

each = pytest.mark.parametrize("spec", DIFFERENTIATED, ids=name_of)


@each
@pytest.mark.parametrize("vocab", [2, 3, 31, 32, 33])
@pytest.mark.parametrize("scale", [0, 30, 1e6])
def test_topk_is_enumeration(spec, vocab, scale):
    check_topk(random_head(spec, vocab, scale), hidden_states(6), (1, 2, vocab, vocab + 3))


@each
def test_of_no_rows(spec):
    head, h, none = random_head(spec, 50), hidden_states(0), torch.zeros(0, dtype=torch.int64)
    assert [found.shape for found in head.topk(h, 3)] == [(0, 3), (0, 3)]
    assert (
        head.loss(h, none).shape == head.log_prob(h, none).shape == head.best(h).shape == head.sample(h).shape == (0,)
    )


def test_a_band_reads_its_own_units_alone():
    """Another unit moves the scores of all words of a band by the same: nothing between them changes."""
    head, h = random_head({"type": "differentiated", "cutoffs": [10], "units": [4, 2]}, 50), hidden_states(3)
    moved = h.clone()
    moved[:, 5] += 1
    change = all_log_probs(head, moved) - all_log_probs(head, h)
    assert (abs(change[:, :10] - change[:, :1]) < 1e-12).all()
    assert (abs(change[:, 10:] - change[:, :1]) > 1e-6).all()


@pytest.mark.parametrize(
    ("vocab", "hidden", "options", "words", "units"),
    [
        (65536, 512, {}, [2048, 6144, 24576, 32768], [256, 128, 64, 64]),
        (65536, 512, {"cutoffs": [2000, 10000]}, [2000, 8000, 55536], [256, 128, 128]),
        (65536, 512, {"cutoffs": [2000], "units": [500, 12]}, [2000, 63536], [500, 12]),
        (65536, 512, {"units": [500, 12]}, [2048, 63488], [500, 12]),
        (50, 4, {}, [1, 5, 19, 25], [1, 1, 1, 1]),
        (50, 2, {}, [1, 49], [1, 1]),
        (2, 7, {}, [1, 1], [3, 4]),
    ],
)
def test_sizes_of_bands(vocab, hidden, options, words, units):
    with torch.device("meta"):
        head = build_head({"type": "differentiated", **options}, hidden_size=hidden, vocab=vocab)
    assert [band.out_features for band in head.bands] == words
    assert [band.in_features for band in head.bands] == units == head.units


@pytest.mark.parametrize(
    ("options", "hidden", "vocab", "message"),
    [
        ({"cutoffs": [10, 50]}, 64, 50, "^cutoffs: expected words of 50, .* got 50; choose smaller ones, or leave"),
        ({"cutoffs": [1, 2, 3]}, 3, 50, "^hidden_size: 3 leaves no unit to some of 4 bands; choose a larger one"),
        ({}, 1, 50, "^hidden_size: 1 leaves no unit to some of 2 bands; choose a larger one, or fewer cutoffs"),
        (
            {"units": [9, 9]},
            16,
            50,
            "^units: expected 2 numbers, one a band, that add up to hidden_size 16, got",
        ),
        ({"cutoffs": [9], "units": [8, 4, 4]}, 16, 50, "^units: expected 2 numbers, .*; change them or the cutoffs"),
        ({}, 64, 1, "^vocab: differentiated needs at least 2 words, got 1; use more, or softmax"),
    ],
    ids=str,
)
def test_sizes_that_cannot_be(options, hidden, vocab, message):
    with pytest.raises(ValueError, match=message):
        build_head({"type": "differentiated", **options}, hidden_size=hidden, vocab=vocab)

"""Batches hold every pair once, keep the budget, and are the same for the same seed and epoch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trellex.text import batches, pad

LENGTHS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=60)


def columns(pairs):
    return np.array([pair[0] for pair in pairs], int), np.array([pair[1] for pair in pairs], int)


class TestBatches:
    @given(pairs=LENGTHS, sentences=st.integers(1, 70), seed=st.integers(0, 9), epoch=st.integers(0, 9))
    def test_by_sentences(self, pairs, sentences, seed, epoch):
        made = batches(*columns(pairs), sentences=sentences, tokens=None, seed=seed, epoch=epoch)
        assert sorted(index for batch in made for index in batch.tolist()) == list(range(len(pairs)))
        assert all(1 <= len(batch) <= sentences for batch in made)
        assert len(made) == -(-len(pairs) // sentences)

    @given(pairs=LENGTHS, tokens=st.integers(31, 200), seed=st.integers(0, 9), epoch=st.integers(0, 9))
    def test_by_tokens(self, pairs, tokens, seed, epoch):
        source, target = columns(pairs)
        made = batches(source, target, sentences=None, tokens=tokens, seed=seed, epoch=epoch)
        assert sorted(index for batch in made for index in batch.tolist()) == list(range(len(pairs)))
        for batch in made:
            assert len(batch) * (source[batch].max() + 1) <= tokens
            assert len(batch) * (target[batch].max() + 1) <= tokens

    def test_batches_by_tokens_are_full(self):
        made = batches([4] * 10, [4] * 10, sentences=None, tokens=20, seed=0, epoch=0)
        assert sorted(map(len, made)) == [2, 4, 4]

    @given(pairs=LENGTHS, seed=st.integers(0, 9))
    def test_like_lengths_together(self, pairs, seed):
        source, target = columns(pairs)
        made = batches(source, target, sentences=4, tokens=None, seed=seed, epoch=0)
        keys = sorted([sorted((target[i], source[i]) for i in batch) for batch in made])
        assert [key for batch in keys for key in batch] == sorted(zip(target, source, strict=True))

    def test_same_seed_and_epoch_same_batches(self):
        lengths = np.random.default_rng(0).integers(1, 9, (2, 500))

        def flat(seed, epoch):
            made = batches(*lengths, sentences=8, tokens=None, seed=seed, epoch=epoch)
            return np.concatenate(made).tolist()

        assert flat(1, 2) == flat(1, 2)
        assert len({tuple(flat(seed, epoch)) for seed in range(3) for epoch in range(3)}) == 9

    def test_ties_and_order_are_shuffled(self):
        made = batches([3] * 64, [3] * 64, sentences=8, tokens=None, seed=0, epoch=0)
        assert np.concatenate(made).tolist() != list(range(64))
        firsts = [batch[0] for batch in batches(range(64), range(64), sentences=8, tokens=None, seed=0, epoch=0)]
        assert firsts != sorted(firsts)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"sentences": None}, "sentences, tokens: give exactly one"),
            ({"tokens": 10}, "sentences, tokens: give exactly one"),
            ({"sentences": 0}, "sentences: expected at least 1, got 0"),
            ({"sentences": None, "tokens": 9}, "tokens: a batch of 9 cannot hold .* 10 with its marker; raise tokens"),
            ({"source_lengths": [1]}, "source_lengths, target_lengths: expected two lists of one length"),
            ({"seed": -1}, "seed, epoch: expected numbers of at least 0"),
            ({"epoch": -1}, "seed, epoch: expected numbers of at least 0"),
        ],
    )
    def test_errors(self, change, message):
        good = {"source_lengths": [1, 9], "target_lengths": [2, 3], "sentences": 2, "tokens": None}
        with pytest.raises(ValueError, match=message):
            batches(**{**good, "seed": 0, "epoch": 0, **change})


class TestPad:
    def test_rows_are_filled_up(self):
        padded = pad([np.array([5, 6, 7]), np.array([], int), np.array([8], np.uint16)], 2)
        assert padded.tolist() == [[5, 6, 7], [2, 2, 2], [8, 2, 2]]
        assert padded.dtype == np.int64

    def test_nothing(self):
        assert pad([], 0).shape == (0, 0)
        assert pad([np.array([], int)], 0).shape == (1, 0)

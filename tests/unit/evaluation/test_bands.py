"""Bands of words by hand and by brute force."""

import os
import subprocess
import sys
from dataclasses import astuple
from itertools import pairwise

import numpy as np
import pytest

from trellex.evaluation import WordBand, rarest_ranks, word_bands
from trellex.text.vocabulary import MARKERS, Vocabulary

VOCABULARY = Vocabulary([*MARKERS, "a", "b", "c", "d", "e", "f", "g"], [9] * 10)  # a has rank 3, g rank 9


def split(*lines):
    return [line.split() for line in lines]


class TestWordBands:
    def test_counted_by_hand(self):
        hypotheses = split("a a g b", "c <unk> e", "")
        references = split("a g g x", "b c y d", "a f")
        assert word_bands(hypotheses, references, VOCABULARY, edges=(4, 7)) == [
            WordBand(0, 4, right=1, translated=2, expected=2),  # a
            WordBand(4, 7, right=1, translated=2, expected=3),  # b to d: the b is another sentence's
            WordBand(7, 10, right=1, translated=2, expected=3),  # e to g
            WordBand(10, 10, right=0, translated=1, expected=2),
        ]

    def test_matches_are_clipped_on_both_sides(self):
        assert word_bands(split("a a a"), split("a a"), VOCABULARY)[0].right == 2
        assert word_bands(split("a a"), split("a a a"), VOCABULARY)[0].right == 2

    def test_order_does_not_matter(self):
        assert word_bands(split("c b a"), split("a b c"), VOCABULARY)[0].right == 3

    @pytest.mark.parametrize("unknown", ["<unk>", "</s>", "zebra"])
    def test_an_unknown_word_is_never_right(self, unknown):
        """Not even if the reference has the same letters."""
        assert word_bands([[unknown]], [[unknown]], VOCABULARY) == [
            WordBand(0, 10, 0, 0, 0),
            WordBand(10, 10, 0, 1, 1),
        ]

    @pytest.mark.parametrize(
        ("size", "starts"),
        [
            (99, [0, 99]),
            (100, [0, 100]),
            (101, [0, 100, 101]),
            (1_000, [0, 100, 1_000]),
            (1_001, [0, 100, 1_000, 1_001]),
            (12_000, [0, 100, 1_000, 10_000, 12_000]),
        ],
    )
    def test_bands_end_with_the_vocabulary(self, size, starts):
        vocabulary = Vocabulary([*MARKERS, *map(str, range(3, size))], [1] * size)
        last = vocabulary.words[-1]
        bands = word_bands([[last]], [[last]], vocabulary)
        assert [(band.first_rank, band.end_rank) for band in bands] == [
            *pairwise(starts),
            (size,) * 2,
        ]
        assert [band.right for band in bands] == [0] * (len(bands) - 2) + [1, 0]

    def test_edges_are_the_first_of_their_band(self):
        bands = word_bands(split("a b"), split(""), VOCABULARY, edges=[4])
        assert [band.translated for band in bands] == [1, 1, 0]

    def test_brute_force(self):
        random = np.random.default_rng(0)
        words = [*VOCABULARY.words[3:], "x", "<unk>"]
        hypotheses, references = ([[*random.choice(words, size=random.integers(8))] for _ in range(50)] for _ in "ab")
        band_of = {word: min(rank // 5, 1) for rank, word in enumerate(VOCABULARY.words) if rank >= 3}
        expected = np.zeros((3, 3), int)
        for ours, theirs in zip(hypotheses, references, strict=True):
            left = [word for word in theirs if word in band_of]
            for word in ours:
                band = band_of.get(word, 2)
                expected[band, 1] += 1
                if word in left:
                    left.remove(word)
                    expected[band, 0] += 1
            for word in theirs:
                expected[band_of.get(word, 2), 2] += 1
        bands = word_bands(hypotheses, references, VOCABULARY, edges=(5,))
        assert [list(astuple(band)[2:]) for band in bands] == expected.tolist()
        assert all(type(number) is int for band in bands for number in astuple(band))

    def test_different_numbers(self):
        with pytest.raises(ValueError, match="differ in number: 1 and 2"):
            word_bands(split("a"), split("a", "b"), VOCABULARY)


def test_rarest_ranks():
    ranks = rarest_ranks(split("b g a", "a a", "", "a zebra g", "<s>"), VOCABULARY)
    assert ranks == [9, 3, 0, 10, 10]
    assert {type(rank) for rank in ranks} == {int}


def test_bands_and_bootstrap_need_no_torch():
    script = "import sys; sys.modules['torch'] = None; import trellex.evaluation, trellex.evaluation.bootstrap"
    subprocess.run([sys.executable, "-c", script], check=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, timeout=60)

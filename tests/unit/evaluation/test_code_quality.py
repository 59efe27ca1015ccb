"""How well codes suit a text, against what can be counted by hand."""

import numpy as np
import pytest

from trellex.codes import FrequencyCode, HuffmanCode, PermutedCode, RandomCode, cluster_code
from trellex.evaluation.code_quality import CodeQuality, NearWords, like_words

PAIRS = NearWords(np.array([[0], [3]]), np.array([[1, 2], [7, 4]]), np.array([[5, 6], [0, 3]]))


class TestNearWords:
    @pytest.mark.parametrize("sample", [7, 1000])
    def test_the_nearest_are_those_of_the_greatest_cosine(self, sample):
        vectors = np.random.default_rng(0).normal(size=(300, 6)) * np.arange(300)[:, None]
        near = NearWords.of(vectors, sample, 4)
        words = near.words[:, 0]
        assert near.nearest.shape == near.others.shape == (min(sample, 299), 4)
        assert 0 not in near.words  # which has no vector
        for word, nearest in zip(words, near.nearest, strict=True):
            units = vectors[1:] / np.linalg.norm(vectors[1:], axis=1, keepdims=True)
            likeness = np.append(-9, units @ units[word - 1])
            likeness[word] = -9
            assert sorted(nearest) == sorted(np.argsort(-likeness)[:4])
        assert (near.others != near.words).all()
        assert set(near.others.ravel()) <= set(range(1, 300))

    def test_the_same_vectors_give_the_same(self):
        vectors = np.random.default_rng(0).normal(size=(50, 3))
        assert all(map(np.array_equal, NearWords.of(vectors, 9), NearWords.of(vectors, 9)))

    def test_two_words(self):
        assert sorted(NearWords.of(np.eye(2)).nearest.ravel()) == [0, 1]

    def test_words_without_vectors(self):
        with pytest.raises(ValueError, match="^vectors: fewer than 2 words have neighbours"):
            NearWords.of(np.array([[0.0], [1.0], [0.0]]))


class TestQuality:
    def test_bits_by_hand(self):
        found = CodeQuality.of(FrequencyCode(8), PAIRS, np.ones(8, int))
        # 0 and 1, 0 and 2, 3 and 7, 3 and 4, lowest bit first
        assert (found.bits, found.near_distance, found.near_first_bits) == (3, (1 + 1 + 1 + 3) / 4, (0 + 1 + 2 + 0) / 4)
        assert (found.random_distance, found.random_first_bits) == ((2 + 2 + 2 + 0) / 4, (0 + 1 + 0 + 3) / 4)
        assert found.ones == found.text_ones == [0.5] * 3
        assert found.entropy == found.text_entropy == 1

    def test_frequent_words_weigh_more_in_the_text(self):
        found = CodeQuality.of(FrequencyCode(8), PAIRS, np.array([6, 1, 1, 0, 0, 0, 0, 0]))
        assert found.text_ones == [1 / 8, 1 / 8, 0]
        by_hand = -(1 / 8) * np.log2(1 / 8) - (7 / 8) * np.log2(7 / 8)
        assert found.text_entropy == pytest.approx(by_hand * 2 / 3)
        assert found.entropy == 1

    def test_a_text_without_words(self):
        found = CodeQuality.of(FrequencyCode(8), PAIRS, np.zeros(8, int))
        assert found.text_ones == found.ones

    def test_codes_with_gaps(self):
        code = HuffmanCode([9, 9, 1, 1, 1, 1, 1, 1])
        assert CodeQuality.of(code, PAIRS, np.ones(8)).bits == code.num_bits

    def test_clusters_are_ahead_of_chance(self):
        rng = np.random.default_rng(0)
        vectors = rng.normal(size=(32, 8)).repeat(8, 0) + 0.1 * rng.normal(size=(256, 8))
        near, counts = NearWords.of(vectors), np.ones(256)
        clusters, chance = (CodeQuality.of(code, near, counts) for code in (cluster_code(vectors), RandomCode(256)))
        assert clusters.near_first_bits > 4 > 1.5 > chance.near_first_bits
        assert clusters.near_distance < 0.6 * chance.near_distance


def test_like_words_share_first_bits_then_any():
    code = PermutedCode([0, 4, 2, 6, 1, 5, 3, 7])  # first bits: 0–3 have 0, 4–7 have 1; 0, 1 and 2, 3 share two
    assert like_words(code, 0, 7).tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert like_words(code, 7, 3).tolist() == [6, 5, 4]

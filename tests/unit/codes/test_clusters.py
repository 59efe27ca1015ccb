"""Clusters as numbers: near words share their first bits, and the numbers are 0 … V−1."""

import numpy as np
import pytest
import torch

from trellex.codes import PermutedCode, cluster_code, clusters, load_code


def vectors_of(size, dimensions=8, seed=0):
    return np.random.default_rng(seed).normal(size=(size, dimensions))


def shelves(code, bits):
    """The words that share their first bits, by the number that those bits are."""
    numbers = code.numbers(np.arange(code.vocab_size))
    return [np.flatnonzero(numbers % (1 << bits) == ending) for ending in range(1 << bits)]


def looseness(vectors, code, bits):
    """The mean squared distance of words to the mean of those that share their first bits."""
    return np.mean([((vectors[words] - vectors[words].mean(0)) ** 2).sum(-1).mean() for words in shelves(code, bits)])


@pytest.mark.parametrize("size", [2, 3, 4, 5, 63, 64, 65, 1000])
@pytest.mark.parametrize("batch_numbers", [clusters.BATCH_NUMBERS, 100])
class TestEverySize:
    def test_numbers_are_a_permutation(self, size, batch_numbers, monkeypatch, tmp_path):
        monkeypatch.setattr(clusters, "BATCH_NUMBERS", batch_numbers)
        code = cluster_code(vectors_of(size))
        assert isinstance(code, PermutedCode)
        assert sorted(code.numbers(np.arange(size))) == list(range(size))
        code.save(tmp_path / "code.json")
        assert load_code(tmp_path / "code.json") == code

    def test_the_size_of_a_batch_changes_nothing(self, size, batch_numbers, monkeypatch):
        whole = cluster_code(vectors_of(size))
        monkeypatch.setattr(clusters, "BATCH_NUMBERS", batch_numbers)
        assert cluster_code(vectors_of(size)) == whole


def test_words_of_a_planted_cluster_share_their_first_bits():
    rng = np.random.default_rng(1)
    planted = rng.permutation(np.arange(1024) % 16)
    code = cluster_code(10 * np.eye(16)[planted] + rng.normal(size=(1024, 16)) * 0.1)
    assert [len(np.unique(planted[words])) for words in shelves(code, 4)] == [1] * 16


def test_the_first_bit_parts_what_is_farthest_apart():
    places = np.array([9.0, -7, 8, -9, 7, -8])
    code = cluster_code(np.stack([places, np.zeros(6)], 1))
    assert {tuple(words) for words in shelves(code, 1)} == {(0, 2, 4), (1, 3, 5)}


@pytest.mark.parametrize("size", [2, 5, 64, 1000])
def test_the_half_with_the_most_frequent_word_has_the_bit_0(size):
    code = cluster_code(vectors_of(size))
    for bits in range(1, code.num_bits):
        halves = [words.min(initial=size) for words in shelves(code, bits)]
        parts = len(halves) // 2
        assert (np.array(halves[:parts]) <= halves[parts:]).all()


@pytest.mark.parametrize("bits", [1, 3, 5])
def test_shelves_are_tighter_than_those_of_any_other_order(bits):
    vectors = vectors_of(60, 4).repeat(10, 0) + vectors_of(600, 4, seed=1) * 0.1
    others = (PermutedCode(np.random.default_rng(seed).permutation(600)) for seed in range(20))
    assert looseness(vectors, cluster_code(vectors), bits) < 0.9 * min(looseness(vectors, o, bits) for o in others)


def test_rounds_of_two_means_pay(monkeypatch):
    vectors = vectors_of(200, 16).repeat(10, 0) + vectors_of(2000, 16, seed=1) * 0.3
    with_them = looseness(vectors, cluster_code(vectors), 5)
    monkeypatch.setattr(clusters, "MEANS_ROUNDS", 0)
    assert with_them < 0.98 * looseness(vectors, cluster_code(vectors), 5)


@pytest.mark.parametrize("size", [2, 3, 100, 1000, 1024])
@pytest.mark.parametrize("bits", [1, 3, 99])
def test_after_so_many_bits_words_follow_by_their_ids(size, bits):
    vectors = vectors_of(size)
    code, whole = cluster_code(vectors, bits), cluster_code(vectors)
    assert sorted(code.numbers(np.arange(size))) == list(range(size))
    shared = min(bits, code.num_bits)
    for words, same in zip(shelves(code, shared), shelves(whole, shared), strict=True):
        assert np.array_equal(words, same)
        assert (np.diff(code.numbers(words)) == 1 << shared).all()


@pytest.mark.parametrize("bits", [0, -1, 2.5, "3", True])
def test_what_is_no_number_of_bits(bits):
    with pytest.raises(ValueError, match="^bits: expected a whole number of at least 1"):
        cluster_code(vectors_of(9), bits)


class TestSameVectors:
    def test_give_the_same_code(self):
        vectors = vectors_of(777)
        before = vectors.copy()
        assert cluster_code(vectors) == cluster_code(vectors)
        assert (vectors == before).all()

    @pytest.mark.parametrize("scale", [2.0**-60, 2.0**100])
    def test_at_any_scale(self, scale):
        assert cluster_code(vectors_of(300) * scale) == cluster_code(vectors_of(300))

    @pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
    def test_as_tensors_with_gradients_or_without(self, kind):
        tensor = torch.from_numpy(vectors_of(300)).to(kind)
        expected = cluster_code(tensor.double().numpy())
        assert cluster_code(tensor) == cluster_code(tensor.requires_grad_()) == expected

    @pytest.mark.parametrize("value", [0.0, 1.0, -3e30])
    @pytest.mark.parametrize("size", [2, 5, 64, 100])
    def test_of_all_words_part_them_by_their_ids(self, value, size):
        code = cluster_code(np.full((size, 3), value))
        half = (size + 1) // 2
        assert [words.tolist() for words in shelves(code, 1)] == [list(range(half)), list(range(half, size))]
        assert sorted(code.numbers(np.arange(size))) == list(range(size))


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([1.0, 2.0], "a vector a word, .*got shape \\(2,\\)"),
        (np.zeros((2, 3, 4)), "a vector a word, .*got shape \\(2, 3, 4\\)"),
        (np.zeros((5, 0)), "a vector a word, .*got shape \\(5, 0\\)"),
        (np.zeros((1, 4)), "at least 2 words"),
        (np.zeros((0, 4)), "at least 1"),
        ([[1.0], [np.nan]], "finite"),
        ([[1.0], [np.inf]], "finite"),
        (torch.tensor([[1.0], [-float("inf")]]), "finite"),
        ([["a"], ["b"]], "real numbers"),
        (np.zeros((3, 2), complex), "real numbers"),
        (torch.zeros(3, 2, dtype=torch.complex64), "real numbers"),
        (torch.zeros(3, 2, device="meta"), "meta device hold no numbers"),
    ],
)
def test_what_are_no_vectors(vectors, message):
    with pytest.raises(ValueError, match=f"^vectors: .*({message})"):
        cluster_code(vectors)

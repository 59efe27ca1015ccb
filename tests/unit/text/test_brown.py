"""Brown clusters: every join is the best by brute force in float64, and like words stand together."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from trellex.codes import ordered_code
from trellex.text import brown, chunks
from trellex.text.bigrams import bigrams
from trellex.text.brown import brown_order, brown_tree
from trellex.text.vocabulary import BOS, EOS


def text(vocab_size, tokens, seed=0, sentences=20):
    """Random words, rare ones among them, of sentences of any length, be it none. -> ids, lengths"""
    rng = np.random.default_rng(seed)
    cuts = np.sort(rng.integers(0, tokens + 1, sentences - 1))
    return 3 + (rng.zipf(1.3, tokens) % max(1, vocab_size - 3)), np.diff([0, *cuts, tokens])


def sentences_of(ids, lengths):
    return [[BOS, *map(int, sentence), EOS] for sentence in np.split(ids, np.cumsum(lengths)[:-1])]


def information(table):
    """Mutual information of left and right, times the number of bigrams. [S, S] -> a number"""
    expected = table.sum(1, keepdims=True) * table.sum(0) / max(table.sum(), 1)
    return sum(n * np.log(n / e) for n, e in zip(table.ravel(), expected.ravel(), strict=True) if n)


def losses_by_hand(table, clusters):
    """Of joining any two clusters, which are lists of words that the table has. -> {(place, place): loss}"""

    def kept(clusters):
        member = np.array([[word in cluster for word in range(len(table))] for cluster in clusters], float)
        return information(member @ table @ member.T)

    whole = kept(clusters)
    found = {}
    for i in range(len(clusters)):
        for j in range(i):
            others = [cluster for place, cluster in enumerate(clusters) if place not in (i, j)]
            found[j, i] = whole - kept([*others, clusters[i] + clusters[j]])
    return found


def joins_by_hand(pairs, words, joined, window):
    """Every step of the algorithm: the loss of what was joined, and all losses that there were."""
    ranks = {int(word): rank for rank, word in enumerate(words)}
    table = np.zeros((len(words), len(words)))
    for left, right, count in zip(*pairs, strict=True):
        table[ranks[left], ranks[right]] = count
    nodes = {}  # the clusters that there are: node -> its words
    steps = list(enumerate(joined.tolist()))
    for rank in range(len(words)):
        nodes[rank] = [rank]
        if len(nodes) > window or rank == len(words) - 1:
            while steps and (len(nodes) > window or rank == len(words) - 1):
                time, pair = steps.pop(0)
                clusters = list(nodes)
                losses = losses_by_hand(table[: rank + 1, : rank + 1], list(nodes.values()))
                yield losses[tuple(sorted(clusters.index(node) for node in pair))], sorted(losses.values())
                nodes[len(words) + time] = nodes.pop(pair[0]) + nodes.pop(pair[1])
    assert len(nodes) == 1


class TestBruteForce:
    @pytest.mark.parametrize("window", [2, 3, 5, 12, 99])
    @pytest.mark.parametrize("seed", range(4))
    def test_every_join_loses_least(self, seed, window):
        pairs = bigrams(*text(12, 300, seed), 12)
        words, joined = brown_tree(pairs, 12, window)
        assert joined.shape == (len(words) - 1, 2)
        steps = list(joins_by_hand(pairs, words, joined, window))
        assert len(steps) == len(joined)
        for loss, losses in steps:
            assert loss == pytest.approx(losses[0], abs=1e-4)
        assert sum(len(losses) > 1 and losses[1] - losses[0] > 1e-3 for _, losses in steps) > len(steps) // 2

    def test_counts_beyond_the_table_of_f(self):
        pairs = bigrams(*text(8, 400), 8)
        many = pairs._replace(counts=pairs.counts * 100_003)
        words, joined = brown_tree(many, 8, 4)
        for loss, losses in joins_by_hand(many, words, joined, 4):
            assert loss == pytest.approx(losses[0], rel=1e-6, abs=1e-3)


class TestOrder:
    def test_two_classes_of_words_part_by_the_first_bit(self):
        rng, size = np.random.default_rng(0), 20
        first, second = np.arange(3, 3 + size), np.arange(3 + size, 3 + 2 * size)
        both = rng.permutation(np.concatenate((first, second)))  # ids tell nothing of the class
        pairs = np.stack((rng.choice(both[:size], 4000), rng.choice(both[size:], 4000)), 1)
        code = ordered_code(brown_order(pairs.ravel(), np.full(1000, 8), 3 + 2 * size))
        bits = code.bits(both)[:, 0]
        assert len(set(bits[:size])) == len(set(bits[size:])) == 1
        assert bits[0] != bits[-1]

    @pytest.mark.parametrize("clusters", [1, 2, 7, 512])
    @pytest.mark.parametrize("vocab_size", [3, 4, 31, 32, 33])
    def test_it_has_every_word_once(self, vocab_size, clusters):
        ids, lengths = text(vocab_size, 60) if vocab_size > 3 else (np.zeros(9, int), np.array([4, 0, 5]))
        order = brown_order(ids, lengths, vocab_size, clusters)
        assert sorted(order) == list(range(vocab_size))
        assert np.array_equal(order, brown_order(ids, lengths, vocab_size, clusters))
        seen = len({BOS, EOS, *ids.tolist()})
        assert order[seen:].tolist() == sorted(set(range(vocab_size)) - {BOS, EOS, *ids.tolist()})  # those never seen

    def test_the_subtree_with_the_lowest_id_is_first(self):
        order = brown_order(*text(40, 500), 40)
        assert order[0] == BOS  # no word is unknown here

    @pytest.mark.parametrize("ids", [[], [5] * 50])
    def test_no_word_and_one_word(self, ids):
        order = brown_order(np.array(ids, int), np.array([len(ids)]), 8)
        assert sorted(order) == list(range(8))

    def test_no_sentence(self):
        assert brown_order(np.array([], int), np.array([], int), 4).tolist() == [0, 1, 2, 3]

    def test_it_tells_how_far_it_is(self, monkeypatch):
        monkeypatch.setattr(brown, "PORTION", 4)
        told = []
        brown_order(*text(12, 300), 12, report=lambda *numbers: told.append(numbers))
        assert told[-1] == (told[-1][1],) * 2
        assert [done for done, _ in told] == [4, 8, told[-1][1]]

    def test_the_size_of_a_portion_changes_nothing(self, monkeypatch):
        whole = brown_order(*text(50, 900), 50, 8)
        monkeypatch.setattr(brown, "PORTION", 3)
        assert np.array_equal(brown_order(*text(50, 900), 50, 8), whole)

    @pytest.mark.parametrize("clusters", [0, -1, 2.5])
    def test_what_is_no_number_of_clusters(self, clusters):
        with pytest.raises(ValueError, match="^clusters: expected a whole number of at least 1"):
            brown_order(*text(12, 30), 12, clusters)

    def test_too_many_bigrams(self):
        pairs = bigrams(*text(8, 40), 8)
        with pytest.raises(
            ValueError, match="^pairs: at most 2,147,483,647 bigrams fit, got .*; take a part of the text"
        ):
            brown_tree(pairs._replace(counts=pairs.counts << 31), 8)


@pytest.mark.parametrize("tokens", [chunks.CHUNK, 4, 1])
def test_bigrams_are_those_of_every_sentence(monkeypatch, tokens):
    monkeypatch.setattr(chunks, "CHUNK", tokens)
    ids, lengths = text(9, 70)
    expected = Counter(pair for sentence in sentences_of(ids, lengths) for pair in pairwise(sentence))
    left, right, counts = bigrams(ids, lengths, 9)
    assert list(zip(left.tolist(), right.tolist(), counts.tolist(), strict=True)) == [
        (*pair, count) for pair, count in sorted(expected.items())
    ]


@pytest.mark.parametrize(
    ("ids", "lengths", "message"),
    [
        ([1, 2, 9], [3], "^ids: word ids go from 0 to 6, got 1 … 9$"),
        ([1, -2], [2], "^ids: word ids go from 0 to 6, got -2 … 1$"),
        ([1, 2], [3], "^lengths: sum to 3, but there are 2 ids"),
    ],
)
def test_what_is_no_text(ids, lengths, message):
    with pytest.raises(ValueError, match=message):
        bigrams(np.array(ids), np.array(lengths), 7)

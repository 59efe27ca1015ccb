"""The tree of a code: all words are reached, each by its own bits."""

import numpy as np
import pytest
import torch

from trellex.codes import CodeTree, FrequencyCode, HuffmanCode, RandomCode

SIZES = [2, 3, 4, 7, 8, 9, 63, 64, 1000]


def codes(vocab):
    """Full and gappy ones, and one as deep as there are words."""
    chain = [HuffmanCode(2.0 ** -np.arange(vocab))] if vocab < 20 else []
    return [FrequencyCode(vocab), RandomCode(vocab, 3), HuffmanCode(10_000 // np.arange(1, vocab + 1)), *chain]


@pytest.mark.parametrize("vocab", SIZES)
def test_turns_lead_to_words(vocab):
    for code in codes(vocab):
        tree, words = CodeTree(code), np.arange(vocab)
        turns, places = tree.turns(words), np.zeros(vocab, np.int64)
        assert (tree.num_nodes, sum(level.num_nodes for level in tree.levels)) == (vocab - 1, vocab - 1)
        assert turns.shape == (vocab, tree.depth)
        for turn in turns.T:
            there = turn >= 0
            assert np.array_equal(places >= 0, there)
            assert np.array_equal(places[there], turn[there] >> 1)
            places[there] = tree.children(places[there])[np.arange(there.sum()), turn[there] & 1]
        assert np.array_equal(~places, words)


@pytest.mark.parametrize("vocab", SIZES)
def test_turns_are_the_bits_that_part_words(vocab):
    """In their order; those that part none are left out."""
    for code in codes(vocab):
        turns, bits = CodeTree(code).turns(np.arange(vocab)), code.bits(np.arange(vocab))
        for word in range(0, vocab, 7):
            alike, expected = np.arange(vocab), []
            for place in range(code.num_bits):
                if len(set(bits[alike, place])) == 2:
                    expected.append(bits[word, place])
                alike = alike[bits[alike, place] == bits[word, place]]
            assert [turn & 1 for turn in turns[word] if turn >= 0] == expected


def test_nodes_are_numbered_level_by_level():
    tree = CodeTree(HuffmanCode([8, 4, 2, 1, 1]))
    assert [level.num_nodes for level in tree.levels] == [1, 1, 1, 1]
    assert tree.turns(np.arange(5)).max(-1).tolist() == [0, 2, 4, 6, 7]
    assert tree.children(np.arange(4)).tolist() == [[-1, 1], [-2, 2], [-3, 3], [-4, -5]]
    assert [level.num_nodes for level in CodeTree(FrequencyCode(64)).levels] == [1, 2, 4, 8, 16, 32]


def test_a_huffman_code_is_as_deep_as_its_words():
    code = HuffmanCode(10_000 // np.arange(1, 301))
    assert np.array_equal((CodeTree(code).turns(np.arange(300)) >= 0).sum(-1), code.lengths)


def test_tensors_are_answered_by_tensors():
    tree, words = CodeTree(RandomCode(50, 3)), torch.arange(50).view(5, 10)
    assert torch.equal(tree.turns(words), torch.from_numpy(tree.turns(words.numpy())))
    assert torch.equal(tree.children(words[:4]), torch.from_numpy(tree.children(words[:4].numpy())))

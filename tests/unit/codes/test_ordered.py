"""An order as numbers: its halves share the first bit, and the numbers are 0 … V−1."""

import numpy as np
import pytest

from trellex.codes import ordered_code


def parts(code, bits):
    """The words that share their first bits, in the order of those bits, the first counting most."""
    firsts = code.bits(np.arange(code.vocab_size))[:, :bits] @ (1 << np.arange(bits)[::-1])
    return [np.flatnonzero(firsts == part) for part in range(1 << bits)]


@pytest.mark.parametrize("size", [2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 1000, 1023, 1024])
def test_parts_are_neighbours_in_the_order_and_of_one_size(size):
    order = np.random.default_rng(0).permutation(size)
    code = ordered_code(order)
    assert sorted(code.numbers(np.arange(size))) == list(range(size))
    for bits in range(1, code.num_bits + 1):
        found = parts(code, bits)
        assert max(map(len, found)) - min(map(len, found)) <= 1
        places = np.argsort(order)
        in_order = np.concatenate([np.sort(places[words]) for words in found])
        assert np.array_equal(in_order, np.arange(size))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([0], "at least 2 words"),
        ([0, 2], "each of 0 … 1 exactly once"),
        ([1, 1, 0], "each of 0 … 2 exactly once"),
        ([0.0, 1.0], "a list of whole numbers"),
        ([[0, 1]], "a list of whole numbers"),
    ],
)
def test_what_is_no_order(words, message):
    with pytest.raises(ValueError, match=f"^words: .*{message}"):
        ordered_code(words)

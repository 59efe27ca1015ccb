"""Windows of codes, against the bits that they are made of."""

from collections import Counter

import numpy as np
import pytest
import torch

from trellex.trellis import CompleteCode
from trellex.trellis.windows import Windows

SIZES = [(1, 1), (5, 1), (5, 3), (6, 5), (6, 8), (9, 4)]


def by_hand(number, num_bits, memory):
    """The step and the newest bits, the newest last, at each step of a word."""
    bits = [number >> place & 1 for place in range(num_bits)]
    return [(step, tuple(bits[max(0, step - memory) : step + 1])) for step in range(num_bits)]


@pytest.mark.parametrize(("num_bits", "memory"), SIZES)
class TestWindows:
    def test_there_is_one_for_the_newest_bits_of_every_step(self, num_bits, memory):
        windows, names = Windows(num_bits, memory), {}
        for number in range(1 << num_bits):
            found = windows.of(np.array(number))
            for place, name in zip(found.tolist(), by_hand(number, num_bits, memory), strict=True):
                assert names.setdefault(place, name) == name  # one place for one window …
        assert len(set(names.values())) == len(names)  # … and another for another
        assert sorted(names) == list(range(windows.count))
        assert windows.count == sum(2 ** min(step, memory + 1) for step in range(1, num_bits + 1))

    def test_each_is_of_as_many_words_as_it_leaves_bits_open(self, num_bits, memory):
        windows = Windows(num_bits, memory)
        counts = Counter(windows.of(np.arange(1 << num_bits)).ravel().tolist())
        widths = {place: len(bits) for number in range(1 << num_bits) for place, (_, bits) in zip(
            windows.of(np.array(number)).tolist(), by_hand(number, num_bits, memory), strict=True
        )}  # fmt: skip
        assert counts == {place: 1 << (num_bits - width) for place, width in widths.items()}

    @pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
    def test_sums_are_those_of_each_number(self, num_bits, memory, kind):
        windows = Windows(num_bits, memory)
        values = kind(np.random.default_rng(0).normal(size=(windows.count, 3)))
        sums, places = windows.sums(values), windows.of(kind(np.arange(1 << num_bits)))
        assert type(sums) is type(values)
        np.testing.assert_allclose(np.asarray(sums), np.asarray(values)[np.asarray(places)].sum(1), atol=1e-12)

    def test_they_hold_what_a_complete_trellis_holds(self, num_bits, memory):
        """The scores of all words span the same space."""
        ecc, numbers = CompleteCode(memory), np.arange(1 << num_bits)
        scores = ecc.encode(numbers[:, None] >> np.arange(num_bits) & 1)
        shares = np.zeros((len(numbers), Windows(num_bits, memory).count))
        np.put_along_axis(shares, Windows(num_bits, memory).of(numbers), 1, 1)
        rank = np.linalg.matrix_rank(shares)
        assert rank == np.linalg.matrix_rank(np.column_stack([shares, scores])) == scores.shape[1] + 1


def test_of_many_words():
    assert Windows(16, 6).count == 1406

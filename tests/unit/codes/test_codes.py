"""Every code is an injective, invertible map from words to bit arrays."""

import copy
import json

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from trellex.codes import FrequencyCode, HuffmanCode, PermutedCode, RandomCode, code_from_dict, load_code

CODES = {
    "frequency": lambda size: FrequencyCode(size),
    "permuted": lambda size: PermutedCode(np.arange(size)[::-1]),
    "random": lambda size: RandomCode(size, seed=3),
    "huffman": lambda size: HuffmanCode(1 + 1000 // np.arange(1, size + 1)),
}


@pytest.fixture(params=CODES)
def build(request):
    return CODES[request.param]


@pytest.mark.parametrize("size", [2, 3, 5, 255, 256, 257, 4096])
@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
class TestEveryCode:
    def test_words_come_back(self, build, size, kind):
        code, ids = build(size), kind(np.arange(size))
        bits = code.bits(ids)
        assert type(bits) is type(ids)
        assert tuple(bits.shape) == (size, code.num_bits)
        assert len(np.unique(np.asarray(bits), axis=0)) == size
        assert (code.ids(bits) == ids).all()
        assert (code.words(code.numbers(ids)) == ids).all()

    def test_other_arrays_belong_to_no_word(self, build, size, kind):
        code = build(size)
        every = np.arange(1 << code.num_bits)[:, None] >> np.arange(code.num_bits) & 1
        ids = np.asarray(code.ids(kind(every)))
        assert sorted(ids[ids >= 0]) == list(range(size))
        assert (code.bits(ids[ids >= 0]) == every[ids >= 0]).all()
        assert (np.asarray(code.words(kind(np.array([-1, -7, 1 << 40])))) == -1).all()

    def test_saved_and_loaded(self, build, size, kind, tmp_path):
        code = build(size)
        code.save(tmp_path / "code.json")
        loaded = load_code(tmp_path / "code.json")
        assert loaded == code
        assert np.array_equal(loaded.bits(np.arange(size)), code.bits(np.arange(size)))
        assert [path.name for path in tmp_path.iterdir()] == ["code.json"]


def test_algorithm_1():
    code = FrequencyCode(25_000)
    assert code.num_bits == 15
    assert code.bits(6).tolist() == [0, 1, 1] + [0] * 12
    assert code.bits(torch.tensor([[1], [2]])).shape == (2, 1, 15)
    assert code.ids([1] * 15) == -1
    assert [FrequencyCode(size).num_bits for size in (2, 3, 4, 5, 65_536, 65_537)] == [1, 2, 2, 3, 16, 17]


def test_random_codes_differ_by_seed_alone():
    assert RandomCode.from_dict(RandomCode(9).to_dict()) == RandomCode(9)
    assert RandomCode(1000, seed=1) == RandomCode(1000, seed=1)
    assert RandomCode(1000, seed=1) != RandomCode(1000, seed=2)


def test_bits_of_a_permuted_code_are_those_of_the_new_numbers():
    code = PermutedCode([2, 0, 1])
    assert code.bits([0, 1, 2]).tolist() == [[0, 1], [0, 0], [1, 0]]
    assert code_from_dict({"type": "permuted", "ids": [2, 0, 1]}) == code


@pytest.mark.parametrize(("code", "tables"), [(RandomCode(40), 2), (HuffmanCode(range(1, 41)), 3)], ids=repr)
def test_tables_are_brought_to_a_device_once(code, tables, monkeypatch):
    ids, brought, bring = torch.arange(40), [], torch.from_numpy
    monkeypatch.setattr(torch, "from_numpy", lambda table: brought.append(table) or bring(table))
    with torch.inference_mode():
        numbers = code.numbers(ids)
    for again in (code, copy.deepcopy(code)):
        brought.clear()
        assert torch.equal(code.words(code.numbers(ids)), ids)
        assert torch.equal(again.words(again.numbers(ids)), ids)
        assert torch.equal(again.numbers(ids), numbers)
        assert again == code
        assert len(brought) == (tables - 1 if again is code else tables)  # one was brought before


class TestHuffman:
    def test_is_as_short_as_can_be(self):
        """Code lengths of a textbook example, and the entropy bound."""
        assert sorted(HuffmanCode([45, 13, 12, 16, 9, 5]).lengths) == [1, 3, 3, 3, 4, 4]
        counts = 1e6 / np.arange(1, 5001)
        probs = counts / counts.sum()
        mean = (HuffmanCode(counts).lengths * probs).sum()
        entropy = -(probs * np.log2(probs)).sum()
        assert entropy <= mean < entropy + 1

    def test_the_automaton_stays_small(self):
        code = HuffmanCode(1e9 / np.arange(1, (1 << 16) + 1))
        assert code.automaton.shape[1] <= 2 * code.num_bits

    @settings(max_examples=100, deadline=None)
    @given(st.lists(st.integers(0, 1000), min_size=2, max_size=60))
    def test_the_automaton_accepts_the_words_and_nothing_else(self, counts):
        code = HuffmanCode(counts)
        automaton = code.automaton
        reached = {0: 1}  # state -> number of bit arrays
        for table in automaton:
            following: dict[int, int] = {}
            for state, ways in reached.items():
                for bit in (0, 1):
                    if table[state, bit] >= 0:
                        following[table[state, bit]] = following.get(table[state, bit], 0) + ways
            reached = following
        assert sum(reached.values()) == len(counts)
        state = np.zeros(len(counts), int)
        for table, bit in zip(automaton, code.bits(np.arange(len(counts))).T, strict=True):
            state = table[state, bit]
            assert (state >= 0).all()

    def test_hopeless_counts(self):
        fibonacci = [1.0, 1.0]
        while len(fibonacci) < 70:
            fibonacci.append(fibonacci[-1] + fibonacci[-2])
        with pytest.raises(ValueError, match="counts: the longest code would have 69 bits.*square roots"):
            HuffmanCode(fibonacci)


class TestBadInput:
    @pytest.mark.parametrize("size", [1, 0, -5, 2.5, "9", True, None, 1 << 64])
    def test_vocabulary_sizes(self, size):
        for code in (FrequencyCode, RandomCode):
            with pytest.raises(ValueError, match="vocab_size: "):
                code(size)

    @pytest.mark.parametrize("numbers", [[0], [0, 2], [0, 0], [-1, 0], [0.5, 1], [[0, 1]], ["a", "b"], []])
    def test_renumberings(self, numbers):
        with pytest.raises(ValueError, match="numbers: "):
            PermutedCode(numbers)

    @pytest.mark.parametrize("counts", [[1], [], [1, -1], [1, np.nan], [1, np.inf], [[1, 2]], ["a", "b"]])
    def test_counts(self, counts):
        with pytest.raises(ValueError, match="counts: "):
            HuffmanCode(counts)

    @pytest.mark.parametrize("kind", [np.array, torch.tensor])
    def test_arrays(self, kind):
        code = FrequencyCode(100)
        for ids in ([100], [-1], [0.5]):
            with pytest.raises(ValueError, match="ids: "):
                code.bits(kind(ids))
        for bits in ([0] * 6, [2] * 7, [0.5] * 7, 1):
            with pytest.raises(ValueError, match="bits: "):
                code.ids(kind(bits))

    @pytest.mark.parametrize(
        "content",
        [
            "",
            "\xff",
            "[]",
            "{}",
            '{"type": ["frequency"]}',
            '{"type": "none", "vocab_size": 9}',
            '{"type": "frequency"}',
            '{"type": "frequency", "vocab_size": "many"}',
            '{"type": "permuted"}',
            '{"type": "permuted", "numbers": 5}',
            '{"type": "permuted", "numbers": [0, 0]}',
            '{"type": "huffman", "lengths": [1, 1, 1]}',
            '{"type": "huffman", "lengths": [1, 99]}',
            '{"type": "huffman", "lengths": "ab"}',
            "[" * 100_000,
            '{"type": "frequency", "vocab_size": ' + "9" * 5000 + "}",
        ],
    )
    def test_files(self, content, tmp_path):
        path = tmp_path / "broken.json"
        path.write_bytes(content.encode("latin-1"))
        with pytest.raises(ValueError, match=r"broken\.json: not a saved code"):
            load_code(path)

    def test_a_file_beyond_all_measure(self, tmp_path):
        with open(tmp_path / "large.json", "wb") as file:
            file.truncate(1 << 40)  # it takes no room on the disk
        with pytest.raises(ValueError, match=r"large\.json: not a saved code \(has more than 67,108,864 bytes\)"):
            load_code(tmp_path / "large.json")

    def test_a_failed_save_leaves_the_old_file(self, tmp_path, monkeypatch):
        path = tmp_path / "code.json"
        FrequencyCode(7).save(path)
        monkeypatch.setattr(json, "dump", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
        with pytest.raises(OSError, match="disk full"):
            FrequencyCode(9).save(path)
        assert load_code(path) == FrequencyCode(7)
        assert [file.name for file in tmp_path.iterdir()] == ["code.json"]

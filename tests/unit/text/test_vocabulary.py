"""A vocabulary numbers words by frequency, and comes back from its file as it was."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trellex.text import BOS, EOS, UNK, Vocabulary

WORDS = st.text(st.characters(exclude_categories=["Cc", "Cs", "Z"]), min_size=1)
COUNTS = st.dictionaries(st.one_of(WORDS, st.sampled_from(["<unk>", "<s>", "</s>", "\ufeff"])), st.integers(0, 10**9))


class TestFromCounts:
    def test_frequent_first_then_code_points(self):
        vocabulary = Vocabulary.from_counts({"b": 2, "a": 2, "z": 9, "犬": 2, "B": 2}, size=None, sentences=4)
        assert vocabulary.words == ["<unk>", "<s>", "</s>", "z", "B", "a", "b", "犬"]
        assert vocabulary.counts.tolist() == [0, 4, 4, 9, 2, 2, 2, 2]
        assert vocabulary.counts.dtype == np.int64
        assert (UNK, BOS, EOS) == (0, 1, 2)

    def test_size_includes_markers(self):
        vocabulary = Vocabulary.from_counts({"a": 3, "b": 2, "c": 1}, size=4)
        assert vocabulary.words == ["<unk>", "<s>", "</s>", "a"]
        assert vocabulary.counts.tolist() == [3, 0, 0, 3]
        assert len(vocabulary) == 4

    def test_markers_in_the_text_are_unknown_words(self):
        vocabulary = Vocabulary.from_counts({"a": 3, "</s>": 7, "<unk>": 1})
        assert vocabulary.words == ["<unk>", "<s>", "</s>", "a"]
        assert vocabulary.counts[UNK] == 8
        assert vocabulary.ids(["</s>", "<s>", "<unk>", "a"]).tolist() == [UNK, UNK, UNK, 3]

    def test_room_for_the_markers(self):
        assert len(Vocabulary.from_counts({"a": 1}, size=3)) == 3
        with pytest.raises(ValueError, match="size: .* got 2"):
            Vocabulary.from_counts({"a": 1}, size=2)

    @pytest.mark.parametrize("word", ["", "a b", "a\u3000b", " a"])
    def test_words_with_white_space(self, word):
        with pytest.raises(ValueError, match="words, place 4: a word may not be empty or hold white space"):
            Vocabulary.from_counts({word: 1})

    def test_counts_must_fit(self):
        with pytest.raises(ValueError, match="counts: expected 3 numbers"):
            Vocabulary(["<unk>", "<s>", "</s>"], [1, 2])
        with pytest.raises(ValueError, match="of at least 0"):
            Vocabulary(["<unk>", "<s>", "</s>"], [1, 2, -1])


class TestIds:
    @given(counts=COUNTS, size=st.one_of(st.none(), st.integers(3, 20)))
    def test_tokens_come_back(self, counts, size):
        vocabulary = Vocabulary.from_counts(counts, size)
        known = vocabulary.words[3:]
        ids = vocabulary.ids(known)
        assert ids.tolist() == list(range(3, len(vocabulary)))
        assert ids.dtype == np.int64
        assert vocabulary.tokens(ids) == known
        assert vocabulary.counts.sum() == sum(counts.values())
        assert (np.diff(vocabulary.counts[3:]) <= 0).all()

    def test_nothing(self):
        vocabulary = Vocabulary.from_counts({})
        assert vocabulary.ids([]).shape == (0,)
        assert vocabulary.tokens([]) == []

    def test_unknown_words_and_markers(self):
        vocabulary = Vocabulary.from_counts({"a": 1})
        assert vocabulary.ids(["x", "a"]).tolist() == [UNK, 3]
        assert vocabulary.tokens(np.array([UNK, BOS, EOS, 3])) == ["<unk>", "<s>", "</s>", "a"]

    @pytest.mark.parametrize("ids", [[-1], [4], [0, 99]])
    def test_foreign_ids(self, ids):
        with pytest.raises(ValueError, match="ids: word ids go from 0 to 3"):
            Vocabulary.from_counts({"a": 1}).tokens(ids)


class TestFile:
    @given(counts=COUNTS)
    def test_comes_back(self, tmp_path_factory, counts):
        path = tmp_path_factory.mktemp("vocabulary") / "vocab.txt"
        vocabulary = Vocabulary.from_counts(counts, sentences=3)
        vocabulary.save(path)
        assert Vocabulary.load(path) == vocabulary

    def test_is_readable_text(self, tmp_path):
        Vocabulary.from_counts({"犬": 5}, sentences=2).save(tmp_path / "vocab.ja")
        assert (tmp_path / "vocab.ja").read_text(encoding="utf-8") == "<unk>\t0\n<s>\t2\n</s>\t2\n犬\t5\n"

    def test_equality(self):
        vocabulary = Vocabulary.from_counts({"a": 1})
        assert vocabulary != Vocabulary.from_counts({"a": 2})
        assert vocabulary != Vocabulary.from_counts({"b": 1})
        assert vocabulary != "a"
        assert repr(vocabulary) == "Vocabulary(4 words)"

    @pytest.mark.parametrize(
        ("lines", "message"),
        [
            ("犬\t2\n猫\t1\n犬\t1\n", "vocab.ja line 6: duplicate word '犬'"),
            ("</s>\t2\n", "vocab.ja line 4: duplicate word '</s>'"),
            ("犬\n", "vocab.ja line 4: expected a word, a tab and its count, got '犬'"),
            ("犬\tmany\n", "vocab.ja line 4: expected a word, a tab and its count"),
            ("犬\t-1\n", "vocab.ja line 4: expected"),
            ("犬\t٣\n", "vocab.ja line 4: expected"),
            ("犬\t99999999999999999999\n", "vocab.ja line 4: expected"),
            ("犬\t1\t1\n", "vocab.ja line 4: expected"),
            ("\t1\n", "vocab.ja line 4: a word may not be empty"),
            ("a b\t1\n", "vocab.ja line 4: a word may not be empty or hold white space"),
        ],
    )
    def test_malformed_lines(self, tmp_path, lines, message):
        (tmp_path / "vocab.ja").write_text("<unk>\t0\n<s>\t2\n</s>\t2\n" + lines, encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            Vocabulary.load(tmp_path / "vocab.ja")

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("", "line 1: expected the marker '<unk>', found nothing"),
            ("犬\t1\n", "line 1: expected the marker '<unk>', found '犬'"),
            ("<unk>\t0\n<s>\t0\n犬\t1\n", "line 3: expected the marker '</s>', found '犬'"),
        ],
    )
    def test_missing_markers(self, tmp_path, text, message):
        (tmp_path / "vocab.ja").write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=message):
            Vocabulary.load(tmp_path / "vocab.ja")

    def test_missing_file(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="vocab.ja"):
            Vocabulary.load(tmp_path / "vocab.ja")

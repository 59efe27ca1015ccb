"""The lists, and the file that they are in."""

import json

import mutations
import numpy as np
import pytest

from trellex.shortlist.recall import Recall
from trellex.shortlist.shortlist import Shortlist
from trellex.text import Corpus, PrepareSettings, prepare
from trellex.text.vocabulary import EOS, MARKERS, UNK, Vocabulary

SOURCE = Vocabulary([*MARKERS, "a", "b", "c"], [1] * 6)
TARGET = Vocabulary([*MARKERS, *"vwxyz"], [1] * 8)
LISTS = [[], [], [], [7, 4], [], [4, 6], [5]]  # a, b, c and NULL


@pytest.fixture
def shortlist():
    return made()


def made(frequent=3):
    return Shortlist.of(SOURCE, TARGET, np.cumsum(list(map(len, LISTS))), np.concatenate(LISTS).astype(int), frequent)


@pytest.fixture
def saved(shortlist, tmp_path):
    shortlist.save(tmp_path / "words.shortlist")
    return tmp_path / "words.shortlist"


class TestWords:
    @pytest.mark.parametrize(
        ("source", "own"),
        [([], []), ([3], [4, 7]), ([5, 3, 5], [4, 6, 7]), ([4], []), ([UNK], []), ([3, 4, 5], [4, 6, 7])],
    )
    def test_are_those_of_all_words_and_of_no_word_and_the_frequent(self, shortlist, source, own):
        words = shortlist.words_for(np.array(source, np.int64))
        assert words.dtype == np.int64
        assert words.tolist() == sorted({0, 1, EOS, 5, *own})

    def test_frequent_words_are_the_first(self):
        assert made(7).words_for(np.array([3])).tolist() == list(range(8))
        assert made(10**9).words_for(np.array([4])).tolist() == list(range(8))

    def test_the_end_of_a_sentence_cannot_be_left_out(self):
        with pytest.raises(ValueError, match="frequent: the markers alone are 3 words, got 2; give more"):
            made(2)


class TestFile:
    def test_gives_the_same_lists(self, shortlist, saved):
        loaded = Shortlist.load(saved)
        for word in range(len(SOURCE)):
            source = np.array([word])
            assert np.array_equal(loaded.words_for(source), shortlist.words_for(source))
        assert loaded.name == str(saved)
        loaded.check_vocabularies(SOURCE, TARGET)

    def test_same_lists_same_bytes(self, saved, tmp_path):
        Shortlist.load(saved).save(tmp_path / "again")
        assert (tmp_path / "again").read_bytes() == saved.read_bytes()

    def test_of_another_corpus_is_refused(self, saved):
        other = Vocabulary([*MARKERS, "a", "c", "b"], [1] * 6)
        with pytest.raises(ValueError, match=f"^{saved}: was .* other source words .*; run `trellex shortlist` on the"):
            Shortlist.load(saved).check_vocabularies(other, TARGET)
        with pytest.raises(ValueError, match=f"^{saved}: was .* other target words .*; run `trellex shortlist` on the"):
            Shortlist.load(saved).check_vocabularies(SOURCE, SOURCE)

    def test_counts_of_words_do_not_matter(self, saved):
        Shortlist.load(saved).check_vocabularies(Vocabulary(SOURCE.words, range(6)), TARGET)

    def test_every_damage_is_found(self, saved):
        whole = saved.read_bytes()
        for place in range(len(whole)):
            saved.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            with pytest.raises(ValueError, match=f"^{saved}: not a shortlist .*; make one with `trellex shortlist`"):
                Shortlist.load(saved)

    @pytest.mark.parametrize("change", [lambda data: data[:-4], lambda data: data + b"\0" * 4, lambda data: b""])
    def test_one_that_is_cut_or_longer(self, saved, change):
        saved.write_bytes(change(saved.read_bytes()))
        with pytest.raises(ValueError, match="not a shortlist"):
            Shortlist.load(saved)

    @pytest.mark.parametrize("seed", range(200))
    def test_mutations(self, saved, seed):
        import random

        whole = saved.read_bytes()
        saved.write_bytes(mutations.mutate("x.shortlist", whole, random.Random(seed)))
        try:
            loaded = Shortlist.load(saved)
        except (ValueError, OSError):
            return
        loaded.save(saved)
        assert saved.read_bytes() == whole

    @pytest.mark.parametrize(
        ("changed", "problem"),
        [
            ({"translations": 1 << 60}, "it is longer or shorter than its header says"),
            ({"source_words": 1 << 60}, "it is longer or shorter than its header says"),
            ({"target_words": 5}, "its lists do not fit its header"),
            ({"source_words": 5, "translations": 6}, "its lists do not fit its header"),
            ({"frequent": 2}, "frequent: Input should be greater than or equal to 3"),
            ({"version": 2}, "version: Input should be 1"),
            ({"format": "other"}, "format: Input should be 'trellex-shortlist'"),
            ({"more": 1}, "more: Extra inputs"),
        ],
    )
    def test_a_header_that_lies(self, saved, changed, problem):
        first, body = saved.read_bytes().split(b"\n", 1)
        header = json.loads(first) | changed
        del header["checksum"]
        saved.write_bytes(json.dumps(header).encode() + b"\n" + body)
        with pytest.raises(ValueError, match=problem):
            Shortlist.load(saved)

    def test_what_is_no_file(self, tmp_path):
        for path in (tmp_path, tmp_path / "none"):
            with pytest.raises(ValueError, match=f"{path}: missing, or not a file; make one with `trellex shortlist`"):
                Shortlist.load(path)


@pytest.fixture
def corpus(tmp_path):
    """In which every word has one translation, some a second one in dev."""
    texts = {
        "train": [("a b", "A B"), ("a", "A"), ("b c", "B C"), ("c d", "C D"), ("d", "D"), ("c", "C")] * 3,
        "dev": [("a", "A"), ("b", "A B"), ("d unknown", "D Unknown"), ("", "A"), ("a d", "A D C")],
    }
    paths = {}
    for split, pairs in texts.items():
        for place, side in enumerate(("source", "target")):
            paths[f"{split}_{side}"] = tmp_path / f"{split}.{side}"
            paths[f"{split}_{side}"].write_text("".join(f"{pair[place]}\n" for pair in pairs))
    how = {"source_language": "en", "target_language": "de", "min_count": 1}
    how |= {f"{side}_tokenizer": "whitespace" for side in ("source", "target")}
    prepare(PrepareSettings(**paths, **how), tmp_path / "data")
    return Corpus.open(tmp_path / "data")


class TestLearn:
    def test_words_find_their_translations(self, corpus):
        shortlist = Shortlist.learn(corpus, translations=1, frequent=3, steps=20)
        null = set(corpus.target_vocabulary.tokens(shortlist.words_for(np.array([], np.int64)))) - set(MARKERS)
        assert len(null) == 1
        for word in "abcd":
            words = shortlist.words_for(corpus.source_vocabulary.ids([word]))
            assert {*corpus.target_vocabulary.tokens(words)} - {*MARKERS} - null == {word.upper()} - null
        shortlist.check_vocabularies(corpus.source_vocabulary, corpus.target_vocabulary)

    def test_recall(self, corpus):
        recall = Recall.of(Shortlist.learn(corpus, translations=1, frequent=3, steps=20), corpus.split("dev"))
        assert (recall.sentences, recall.words) == (4, 7)  # an empty source and an unknown word do not count
        assert 0 < recall.listed < recall.words
        assert recall.share == recall.listed / 7
        assert 3 < recall.mean_size <= 3 + 3
        everything = Recall.of(Shortlist.learn(corpus, frequent=100), corpus.split("dev"))
        assert everything == Recall(7, 7, 4, 4, len(corpus.target_vocabulary))
        assert (everything.share, everything.whole_share) == (1, 1)

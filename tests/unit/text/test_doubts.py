"""A sane corpus raises no doubt, and each fault raises its own, with the files and the remedy."""

from itertools import product
from random import Random

import pytest

from trellex.text import PrepareSettings, prepare
from trellex.text.doubts import doubts

ROWS = Random(0).sample(list(product(range(7), repeat=4)), 1240)
PAIRS = [tuple(" ".join(f"{side}{number}" for number in row) for side in "st") for row in ROWS]  # all different
TRAIN, DEV, TEST = PAIRS[:1200], PAIRS[1200:1220], PAIRS[1220:]


@pytest.fixture
def doubted(tmp_path):
    """The doubts about a sane corpus of which some splits, and some settings, are replaced."""

    def doubted(train=TRAIN, dev=DEV, test=TEST, **settings):
        files = {}
        for split, pairs in {"train": train, "dev": dev, "test": test}.items():
            for side, lines in zip(("source", "target"), zip(*pairs, strict=True), strict=True):
                files[f"{split}_{side}"] = tmp_path / f"{split}.{side}"
                files[f"{split}_{side}"].write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        defaults = {"source_language": "en", "target_language": "de"}
        defaults |= {"source_tokenizer": "whitespace", "target_tokenizer": "whitespace"}
        return doubts(prepare(PrepareSettings(**files, **(defaults | settings)), tmp_path / "data"))

    return doubted


def assert_one(found, *parts):
    assert len(found) == 1, found
    assert all(part in found[0] for part in parts), found[0]


def swapped(pairs):
    return [(target, source) for source, target in pairs]


def replaced(pairs, share, pair):
    """The pairs, but a share of them is that one."""
    count = round(share * len(pairs))
    return [pair] * count + pairs[count:]


def test_a_sane_corpus(doubted):
    assert doubted() == []


def test_names_with_the_language_of_the_other_side(tmp_path):
    manifest = prepare(PrepareSettings(**named(tmp_path, "de", "en")), tmp_path / "swapped")
    found = doubts(manifest)
    assert len(found) == 2
    assert "train.de" in found[0]
    assert "given as en, named de; are the two sides swapped?" in found[0]
    assert doubts(prepare(PrepareSettings(**named(tmp_path, "en", "de")), tmp_path / "right")) == []


def named(folder, *languages):
    """Settings of the sane corpus, from English to German, in files with these endings."""
    settings = {"source_language": "en", "target_language": "de"}
    for split, pairs in {"train": TRAIN, "dev": DEV}.items():
        for side, language, lines in zip(("source", "target"), languages, zip(*pairs, strict=True), strict=True):
            settings[f"{split}_{side}"] = folder / f"{split}.{language}"
            settings[f"{split}_{side}"].write_text("".join(line + "\n" for line in lines), encoding="utf-8")
            settings[f"{side}_tokenizer"] = "whitespace"
    return settings


class TestSize:
    def test_few_pairs(self, doubted):
        assert_one(doubted(train=TRAIN[:999]), "train.source", "train.target", "999 pairs", "takes many thousands")

    @pytest.mark.parametrize(("share", "is_doubted"), [(0.05, False), (0.15, True)])
    def test_pairs_left_out_as_too_long(self, doubted, share, is_doubted):
        found = doubted(train=replaced(TRAIN, share, ("s1 " * 9, "t1 " * 9)), max_length=8)
        if is_doubted:
            assert_one(found, "train.source", "15% of the pairs", "more than 8 tokens", "raise --max-length")
        else:
            assert found == []


class TestUnknownWords:
    @pytest.mark.parametrize("split", ["dev", "test"])
    def test_swapped_files(self, doubted, split):
        found = doubted(**{split: swapped(DEV)})
        message = "source looks like target-language text: 100% of its words are unknown, 0% with the target vocabulary"
        assert_one(found, f"{split}_{message}", f"{split}.source", f"{split}.target", "are the two files swapped")

    def test_swapped_training_files(self, doubted):
        found = doubted(train=swapped(TRAIN))
        assert [doubt.split()[0] for doubt in found] == ["dev_source", "test_source"]
        assert all("or those of train?" in doubt for doubt in found)

    def test_the_same_language_on_both_sides(self, doubted):
        found = doubted(dev=[(target, target + " t3") for _, target in DEV])
        assert_one(found, "dev_source looks like target-language text")

    @pytest.mark.parametrize(("share", "is_doubted"), [(0.15, False), (0.25, True)])
    def test_words_of_neither_side(self, doubted, share, is_doubted):
        found = doubted(dev=replaced(DEV, share, ("s1 s2 s3 s4", "a b c d")))
        if is_doubted:
            assert_one(found, "dev.target: 25% of the words of dev_target are unknown, 0% in training", "same language")
        else:
            assert found == []

    def test_a_small_vocabulary_has_many_unknown_words_in_all_splits(self, doubted):
        assert doubted(source_vocab_size=4, target_vocab_size=5) == []


class TestPairs:
    @pytest.mark.parametrize("split", ["train", "dev"])
    @pytest.mark.parametrize(("share", "is_doubted"), [(0.05, False), (0.15, True)])
    def test_the_same_text_on_both_sides(self, doubted, split, share, is_doubted):
        pairs = {"train": TRAIN, "dev": DEV}[split]
        found = doubted(**{split: replaced(pairs, share, ("s1 s2 s3 s4", "s1 s2  s3 s4"))})
        if is_doubted:
            assert_one(found, f"{split}.source", f"{split}.target", "15% of the lines are the same in both files")
        else:
            assert found == []

    @pytest.mark.parametrize(("times", "is_doubted"), [(3, False), (4, True)])
    def test_a_side_that_is_far_longer(self, doubted, times, is_doubted):
        found = doubted(dev=[(source, f"{target} " * times) for source, target in DEV])
        if is_doubted:
            assert_one(found, "dev.source", "dev.target", "4.0 times as many tokens", "line n", "tokenizers")
        else:
            assert found == []

    @pytest.mark.parametrize(("share", "is_doubted"), [(0.05, False), (0.15, True)])
    def test_lopsided_pairs(self, doubted, share, is_doubted):
        found = doubted(train=replaced(TRAIN, share, ("s1", "t1 " * 10)))
        if is_doubted:
            assert_one(found, "train.source", "train.target", "in 15% of the pairs", "over 9 times", "line n")
        else:
            assert found == []

    def test_characters_are_more_than_words(self, doubted):
        def spelt(pairs, letters):  # instead of t
            return [(source, target.replace("t", letters)) for source, target in pairs]

        for letters, is_doubted in (("abc", False), ("abcdefghij", True)):  # 19 and 47 characters, 4 words
            splits = {"train": spelt(TRAIN, letters), "dev": spelt(DEV, letters), "test": spelt(TEST, letters)}
            found = doubted(**splits, target_tokenizer="characters")
            assert [doubt for doubt in found if "times as many tokens" not in doubt] == []
            assert bool(found) == is_doubted

    @pytest.mark.parametrize("split", ["dev", "test"])
    @pytest.mark.parametrize(("share", "is_doubted"), [(0.05, False), (0.15, True)])
    def test_pairs_in_train_too(self, doubted, split, share, is_doubted):
        found = doubted(**{split: replaced(DEV, share, TRAIN[0])})
        if is_doubted:
            assert_one(
                found, f"{split}.source", "15% of the pairs stand in train, too", "leave them out of", "train.target"
            )
        else:
            assert found == []


class TestUncutText:
    PHRASE = "これは切られていない日本語の文です"  # nothing but a script without spaces

    def test_punctuation_that_is_attached(self, doubted):
        pairs = [(f"{source[:-1]}x.", target) for source, target in TRAIN]
        assert_one(doubted(train=pairs), "train.source: 25% of the tokens", "give --source-tokenizer moses")

    def test_abbreviations_are_no_fault(self, doubted):
        assert doubted(train=replaced(TRAIN, 0.1, ("s1 Mr. s2 s3", "t1 t2 t3 t4"))) == []

    @pytest.mark.parametrize(
        ("tokenizer", "language", "remedy"),
        [("whitespace", "ja", "mecab"), ("moses", "ja", "mecab"), ("whitespace", "zh", "characters")],
    )
    def test_a_script_without_spaces(self, doubted, tokenizer, language, remedy):
        pairs = [(source, self.PHRASE) for source, _ in TRAIN]
        found = doubted(train=pairs, target_tokenizer=tokenizer, target_language=language)
        assert_one(found, "train.target: 100% of the tokens", f"{tokenizer} does not", f"--target-tokenizer {remedy}")

    def test_a_script_without_spaces_that_is_cut(self, doubted):
        train, dev, test = (
            [(source, target.replace("t", "日本語")) for source, target in pairs] for pairs in (TRAIN, DEV, TEST)
        )
        assert doubted(train=train, dev=dev, test=test, target_language="ja") == []

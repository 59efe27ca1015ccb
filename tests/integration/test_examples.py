"""The examples run, the language model learns, and the documentation shows what they are."""

import ast
import math
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from trellex import phrasebook

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"


def run(example, *arguments):
    """The lines that an example prints."""
    one_thread = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONIOENCODING": "utf-8"}
    result = subprocess.run(
        [sys.executable, EXAMPLES / example, *arguments],
        env=one_thread,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


@pytest.fixture(scope="module")
def printed():
    return run("language_model.py")


def unigram_perplexity(train, test):
    """Of words and ends of sentences, with a count of 1 for all unknown words together."""
    counts = Counter(word for sentence in train for word in [*sentence, None])
    total = counts.total() + 1
    words = [word for sentence in test for word in [*sentence, None]]
    return math.exp(-sum(math.log(max(counts[word], 1) / total) for word in words) / len(words))


def test_the_model_is_far_better_than_unigrams(printed):
    corpus = phrasebook.splits()
    train, test = ([english.split() for english, _ in corpus[split]] for split in ("train", "test"))
    perplexity = float(re.fullmatch(r"perplexity (\S+)", printed[1])[1])
    assert 1 < perplexity < unigram_perplexity(train, test) / 10
    assert perplexity < 10  # 7.6 when this was written


def test_the_best_words_come_first_with_their_probabilities(printed):
    best = ast.literal_eval(printed[2])
    assert len(best) == 5
    probabilities = list(best.values())
    assert probabilities == sorted(probabilities, reverse=True)
    assert probabilities[-1] > 0
    assert sum(probabilities) <= 1


def test_the_sampled_sentence_has_words_of_the_phrasebook(printed):
    known = {word for pairs in phrasebook.splits().values() for english, _ in pairs for word in english.split()}
    assert len(printed) == 4
    assert printed[3].startswith("the train from tokyo to ")
    assert set(printed[3].split()) <= known | {"<unk>", "<s>"}


@pytest.mark.parametrize(
    ("page", "example"), [("docs/manual/heads.md", "language_model.py"), ("README.md", "many_classes.py")]
)
def test_the_documentation_shows_the_example_as_it_is(page, example):
    listing = (EXAMPLES / example).read_text(encoding="utf-8").strip()
    assert f"```python\n{listing}\n```" in (ROOT / page).read_text(encoding="utf-8")


def test_ten_sentences_are_translated():
    _, *lines, last = run("ten_sentences.py")
    pairs = list(zip(lines[::2], lines[1::2], strict=True))
    assert len(pairs) == 10
    for english, japanese in pairs:
        assert english.isascii()
        assert re.fullmatch(r"    \S+。", japanese)
    assert "ms a sentence" in last


class TestEverydayText:
    """Text of two corpora becomes one, without what is held out."""

    @pytest.fixture
    def folder(self, tmp_path):
        write_pairs(tmp_path / "raw", "train", "Where is Tom? | トムはどこ？", "I saw Tom. | 見た。", "Yes. | はい。")
        write_pairs(tmp_path / "raw", "dev", "I saw  tom! | 会った。")
        write_pairs(tmp_path / "raw", "test", "Good night. | おやすみ。")
        first, second = "where is tom ? | トム は どこ ？", "i didn 't see tom . | 見 な い 。"
        write_pairs(tmp_path / "tokenised", "train", first, second, "bye . | おやすみ 。")
        write_pairs(tmp_path / "tokenised", "dev", "never . | 決して 。")
        write_pairs(tmp_path / "tokenised", "test", "tom 's here . | トム だ 。")
        printed = run("everyday_text.py", tmp_path / "raw", tmp_path / "tokenised", tmp_path / "text")
        assert printed[0] == "3 pairs to train on"
        return tmp_path / "text"

    def test_pairs_come_once_and_none_that_is_held_out(self, folder):
        pairs = read_pairs(folder, "train")
        assert pairs == ["Where is Tom? | トムはどこ？", "Yes. | はい。", "I didn't see Tom. | 見ない。"]
        assert read_pairs(folder, "test") == ["Good night. | おやすみ。"]
        assert read_pairs(folder, "tanaka") == ["Tom's here. | トムだ。"]


def write_pairs(folder, split, *pairs):
    folder.mkdir(exist_ok=True)
    for side, language in enumerate(("en", "ja")):
        lines = [pair.split(" | ")[side] + "\n" for pair in pairs]
        (folder / f"{split}.{language}").write_text("".join(lines), encoding="utf-8")


def read_pairs(folder, split):
    sides = ((folder / f"{split}.{side}").read_text(encoding="utf-8").splitlines() for side in ("en", "ja"))
    return [" | ".join(pair) for pair in zip(*sides, strict=True)]

"""Words written alike, against cosines that are computed word by word."""

import math

import numpy as np
import pytest

from trellex.text.spellings import Spellings

WORDS = ["walk", "walked", "walking", "talk", "talked", "talking", "banana", "bananas", "house", "houses", "a", "i"]


def grams(word):
    marked = f"<{word}>"
    return {marked[place : place + size] for size in (2, 3, 4) for place in range(len(marked) - size + 1)}


def cosines(word):
    """Those of all words, but for the length of the word itself."""
    counts = {gram: sum(gram in grams(other) for other in WORDS) for other in WORDS for gram in grams(other)}
    weights = {gram: math.log(len(WORDS) / count) ** 2 for gram, count in counts.items()}
    return [
        sum(weights[gram] for gram in grams(word) & grams(other)) / math.sqrt(sum(map(weights.get, grams(other))))
        for other in WORDS
    ]


@pytest.mark.parametrize("word", ["walks", "stalking", "banan", "greenhouse", "anana", "walk", "i", "ai"])
@pytest.mark.parametrize("k", [1, 3, 100])
def test_the_nearest_have_the_largest_cosines(word, k):
    places, scores = Spellings(WORDS).nearest(word, k)
    expected = np.array(cosines(word))
    order = np.argsort(-expected, kind="stable")
    order = order[expected[order] > 0][:k]
    assert places.tolist() == order.tolist()
    np.testing.assert_allclose(scores, expected[order])


@pytest.mark.parametrize("word", ["", "Ω", "ΩΨ", "\ud800", "x" * 1000])
def test_words_without_a_known_n_gram_are_like_none(word):
    places, scores = Spellings(WORDS).nearest(word, 8)
    assert len(places) == len(scores) == 0


def test_few_words_or_none():
    assert len(Spellings([]).nearest("word", 8)[0]) == 0
    assert len(Spellings(["word"]).nearest("word", 8)[0]) == 0  # what all words have tells nothing
    assert Spellings(["word", "other"]).nearest("words", 8)[0].tolist() == [0]


def test_other_scripts():
    words = ["大学", "大学生", "学校", "東京", "京都", "𠮷野"]
    assert Spellings(words).nearest("大学院", 1)[0].tolist() == [0]
    assert Spellings(words).nearest("𠮷田", 8)[0].tolist() == [5]

"""Unknown words get the codes of words that are written like them."""

import subprocess
import sys

import numpy as np
import pytest

from trellex.codes import PermutedCode, RandomCode
from trellex.text.open_vocabulary import OpenVocabulary
from trellex.text.vocabulary import MARKERS, UNK, Vocabulary

STEMS = ["walk", "talk", "jump", "cook", "paint", "climb", "shout", "wander"]
FORMS = ["{}", "{}s", "{}ed", "{}ing"]
WORDS = [form.format(stem) for stem in STEMS for form in FORMS]
PRINT = """
from test_open_vocabulary import WORDS, opened
print(opened().ids(["walker", "talkative", "painters", *WORDS, "zzz", "ing"]).tolist())
"""


def opened(code=None):
    """With a code in which the forms of a stem share their first three bits."""
    vocabulary = Vocabulary([*MARKERS, *WORDS], [1] * (len(MARKERS) + len(WORDS)))
    stem, form = np.divmod(np.arange(len(WORDS)), len(FORMS))
    numbers = np.append(len(WORDS) + np.arange(len(MARKERS)), stem + form * len(STEMS))
    return OpenVocabulary(vocabulary, code or PermutedCode(numbers))


def test_known_words_have_their_ids():
    words = opened()
    assert words.ids(WORDS).tolist() == words.vocabulary.ids(WORDS).tolist()
    assert words.ids([]).shape == (0,)


@pytest.mark.parametrize("stem", STEMS)
@pytest.mark.parametrize("form", ["{}er", "{}ers", "{}able", "re{}"])
def test_an_inflected_word_begins_as_its_stem(stem, form):
    words = opened()
    (number,) = words.ids([form.format(stem)]) - len(words.vocabulary)
    assert 0 <= number < 1 << words.code.num_bits
    assert number % len(STEMS) == STEMS.index(stem)


def test_the_first_bits_are_voted_on_before_the_last():
    """One word is most alike, but those that follow agree on another beginning."""
    vocabulary = Vocabulary([*MARKERS, "abcd", "abxx", "abyy", "abzz", "other"], [1] * 8)
    code = PermutedCode([6, 4, 2, 0, 1, 3, 5, 7])
    words = OpenVocabulary(vocabulary, code)
    assert words.ids(["abcde"])[0] == 8 + 0  # alone it outweighs the rest
    assert words.ids(["abq"])[0] - 8 in (1, 3, 5)


@pytest.mark.parametrize("token", ["", "Ω", "zzz", "\ud800"])
def test_what_is_like_no_word_stays_unknown(token):
    assert opened().ids(["walk", token]).tolist() == [3, UNK]


def test_markers_are_words_like_any_other():
    words = opened()
    assert words.ids(["<unk>", "<s>", "</s>"]).tolist()[0] not in (1, 2)
    assert not set(words.ids(["<unk>", "<s>", "</s>"]).tolist()) & {1, 2}


def test_one_character_and_long_words():
    words = opened()
    ids = words.ids(["s", "walk" * 10_000])
    assert ((ids == UNK) | (ids >= len(words.vocabulary))).all()


@pytest.mark.parametrize("code", [None, RandomCode(len(MARKERS) + len(WORDS))], ids=["clusters", "random"])
def test_a_number_is_that_of_a_known_word(code):
    words = opened(code)
    ids = words.ids(["walker", "painters", "climbable"])
    assert (words.code.words(ids - len(words.vocabulary)) >= len(MARKERS)).all()


def test_every_process_finds_the_same(request):
    expected = str(opened().ids(["walker", "talkative", "painters", *WORDS, "zzz", "ing"]).tolist())
    for seed in ("0", "1"):
        environment = {"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join([str(request.path.parent), *sys.path])}
        done = subprocess.run(
            [sys.executable, "-c", PRINT], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == expected

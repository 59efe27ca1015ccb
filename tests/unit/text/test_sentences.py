"""Lines are cut where sentences end, and nowhere else."""

import pytest

from trellex.text.sentences import sentences

ENGLISH = [
    ["I came.", "I saw!", "Did I win?"],
    ["Mr. Smith met Dr. J. R. Jones in St. Louis.", "They talked."],
    ["It costs 3.50 today.", "Tomorrow 4."],
    ['"Really?" he said.', "She nodded."],
    ['He said "No."', "Then he left."],
    ["See e.g. the U.S. figures.", "They differ."],
    ["where is it ?", "it is here .", "thanks !"],  # cut into tokens, in small letters
    ["Wait...", "What?!", "Yes."],
    ["No end"],
]
JAPANESE = [
    ["猫がいる。", "犬もいる！", "本当？", "はい"],
    ["彼は「行く。すぐに。」と言った。", "そして行った。"],
    ["えっ！？", "まさか……。"],
    ["（略。）終わり。"],
]


@pytest.mark.parametrize("expected", ENGLISH, ids=" ".join)
def test_english(expected):
    assert sentences(" ".join(expected), "en") == expected


@pytest.mark.parametrize("expected", JAPANESE, ids="".join)
def test_japanese(expected):
    assert sentences("".join(expected), "ja") == expected


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("line", ["", " ", "\t　 "])
def test_of_nothing_there_are_none(line, language):
    assert sentences(line, language) == []


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("line", ["「" * 40, "（「" * 20 + "。", ". " * 20, "。" * 40, "!?" * 20, "a.b.c. " * 10])
def test_no_character_is_lost(line, language):
    assert "".join("".join(sentences(line, language)).split()) == "".join(line.split())


def test_brackets_that_are_never_closed_hold_nothing_together():
    assert sentences("「行く。すぐに。", "ja") == ["「行く。", "すぐに。"]

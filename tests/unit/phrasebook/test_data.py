"""The data files of the phrasebook as people write them, and mistakes in them."""

import re

import pytest

from trellex.phrasebook import grammar, lexicon

DIGITS = {"digit": [{"en": "zero", "ja": "〇"}, {"en": "one", "ja": "一"}]}
LEXICON = """# a comment

[pet, animal: nouns, counter = 匹]
cat = 猫
mouse/mice = ネズミ

[animal: nouns, counter = 頭, call = モー モー]
# a comment in a section
cow = 牛, deer/deer = 鹿, horse = 馬
"""


@pytest.fixture
def file(tmp_path):
    def write(text):
        (tmp_path / "data.txt").write_text(text, encoding="utf-8")
        return tmp_path / "data.txt"

    return write


def test_lists_take_from_their_sections_in_turn(file):
    lists = lexicon.read(file(LEXICON), DIGITS)
    assert {name: [entry["en"] for entry in entries] for name, entries in lists.items()} == {
        "digit": ["zero", "one"],
        "pet": ["cat", "mouse"],
        "animal": ["cat", "cow", "mouse", "deer", "horse"],
    }
    assert lists["animal"][3] == {
        "en": "deer",
        "ja": "鹿",
        "plural": "deer",
        "a": "a deer",
        "counter": "頭",
        "call": "モー モー",
    }


@pytest.mark.parametrize(
    ("line", "message"),
    {
        "dog": "expected … = … between commas, got 'dog'",
        "dog = 犬,": "expected … = … between commas, got ''",
        "dog = 犬 = いぬ": "expected … = …",
        "= 犬": "expected … = …",
        "/dogs = 犬": "expected … = …",
        "dog =": "expected … = …",
        "dog {number} = 犬 {number}": "{number}: the lexicon has no list 'number'",
        "dog {digit.plural} = 犬": "{digit.plural}: the lexicon has no list 'digit' with a form 'plural'",
        "dog {Digit} = 犬": "expected slots such as",
        "\n[dog]": "expected a header [list: kind, form = …]",
        "\n[dog: verbs]": "its kind one of words, nouns, adjectives, deeds",
        "\n[dog: words, counter]": "expected … = …",
        "\ndog = 犬": "expected a header",
        "\n[colour: adjectives]\nred = 赤": "expected an adjective in い, な or の",
        "\n[deed: deeds]\neat ate | | | 食べ | 食べ て": "expected base past ing | object",
        "\n[deed: deeds]\neat ate eating | 食べ": "expected base past ing | object",
    }.items(),
)
def test_mistakes_in_a_lexicon_name_file_and_line(file, line, message):
    text = LEXICON + line
    place = f"data.txt, line {len(text.splitlines())}: "
    with pytest.raises(ValueError, match=f"^{place}.*{re.escape(message)}"):
        lexicon.read(file(text), DIGITS)


def test_patterns(file):
    text = "# a comment\n\nroom {digit} .\n{digit} 号 室 。\n\n\nyes .\nはい 。\n"
    assert grammar.read(file(text), DIGITS) == (
        {"en": "room {digit} .", "ja": "{digit} 号 室 。"},
        {"en": "yes .", "ja": "はい 。"},
    )


@pytest.mark.parametrize(
    ("text", "message"),
    {
        "yes .\nはい 。\n\nno .": "data.txt, line 4: expected an English line and its Japanese, got 1 ",
        "yes .\nはい 。\nno .\nいいえ 。": "data.txt, line 1: expected an English line and its Japanese, got 4 ",
        "room {digit} .\n{digits} 号 室 。": "data.txt, line 2: {digits}: the lexicon has no list 'digits'",
        "room {digit .\n{digit} 号 室 。": "data.txt, line 1: expected slots such as",
    }.items(),
)
def test_mistakes_in_patterns_name_file_and_line(file, text, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}"):
        grammar.read(file(text), DIGITS)

"""Tokens are never empty, never hold white space, and join to what was cut."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trellex.text import build_tokenizer
from trellex.text.tokenizers import build_detokenizer

NAMES = ["whitespace", "moses", "mecab", "characters"]
TOKENIZERS = {
    (name, lowercase): build_tokenizer(name, language, lowercase)
    for name, language in zip(NAMES, ["en", "en", "ja", "en"], strict=True)
    for lowercase in (False, True)
}
NASTY = st.text(st.one_of(st.characters(), st.sampled_from(" \t\n\r\x00\x1c\x85\u00a0\u2028\u3000\ufeff▁.'&aA犬")))


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize("name", NAMES)
class TestEveryTokenizer:
    @given(line=NASTY)
    @settings(deadline=None)
    def test_no_token_is_empty_or_holds_white_space(self, name, lowercase, line):
        tokens = TOKENIZERS[name, lowercase].tokenize(line)
        assert all(token.split() == [token] for token in tokens)
        "\n".join(tokens).encode()  # can be written to a file
        assert isinstance(TOKENIZERS[name, lowercase].detokenize(tokens), str)

    @pytest.mark.parametrize("line", ["", " ", "\t\r\n", "\x00", "\ufeff", "\u3000\u00a0"])
    def test_nothing_in_nothing_out(self, name, lowercase, line):
        tokenizer = TOKENIZERS[name, lowercase]
        assert tokenizer.tokenize(line) == []
        assert tokenizer.detokenize([]) == ""

    def test_lowercase(self, name, lowercase):
        tokens = TOKENIZERS[name, lowercase].tokenize("ABC")
        assert "".join(tokens) == ("abc" if lowercase else "ABC")

    def test_control_characters_separate(self, name, lowercase):
        tokens = TOKENIZERS[name, lowercase].tokenize("犬\x00猫")
        assert [token for token in tokens if token != "▁"] == ["犬", "猫"]


def test_mecab_takes_words_of_any_length():
    """Left alone it ends the whole process: hence a process of its own."""
    code = "from trellex.text import build_tokenizer; tokenizer = build_tokenizer('mecab', 'ja')\n"
    code += "print(''.join(tokenizer.tokenize('a' * 300_000)) == 'a' * 300_000)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "True\n"), result.stderr


class TestRoundTrips:
    @given(words=st.lists(st.text(st.characters(exclude_categories=["Cc", "Cs", "Z"], exclude_characters="\ufeff▁"))))
    def test_whitespace_and_characters(self, words):
        line = " ".join(word for word in words if word)
        for name in ("whitespace", "characters"):
            tokenizer = build_tokenizer(name)
            assert tokenizer.detokenize(tokenizer.tokenize(line)) == line

    @pytest.mark.parametrize(
        ("name", "language", "line"),
        [
            ("moses", "en", 'He said: "It\'s 3,000, e.g. [x] | y..."'),
            ("moses", "en", "Mr. Smith doesn't know & won't."),
            ("moses", "de", "Ein Mann (mit Hut) läuft, oder nicht?"),
            ("moses", "fr", "L'homme n'est pas là."),
            ("mecab", "ja", "2015年にPython 3を使う。"),
            ("mecab", "ja", "犬はA to Zが好きです。"),
        ],
    )
    def test_sentences(self, name, language, line):
        tokenizer = build_tokenizer(name, language)
        assert tokenizer.detokenize(tokenizer.tokenize(line)) == line


class TestCuts:
    def test_whitespace(self):
        assert build_tokenizer("whitespace").tokenize(" a\u3000b\tc  d ") == ["a", "b", "c", "d"]

    def test_moses(self):
        assert build_tokenizer("moses", "en").tokenize("It's a <dog>, Dr. No.") == (
            ["It", "'s", "a", "<", "dog", ">", ",", "Dr.", "No", "."]
        )

    def test_moses_neither_escapes_nor_unescapes(self):
        tokenizer = build_tokenizer("moses", "en")
        assert tokenizer.tokenize("a & b | c") == ["a", "&", "b", "|", "c"]
        assert tokenizer.detokenize(["a", "&amp;", "b"]) == "a &amp; b"

    def test_mecab(self):
        assert build_tokenizer("mecab", "ja").tokenize("私は 犬が好き。") == ["私", "は", "犬", "が", "好き", "。"]

    def test_characters(self):
        assert build_tokenizer("characters").tokenize(" 犬  a▁b ") == ["犬", "▁", "a", "▁", "b"]

    @pytest.mark.parametrize("language", ["ja", "zh", "yue", "th"])
    def test_whitespace_joins_without_spaces_where_none_are_written(self, language):
        tokens = ["犬", "と", "New", "York", "2", "匹", "a", "b", "c"]
        assert build_tokenizer("whitespace", language).detokenize(tokens) == "犬とNew York 2匹a b c"
        assert build_tokenizer("whitespace", "en").detokenize(tokens) == "犬 と New York 2 匹 a b c"


@pytest.mark.parametrize("language", ["ko", "sw", "haw", "sh", "ar", "ru", "yue"])
def test_moses_cuts_languages_that_it_has_no_rules_for(language):
    tokenizer = build_tokenizer("moses", language)
    tokens = tokenizer.tokenize("Aloha, one (two) U.S. kākou.")
    assert tokens == ["Aloha", ",", "one", "(", "two", ")", "U.S.", "kākou", "."]
    assert tokenizer.detokenize(tokens) == "Aloha, one (two) U.S. kākou."


class TestErrors:
    def test_nearest_name_is_proposed(self):
        with pytest.raises(ValueError, match="no 'mosses'; did you mean 'moses'"):
            build_tokenizer("mosses")

    def test_far_name(self):
        with pytest.raises(ValueError, match="no 'qqq'; valid names are whitespace, moses, mecab, characters"):
            build_tokenizer("qqq")

    @pytest.mark.parametrize("package", ["fugashi", "ipadic"])
    def test_missing_mecab_names_the_extra(self, monkeypatch, package):
        monkeypatch.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=rf"{package}: pip install 'trellex\[ja\]'"):
            build_tokenizer("mecab")

    def test_words_of_mecab_are_joined_without_it(self, monkeypatch):
        tokens = ["私", "は", "犬", "が", "好き", "New", "York"]
        expected = build_tokenizer("mecab", "ja").detokenize(tokens)
        monkeypatch.setitem(sys.modules, "fugashi", None)
        for language in ("ja", "en"):
            assert build_detokenizer("mecab", language).detokenize(tokens) == expected == "私は犬が好きNew York"

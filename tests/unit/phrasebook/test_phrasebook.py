"""The phrasebook is the same everywhere, has one translation a sentence, and looks like a language."""

import hashlib
import os
import re
import subprocess
import sys
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from trellex.phrasebook import corpus, generate, patterns, splits, write
from trellex.phrasebook.__main__ import main
from trellex.phrasebook.grammar import PATTERNS, Sentence, sentences
from trellex.phrasebook.inflection import adjectives, nouns
from trellex.phrasebook.lexicon import LEXICON

GOLDEN = "e9cf3c5dc7202581c997412702a9ac575244fb56663d978dee3a1585f265e578"


@pytest.fixture(scope="module")
def pairs():
    return list(generate(20_000))


@pytest.fixture(scope="module")
def many():
    """The sentences that the pairs are chosen from, and more."""
    return list(islice(sentences(1), 60_000))


@pytest.fixture(scope="module")
def translations(many):
    return {sentence.english: sentence.japanese for sentence in many}


def digest(pairs):
    return hashlib.sha256("".join(f"{english}\t{japanese}\n" for english, japanese in pairs).encode()).hexdigest()


def test_golden():
    assert digest(generate(1000)) == GOLDEN


def test_hashes_do_not_matter():
    code = "from trellex.phrasebook import generate; print(*map('\\t'.join, generate(1000)), sep='\\n')"
    environment = os.environ | {"PYTHONHASHSEED": "77", "PYTHONIOENCODING": "utf-8"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True)
    assert hashlib.sha256(done.stdout.replace(b"\r\n", b"\n")).hexdigest() == GOLDEN


def test_seeds_differ():
    assert digest(generate(100, seed=1)) != digest(generate(100, seed=2))


def test_fewer_pairs_are_the_first_of_more(pairs):
    assert list(generate(300)) == pairs[:300]


def test_no_sentence_twice(pairs):
    assert len(pairs) == len({english for english, _ in pairs}) == len({japanese for _, japanese in pairs}) == 20_000


def test_every_pattern_is_used(pairs, many):
    assert patterns() == len(PATTERNS) >= 30
    pattern_of = {sentence.english: sentence.pattern for sentence in many}
    assert {pattern_of[english] for english, _ in pairs} == set(range(patterns()))


def test_every_slot_can_be_filled():
    used = set()
    for entry in [*PATTERNS, *(entry for entries in LEXICON.values() for entry in entries)]:
        used |= {name for text in entry.values() for name in re.findall(r"\{([a-z]+)", text)}
    assert used == set(LEXICON)


def test_both_sides_of_a_pattern_have_the_same_slots():
    for pattern in PATTERNS:
        english, japanese = (set(re.findall(r"\{([a-z]+\d?)", pattern[side])) for side in ("en", "ja"))
        assert english == japanese


def test_one_translation_a_sentence(many):
    translations = {}
    for _, english, japanese in [*many, *islice(sentences(2), 60_000)]:
        assert translations.setdefault(english, japanese) == japanese
    assert len(translations) > 80_000


@pytest.mark.parametrize("side", [0, 1])
class TestEitherSide:
    def test_looks_like_zipf(self, pairs, side):
        counts = Counter(word for pair in pairs for word in pair[side].split(" "))
        assert len(counts) >= 1000
        assert 2 * sum(count for _, count in counts.most_common(100)) > counts.total()
        assert sum(count < 10 for count in counts.values()) >= 200

    def test_tokens_are_apart(self, pairs, side):
        for pair in pairs:
            assert pair[side] == " ".join(pair[side].split()) != ""
            assert re.search(r" [.?。]$", pair[side])
            assert not re.search(r"[{}|/=_]|[^ ][,、。?]|[,、][^ ]", pair[side])


def test_letters(pairs):
    for english, japanese in pairs:
        assert english.isascii()
        assert english == english.lower()
        assert not re.search(r"[A-Za-z0-9]", japanese)


@pytest.mark.parametrize(
    ("english", "japanese"),
    {
        "i would like two bags , please .": "鞄 を 二 個 お 願い し ます 。",
        "i would like two tickets to osaka , please .": "大阪 まで の 切符 を 二 枚 お 願い し ます 。",
        "she ate sushi yesterday .": "昨日 、 彼女 は 寿司 を 食べ まし た 。",
        "he is eating sushi now .": "彼 は 今 寿司 を 食べ て い ます 。",
        "he wants to eat sushi .": "彼 は 寿司 を 食べ たがっ て い ます 。",
        "he is wearing a coat today .": "彼 は 今日 コート を 着 て い ます 。",
        "he is wearing a hat today .": "彼 は 今日 帽子 を かぶっ て い ます 。",
        "this sushi is too sweet .": "この 寿司 は 甘 すぎ ます 。",
    }.items(),
)
def test_known_sentences(translations, english, japanese):
    assert translations[english] == japanese


def test_the_readmes_sentence_is_one_of_them(translations):
    root = Path(__file__).parents[3]
    readme = (root / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"echo '([^']+)' \| trellex translate (?!en-ja)", readme)
    assert len(shown) > 1
    translated = {translations[english].replace(" ", "") for english in shown}
    assert len(translated) == 1
    assert f'"{translated.pop()}"' in (root / "examples" / "phrasebook.py").read_text(encoding="utf-8")


def test_adjectives():
    old, quiet = adjectives("old/older = 古い, quiet = 静か な")
    assert [old[form] for form in ("more", "most", "is")] == ["older", "oldest", "古い です"]
    assert [old[form] for form in ("was", "not", "notwas")] == [
        "古かっ た です",
        "古く ない です",
        "古く なかっ た です",
    ]
    assert [quiet[form] for form in ("more", "most", "is")] == ["more quiet", "most quiet", "静か です"]
    assert [quiet[form] for form in ("was", "not")] == ["静か でし た", "静か で は あり ませ ん"]
    with pytest.raises(ValueError, match="expected an adjective"):
        adjectives("red = 赤")


def test_nouns():
    entries = nouns("umbrella = 傘, uniform = 制服, mouse/mice = ネズミ, box = 箱, lily = 百合, toy = おもちゃ")
    assert [entry["a"] for entry in entries[:2]] == ["an umbrella", "a uniform"]
    assert [entry["plural"] for entry in entries[2:]] == ["mice", "boxes", "lilies", "toys"]


def test_splits_are_disjoint():
    parts = splits(train=3000, dev=200, test=100, seed=5)
    assert {name: len(pairs) for name, pairs in parts.items()} == {"train": 3000, "dev": 200, "test": 100}
    for side in (0, 1):
        assert len({pair[side] for pairs in parts.values() for pair in pairs}) == 3300
    assert parts == splits(train=3000, dev=200, test=100, seed=5)


def test_impossible_sizes_are_refused(monkeypatch):
    with pytest.raises(ValueError, match="pairs: expected"):
        generate(-1)
    with pytest.raises(ValueError, match="dev: expected"):
        splits(train=10, dev=-1)
    assert list(generate(0)) == []
    monkeypatch.setattr(corpus, "sentences", lambda seed: iter([Sentence(0, "hello .", "こんにちは 。")] * 100_000))
    with pytest.raises(ValueError, match="only 1 distinct pairs .* ask for fewer"):
        list(generate(2))


def test_written_files(tmp_path):
    folder = tmp_path / "deep" / "corpus"
    write(folder, train=50, dev=10, test=5, seed=4)
    assert sorted(path.name for path in folder.iterdir()) == [
        f"{part}.{language}" for part in ("dev", "test", "train") for language in ("en", "ja")
    ]
    for part, pairs in splits(50, 10, 5, seed=4).items():
        for side, language in enumerate(("en", "ja")):
            written = (folder / f"{part}.{language}").read_bytes().decode()
            assert written == "".join(f"{pair[side]}\n" for pair in pairs)


def test_a_failed_write_leaves_the_old_files(tmp_path, monkeypatch):
    write(tmp_path, train=5, dev=1, test=1)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("trellex.files.os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write(tmp_path, train=6, dev=1, test=1, seed=2)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_command(tmp_path, capsys):
    main([str(tmp_path), "--train", "20", "--dev", "3", "--test", "2", "--seed", "9"])
    assert len((tmp_path / "train.ja").read_text(encoding="utf-8").splitlines()) == 20
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "example: python -m trellex.phrasebook" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([str(tmp_path), "--train", "-1"])
    assert "train: expected" in capsys.readouterr().err

"""Pieces join to just the text that was cut, are the same whenever they are learnt, and damage to them is noticed."""

import hashlib
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trellex import phrasebook
from trellex.text import UNK, Corpus, PrepareSettings, Vocabulary, build_tokenizer, prepare
from trellex.text import corpus as corpus_module
from trellex.text.manifest import TextSettings
from trellex.text.piece_training import PieceError, train_pieces
from trellex.text.pieces import MAX_BYTES, PieceModel
from trellex.text.tokenizers import build_detokenizer, without_space

KINDS = ("bpe", "unigram")
GERMAN = ["Ein Mann (mit Hut) läuft, oder nicht?", "Zwei Männer laufen über die Straße.", "Läuft die Straße gerade?"]
PAIRS = list(phrasebook.generate(120))
TEXT = {
    "en": [source for source, _ in PAIRS],
    "ja": [target.replace(" ", "") for _, target in PAIRS],
    "de": GERMAN * 20,
}


@pytest.fixture(scope="module")
def models():
    """Piece models by kind and language."""
    return {
        (kind, language): PieceModel(train_pieces(kind, 500, language, lines), "model", "learn it again")
        for kind in KINDS
        for language, lines in TEXT.items()
    }


@pytest.mark.parametrize("kind", KINDS)
class TestRoundTrips:
    @pytest.mark.parametrize(
        ("language", "line"),
        [
            ("en", "where is the nearest museum ?"),
            ("en", "never seen: Zürich, 漢字 & 🙂"),
            ("en", "</s> <unk> <s>"),
            ("ja", "一番近い博物館はどこですか。"),
            ("ja", "犬はA to Zが好きです。"),
            ("ja", "ﾊﾝｶｸ と ＺＥＮＫＡＫＵ"),
            ("de", "Läuft der Mann über die Straße?"),
            ("de", "Ein\u200bMann, �, ⁇, ▅"),
        ],
    )
    def test_text_comes_back(self, models, kind, language, line):
        tokenizer = build_tokenizer(kind, language, pieces=models[kind, language])
        tokens = tokenizer.tokenize(line)
        assert tokenizer.detokenize(tokens) == line
        assert build_detokenizer(kind, language).detokenize(tokens) == line
        assert all(token.split() == [token] for token in tokens)

    @pytest.mark.parametrize("language", TEXT)
    def test_the_text_that_they_were_learnt_from(self, models, kind, language):
        tokenizer = build_tokenizer(kind, language, pieces=models[kind, language])
        assert [tokenizer.detokenize(tokenizer.tokenize(line)) for line in TEXT[language]] == TEXT[language]

    @given(line=st.text(st.one_of(st.characters(), st.sampled_from(" \t\n\x00\x85\u00a0\u2028\u3000\ufeff▁.aA犬"))))
    @settings(deadline=None)
    def test_white_space_and_marks_of_it_are_single_spaces(self, models, kind, line):
        tokenizer, words = build_tokenizer(kind, "en", pieces=models[kind, "en"]), build_tokenizer("whitespace")
        tokens = tokenizer.tokenize(line)
        assert tokenizer.detokenize(tokens) == " ".join(words.tokenize(line.replace("▁", " ")))
        assert all(token.split() == [token] for token in tokens)
        "\n".join(tokens).encode()  # can be written to a file

    def test_lines_without_spaces_do_not_begin_with_one(self, models, kind):
        assert build_tokenizer(kind, "ja", pieces=models[kind, "ja"]).tokenize("犬")[0] == "犬"
        assert build_tokenizer(kind, "en", pieces=models[kind, "en"]).tokenize("a dog")[0].startswith("▁")

    def test_lower_case(self, models, kind):
        tokenizer = build_tokenizer(kind, "en", lowercase=True, pieces=models[kind, "en"])
        assert tokenizer.detokenize(tokenizer.tokenize("WHERE is it ?")) == "where is it ?"

    def test_a_line_of_a_megabyte(self, models, kind):
        tokenizer = build_tokenizer(kind, "en", pieces=models[kind, "en"])
        assert len("".join(tokenizer.tokenize("where" * 200_000))) == 1_000_001


@pytest.mark.parametrize("kind", KINDS)
class TestLearning:
    def test_the_same_lines_give_the_same_bytes(self, models, kind):
        assert train_pieces(kind, 500, "en", TEXT["en"]) == models[kind, "en"].data

    def test_there_are_as_many_as_asked_for_or_as_the_text_has(self, kind):
        for size in (150, 100_000):
            model = PieceModel(train_pieces(kind, size, "en", TEXT["en"]), "model", "")
            assert len(model.pieces()) <= size
        assert len(model.pieces()) > 150

    def test_too_few_for_the_characters(self, kind):
        lines = ["".join(map(chr, range(0x4E00, 0x4E00 + 50)))]
        with pytest.raises(PieceError, match="its characters alone are 54 pieces; give at least as many"):
            train_pieces(kind, 20, "en", lines)

    @pytest.mark.parametrize("lines", [[], [""], ["x" * 5000]])
    def test_nothing_to_learn_from(self, kind, lines):
        with pytest.raises(PieceError, match="no line to learn pieces from"):
            train_pieces(kind, 20, "en", lines)

    def test_an_error_in_the_lines_comes_through(self, kind):
        def lines():
            yield "a b c"
            raise OSError("the disk")

        with pytest.raises(OSError, match="the disk"):
            train_pieces(kind, 20, "en", lines())

    def test_nothing_is_printed(self, kind, capfd):
        train_pieces(kind, 100, "en", TEXT["en"])
        assert capfd.readouterr() == ("", "")


class TestFile:
    @pytest.fixture
    def path(self, models, tmp_path):
        models["bpe", "en"].save(tmp_path / "pieces.source.model")
        return tmp_path / "pieces.source.model"

    def test_comes_back(self, models, path):
        model = PieceModel.load(path, hashlib.sha256(path.read_bytes()).hexdigest(), "learn it again")
        assert model.data == models["bpe", "en"].data

    @pytest.mark.parametrize("sha256", [None, "0" * 64])
    def test_another_checksum(self, path, sha256):
        with pytest.raises(ValueError, match=r"pieces.source.model: damaged, its checksum .*; learn it again"):
            PieceModel.load(path, sha256, "learn it again")

    def test_too_large(self, path):
        with path.open("ab") as file:
            file.truncate(MAX_BYTES + 1)
        with pytest.raises(ValueError, match=r"pieces.source.model: has more than 16,777,216 bytes; learn it again"):
            PieceModel.load(path, "", "learn it again")

    def test_missing(self, path):
        path.unlink()
        with pytest.raises(ValueError, match=r"pieces.source.model: missing, or not a file; learn it again"):
            PieceModel.load(path, "", "learn it again")

    @pytest.mark.parametrize("data", [b"", b"no model", bytes(100)])
    def test_no_model(self, path, data):
        with pytest.raises(ValueError, match=r"pieces.source.model: no piece model.*; learn it again"):
            build_tokenizer("bpe", pieces=PieceModel(data, path, "learn it again"))


class TestWithoutSentencepiece:
    def test_cutting_names_the_extra(self, models, monkeypatch):
        monkeypatch.setitem(sys.modules, "sentencepiece", None)
        with pytest.raises(ImportError, match=r"sentencepiece: pip install 'trellex\[pieces\]'"):
            build_tokenizer("bpe", pieces=PieceModel(models["bpe", "en"].data, "model", ""))
        with pytest.raises(ImportError, match=r"sentencepiece: pip install 'trellex\[pieces\]'"):
            train_pieces("bpe", 20, "en", ["a b"])

    def test_joining_needs_no_more_than_tokens(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "sentencepiece", None)
        assert build_detokenizer("unigram", "en").detokenize(["▁a", "▁mu", "se", "um", "▁", "?"]) == "a museum ?"


def test_a_model_is_needed():
    with pytest.raises(ValueError, match="'bpe' cuts only by the pieces of a model; give one of whitespace, moses"):
        build_tokenizer("bpe")


def test_words_as_they_stand_in_the_text():
    assert [without_space(token, "bpe") for token in ("▁dog", "dog", "▁")] == ["dog", "dog", "▁"]
    assert without_space("▁dog", "moses") == "▁dog"


@pytest.fixture
def files(tmp_path):
    """Input files of a corpus of the phrasebook, the Japanese without spaces."""
    found = {}
    for split, pairs in {"train": PAIRS[:100], "dev": [*PAIRS[100:], ("a 犬 Ω dog", "犬Ω")]}.items():
        for place, side in enumerate(("source", "target")):
            found[f"{split}_{side}"] = tmp_path / f"{split}.{side}"
            lines = [pair[place] if side == "source" else pair[place].replace(" ", "") for pair in pairs]
            found[f"{split}_{side}"].write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return found


def settings_of(files, **options):
    sizes = {"source_vocab_size": 200, "target_vocab_size": 450}
    cut = {"source_tokenizer": "bpe", "target_tokenizer": "unigram"}
    return PrepareSettings(source_language="en", target_language="ja", **files, **(sizes | cut | options))


class TestCorpus:
    def test_vocabulary_and_references(self, files, tmp_path):
        manifest = prepare(settings_of(files), tmp_path / "corpus")
        corpus = Corpus.open(tmp_path / "corpus")
        assert manifest.source_vocabulary <= 200
        assert manifest.target_vocabulary <= 450
        for vocabulary in (corpus.source_vocabulary, corpus.target_vocabulary):
            assert vocabulary.counts[3:].min() >= 1
            assert vocabulary.counts[3:].tolist() == sorted(vocabulary.counts[3:].tolist(), reverse=True)
        dev = corpus.split("dev")
        assert UNK in dev.source(len(dev) - 1)
        words = build_tokenizer("mecab", "ja")
        assert dev.target_tokens == [words.tokenize(line) for line in dev.target_lines]
        known = [row for row in range(len(dev)) if UNK not in dev.target(row)]
        assert known
        for row in known:
            pieces = corpus.target_vocabulary.tokens(dev.target(row))
            assert "".join(pieces) == dev.target_lines[row]
            assert corpus.target_words(pieces) == dev.target_tokens[row]

    def test_an_unknown_piece_is_a_word_that_no_reference_has(self, files, tmp_path):
        prepare(settings_of(files, target_tokenizer="bpe"), tmp_path / "corpus")
        assert Corpus.open(tmp_path / "corpus").target_words(["犬", "<unk>", "猫"]) == ["犬", "\ufffd", "猫"]

    def test_words_are_what_they_are(self, files, tmp_path):
        prepare(settings_of(files, target_tokenizer="mecab"), tmp_path / "corpus")
        assert Corpus.open(tmp_path / "corpus").target_words(["<unk>", "▁x"]) == ["<unk>", "▁x"]

    def test_the_same_whenever_it_is_made(self, files, tmp_path):
        for name in ("one", "two"):
            prepare(settings_of(files), tmp_path / name)
        one, two = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("one", "two"))
        assert one == two
        assert {"pieces.source.model", "pieces.target.model"} < one.keys()

    def test_some_lines_of_many(self, files, tmp_path, monkeypatch):
        seen = []

        def train(kind, size, language, lines):
            seen.append(list(lines))
            return train_pieces(kind, size, language, seen[-1])

        monkeypatch.setattr(corpus_module, "train_pieces", train)
        monkeypatch.setattr(corpus_module, "PIECE_LINES", 40)
        prepare(settings_of(files), tmp_path / "corpus")
        assert seen[0] == [
            source for place, (source, _) in enumerate(PAIRS[:100]) if (place + 1) * 2 // 5 > place * 2 // 5
        ]
        assert list(map(len, seen)) == [40, 40]

    def test_nothing_is_done_twice(self, files, tmp_path, monkeypatch):
        prepare(settings_of(files), tmp_path / "corpus")
        monkeypatch.setattr(corpus_module, "_build", None)
        prepare(settings_of(files), tmp_path / "corpus")

    def test_pieces_give_way_to_words(self, files, tmp_path):
        prepare(settings_of(files), tmp_path / "corpus")
        prepare(settings_of(files, source_tokenizer="moses", target_tokenizer="mecab"), tmp_path / "corpus")
        assert not list((tmp_path / "corpus").glob("pieces.*"))

    def test_lower_case(self, files, tmp_path):
        prepare(settings_of(files, source_lowercase=True), tmp_path / "corpus")
        words = Vocabulary.load(tmp_path / "corpus" / "vocab.source.txt").words
        assert words == [word.lower() for word in words]

    def test_whitespace_for_bleu(self, files, tmp_path):
        settings = settings_of(files, bleu_tokenizer="whitespace")
        manifest = prepare(settings, tmp_path / "corpus")
        dev = Corpus.open(tmp_path / "corpus").split("dev")
        assert dev.target_tokens == [line.split() for line in dev.target_lines]
        assert manifest.fingerprint() != prepare(settings_of(files), tmp_path / "other").fingerprint()

    @pytest.mark.parametrize("name", ["pieces.source.model", "pieces.target.model"])
    def test_damaged_or_missing(self, files, tmp_path, name):
        prepare(settings_of(files), tmp_path / "corpus")
        path = tmp_path / "corpus" / name
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        with pytest.raises(ValueError, match=rf"{name}: damaged, its checksum differs; run `trellex prepare` again"):
            Corpus.open(tmp_path / "corpus")
        path.unlink()
        with pytest.raises(ValueError, match=rf"{name}: missing, or not a file; run `trellex prepare` again"):
            Corpus.open(tmp_path / "corpus")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"target_vocab_size": 10}, r"target_vocab_size, train_target: .*: its characters alone are \d+ pieces"),
            ({"source_vocab_size": 1 << 20}, "source_vocab_size: at most 131,072 pieces can be learnt"),
            ({"bleu_tokenizer": "bpe"}, "bleu_tokenizer: BLEU compares words, not bpe"),
            ({"bleu_tokenizer": "mosses"}, "did you mean 'moses'"),
            ({"target_tokenizer": "mecab", "bleu_tokenizer": "moses"}, "bleu_tokenizer: the target is cut into words"),
        ],
    )
    def test_wrong_settings(self, files, tmp_path, options, message):
        with pytest.raises(ValueError, match=message):
            prepare(settings_of(files, **options), tmp_path / "corpus")
        assert not (tmp_path / "corpus").exists()

    def test_without_the_packages(self, files, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "fugashi", None)
        with pytest.raises(ImportError, match=r"bleu_tokenizer: .*'trellex\[ja\]', or --bleu-tokenizer whitespace"):
            prepare(settings_of(files), tmp_path / "corpus")
        monkeypatch.setitem(sys.modules, "sentencepiece", None)
        with pytest.raises(ImportError, match=r"source_tokenizer: .*pip install 'trellex\[pieces\]'"):
            prepare(settings_of(files, bleu_tokenizer="whitespace"), tmp_path / "corpus")
        assert not (tmp_path / "corpus").exists()

    def test_faults_of_dev_show_before_pieces_are_learnt(self, files, tmp_path, monkeypatch):
        monkeypatch.setattr(corpus_module, "train_pieces", None)
        files["dev_target"].write_text("one line\n")
        with pytest.raises(ValueError, match=r"dev\.source has 21 lines but .*dev\.target has 1;"):
            prepare(settings_of(files), tmp_path / "corpus")


def test_how_text_is_cut_in_tables(files):
    assert settings_of(files).cut() == "bpe 200 to unigram 450"
    assert (
        settings_of(files, source_vocab_size=None, target_tokenizer="bpe", target_vocab_size=None).cut() == "bpe 8192"
    )
    assert settings_of(files, source_tokenizer="moses").cut() == "moses to unigram 450"
    assert settings_of(files, source_tokenizer="moses", target_tokenizer="mecab").cut() is None


def test_files_of_a_model():
    languages = {"source_language": "en", "target_language": "ja"}
    assert TextSettings(**languages).files() == ["vocab.source.txt", "vocab.target.txt"]
    assert TextSettings(**languages, target_tokenizer="bpe").files()[2:] == ["pieces.target.model"]

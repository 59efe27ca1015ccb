"""A corpus is prepared whole or not at all, and opens as it was prepared."""

import gzip
import json
import lzma
import os
import subprocess
import sys
from typing import ClassVar

import mutations
import numpy as np
import pytest
from pydantic import ValidationError

from trellex.text import UNK, Corpus, PrepareSettings, prepare
from trellex.text import corpus as corpus_module
from trellex.text.doubts import doubts
from trellex.text.lines import MAX_BYTES

TRAIN = [("a b c", "A B"), ("a b", "A </s>"), ("", "A"), ("a " * 9, "A"), ("a d", "C C C")]
FINGERPRINT = (
    "44b81243687e0c5b44a2204a97919cbfd1dd68119dee766a0350f9196fd7e578"  # of these two, before there was a min_count
)
DEV = [("a x\u2028y", "A  new word"), ("", ""), ("c", "B")]


def write_side(path, lines):
    pack = {".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)
    path.write_bytes(pack("".join(line + "\n" for line in lines).encode()))


@pytest.fixture
def build(tmp_path):
    """Writes input files and makes the settings for them."""

    def build(train=TRAIN, dev=DEV, test=None, suffix="", **settings):
        files = {}
        for name, pairs in {"train": train, "dev": dev, "test": test}.items():
            for place, side in enumerate(("source", "target")):
                if pairs is not None:
                    files[f"{name}_{side}"] = tmp_path / f"{name}.{side}{suffix}"
                    write_side(files[f"{name}_{side}"], [pair[place] for pair in pairs])
        defaults = {f"{side}_tokenizer": "whitespace" for side in ("source", "target")}
        defaults |= {"source_language": "en", "target_language": "de", "max_length": 5, "min_count": 1}
        return PrepareSettings(**(files | defaults | settings))

    return build


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "prepared" / "corpus"


def snapshot(folder):
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "manifest.json"}


def without_checksums(folder):
    """Make a corpus one of an older version, which had none."""
    data = json.loads((folder / "manifest.json").read_text())
    for name in ("sha256", "checksum"):
        del data[name]
    (folder / "manifest.json").write_text(json.dumps(data))


def same_json(one, other):
    """Whether they mean the same, as another last digit of a fraction may."""
    try:
        return json.loads(one) == json.loads(other)
    except ValueError:
        return False


class TestPrepare:
    def test_splits(self, build, folder):
        manifest = prepare(build(test=DEV[:1]), folder)
        corpus = Corpus.open(folder)
        assert corpus.manifest == manifest
        assert corpus.source_vocabulary.words[3:] == ["a", "b", "c", "d"]
        assert corpus.source_vocabulary.counts.tolist() == [0, 3, 3, 3, 2, 1, 1]
        assert corpus.target_vocabulary.words[3:] == ["C", "A", "B"]
        assert corpus.target_vocabulary.counts[UNK] == 1

        train = corpus.split("train")
        assert len(train) == 3
        assert [train.source(i).tolist() for i in range(3)] == [[3, 4, 5], [3, 4], [3, 6]]
        assert [train.target(i).tolist() for i in range(3)] == [[4, 5], [4, UNK], [3, 3, 3]]
        assert train.source_lengths.tolist() == [3, 2, 2]
        assert train.target_lengths.tolist() == [2, 2, 3]
        assert {train.source(0).dtype, train.source_lengths.dtype} == {np.dtype(np.int64)}

        dev = corpus.split("dev")
        assert len(dev) == 3
        assert [dev.source(i).tolist() for i in range(3)] == [[3, UNK, UNK], [], [5]]
        assert dev.source_lines == ["a x\u2028y", "", "c"]
        assert dev.target_lines == ["A  new word", "", "B"]
        assert dev.target_tokens == [["A", "new", "word"], [], ["B"]]
        assert len(corpus.split("test")) == 1

    def test_fingerprint(self, build, tmp_path):
        def fingerprint(name, **settings):
            return prepare(build(**settings), tmp_path / name).fingerprint()

        assert fingerprint("one") == fingerprint("two", suffix=".copy")
        assert fingerprint("one") != fingerprint("three", dev=DEV[:1])
        assert fingerprint("one") != fingerprint("four", max_length=2)

    def test_many_pairs_at_once(self, build, folder):
        prepare(build(), folder)
        corpus = Corpus.open(folder)
        train, dev = corpus.split("train"), corpus.split("dev")
        for found, expected in (
            (train.sources(np.array([2, 0, 0])), ([3, 6, 3, 4, 5, 3, 4, 5], [2, 3, 3])),
            (train.targets(np.array([1])), ([4, UNK], [2])),
            (dev.sources(np.array([1, 2, 1])), ([5], [0, 1, 0])),
            (dev.sources(np.array([], int)), ([], [])),
        ):
            assert (found[0].tolist(), found[1].tolist()) == expected
            assert {ids.dtype for ids in found} == {np.dtype(np.int64)}

    def test_manifest(self, build, folder):
        settings = build()
        prepare(settings, folder)
        data = json.loads((folder / "manifest.json").read_text())
        assert data["version"] == 1
        assert data["settings"]["max_length"] == 5
        assert data["inputs"]["dev_target"]["size"] == settings.dev_target.stat().st_size
        assert len(data["inputs"]["dev_target"]["sha256"]) == 64
        train, dev = data["splits"]["train"], data["splits"]["dev"]
        assert (train["pairs"], train["dropped_short"], train["dropped_long"]) == (3, 1, 1)
        assert train["source"].items() >= {"tokens": 7, "unknown_tokens": 0, "unknown_rate": 0.0}.items()
        assert train["target"].items() >= {"tokens": 7, "unknown_tokens": 1, "unknown_rate": 1 / 7}.items()
        assert dev["source"].items() >= {"tokens": 4, "unknown_tokens": 2, "unknown_rate": 0.5}.items()
        lengths = [dev["source"][name] for name in ("mean_length", "length_95", "max_length")]
        assert lengths == [4 / 3, 3, 3]
        assert (train["source"]["types"], train["target"]["types"]) == (4, 4)
        assert (train["in_train"], dev["in_train"], dev["lopsided"], dev["same_text"]) == (None, 0, 0, 0)
        assert (data["source_vocabulary"], data["target_vocabulary"]) == (7, 6)
        assert (data["source_dtype"], data["target_dtype"]) == ("uint16", "uint16")

    def test_files(self, build, folder):
        prepare(build(), folder)
        ids = np.load(folder / "train.source.ids", mmap_mode="r")
        assert ids.dtype.str == "<u2"
        assert ids.tolist() == [3, 4, 5, 3, 4, 3, 6]
        offsets = np.load(folder / "train.source.offsets", mmap_mode="r")
        assert offsets.dtype.str == "<u8"
        assert offsets.tolist() == [0, 3, 5, 7]
        names = {f"train.{side}.{kind}" for side in ("source", "target") for kind in ("ids", "offsets")}
        names |= {name.replace("train", "dev") for name in names}
        names |= {"dev.source.txt", "dev.target.txt", "dev.target.tokens.txt"}
        names |= {"vocab.source.txt", "vocab.target.txt", "manifest.json"}
        assert {path.name for path in folder.iterdir()} == names
        assert [path.name for path in folder.parent.iterdir()] == ["corpus"]

    def test_pairs_in_train_too(self, build, folder):
        held_out = [("a b", "A </s>"), ("a b", "A  </s> "), ("a b", "A"), ("A </s>", "a b"), ("", "A"), ("a " * 9, "A")]
        splits = prepare(build(dev=held_out, test=held_out[:3]), folder).splits
        assert (splits["dev"].in_train, splits["test"].in_train) == (2, 2)  # of what train drops none stands in it

    def test_same_and_lopsided_pairs(self, build, folder):
        dev = [("a b", "a  b"), ("a b", "a"), ("", ""), ("a", "b " * 9), ("b " * 10, "a"), ("", "b " * 10)]
        facts = prepare(build(dev=dev), folder).splits["dev"]
        assert (facts.same_text, facts.lopsided) == (1, 2)

    def test_large_vocabulary_takes_four_bytes(self, build, folder):
        words = [(str(number), "x") for number in range(65534)]
        assert prepare(build(train=words), folder).source_dtype == "uint32"
        assert Corpus.open(folder).split("train").source_lengths.sum() == 65534
        assert prepare(build(train=words, source_vocab_size=65536), folder).source_dtype == "uint16"

    def test_vocabulary_sizes_and_lower_case(self, build, folder):
        settings = build(source_vocab_size=4, target_vocab_size=5, target_lowercase=True)
        prepare(settings, folder)
        corpus = Corpus.open(folder)
        assert corpus.source_vocabulary.words[3:] == ["a"]
        assert corpus.target_vocabulary.words[3:] == ["c", "a"]
        assert corpus.manifest.settings.tokenizer("target").tokenize("A B") == ["a", "b"]
        assert corpus.manifest.settings.tokenizer("source").tokenize("A B") == ["A", "B"]

    @pytest.mark.parametrize("suffix", [".gz", ".xz"])
    def test_compressed_inputs(self, build, folder, tmp_path, suffix):
        prepare(build(), folder)
        prepare(build(suffix=suffix), tmp_path / "other")
        assert contents(folder) == contents(tmp_path / "other")

    @pytest.mark.parametrize("tokenizer", ["moses", "mecab", "characters"])
    def test_tokenizers(self, build, folder, tokenizer):
        pairs = [("Hello, world.", "私は犬が好き。\ufeff\ufeff"), ("\ufeff\ufeffB", "\x00猫")]
        tokenizers = {"source_tokenizer": tokenizer, "target_tokenizer": tokenizer}
        prepare(build(train=pairs, dev=pairs, max_length=60, **tokenizers), folder)
        corpus = Corpus.open(folder)
        dev = corpus.split("dev")
        for place, (_, line) in enumerate(pairs):
            tokens = corpus.manifest.settings.tokenizer("target").tokenize(line)
            assert dev.target_tokens[place] == tokens
            assert corpus.target_vocabulary.tokens(dev.target(place)) == tokens

    def test_reports(self, build, folder, monkeypatch):
        monkeypatch.setattr(corpus_module, "REPORT_EVERY", 2)
        calls = []
        prepare(build(), folder, lambda *call: calls.append(call))
        assert ("tokenising train", 2, None) in calls
        assert ("tokenising train", 5, 5) in calls
        assert ("numbering train target", 2, 3) in calls
        assert ("numbering dev source", 3, 3) in calls

    def test_imports_no_torch(self):
        code = "import sys, trellex.text; sys.exit('torch' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_tokens_may_take_more_room_than_a_line_of_text_may(build, folder):
    tokenizers = {"source_tokenizer": "characters", "target_tokenizer": "characters"}
    line = "ab" * (MAX_BYTES // 3)
    prepare(build(dev=[(line, line)], **tokenizers), folder)
    assert len(Corpus.open(folder).split("dev").target_tokens[0]) == len(line)


class TestMinCount:
    """Both sides have the words x (3 times) and y (once) in training."""

    TRAIN: ClassVar = [("x x x y", "x x x y")]
    CLOSED: ClassVar = [("x", "y")]
    OPEN: ClassVar = [("x new", "y")]  # on the source side

    @pytest.fixture
    def words(self, build, folder):
        """The words of both sides, and how often the manifest says they were seen at least."""

        def words(**settings):
            manifest = prepare(build(**({"train": self.TRAIN, "min_count": None} | settings)), folder)
            corpus = Corpus.open(folder)
            source, target = ("".join(each.words[3:]) for each in (corpus.source_vocabulary, corpus.target_vocabulary))
            return (source, manifest.source_min_count), (target, manifest.target_min_count)

        return words

    def test_a_closed_vocabulary_keeps_all_words(self, words):
        assert words(dev=self.CLOSED) == (("xy", 1), ("xy", 1))

    def test_an_open_one_leaves_out_words_seen_once(self, words, folder):
        assert words(dev=self.OPEN) == (("x", 2), ("xy", 1))
        assert Corpus.open(folder).source_vocabulary.counts.tolist() == [1, 1, 1, 3]

    def test_test_words_do_not_count(self, words):
        assert words(dev=self.CLOSED, test=self.OPEN) == (("xy", 1), ("xy", 1))

    @pytest.mark.parametrize(("size", "expected"), [(4, ("x", 1)), (5, ("x", 2)), (99, ("x", 2))])
    def test_a_size_that_leaves_words_out_is_enough(self, words, size, expected):
        assert words(dev=self.OPEN, source_vocab_size=size)[0] == expected

    def test_where_all_words_are_seen_once_all_are_kept(self, words):
        assert words(train=[("x y", "x y")], dev=self.OPEN)[0] == ("xy", 1)

    def test_one_that_is_given_counts_always(self, words):
        assert words(dev=self.OPEN, min_count=1) == (("xy", 1), ("xy", 1))
        assert words(dev=self.CLOSED, min_count=3) == (("x", 3), ("x", 3))
        assert words(train=[("x x y y y", "x x y y y")], min_count=2, source_vocab_size=4) == (("y", 2), ("yx", 2))

    def test_fingerprint_tells_of_the_words_not_of_the_way_to_them(self, build, tmp_path):
        def fingerprint(name, **settings):
            return prepare(build(train=self.TRAIN, **settings), tmp_path / name).fingerprint()

        assert fingerprint("one", dev=self.CLOSED, min_count=None) == fingerprint("two", dev=self.CLOSED)
        assert fingerprint("three", dev=self.OPEN, min_count=None) != fingerprint("four", dev=self.OPEN)


class TestOlderCorpora:
    """Those of a version that knew no min_count and no further facts, and checked no codes of languages."""

    @staticmethod
    def make_older(folder, **settings):
        without_checksums(folder)
        data = json.loads((folder / "manifest.json").read_text())
        for name in ("source_min_count", "target_min_count"):
            del data[name]
        del data["settings"]["min_count"]
        for split in data["splits"].values():
            for name in ("same_text", "lopsided", "in_train"):
                del split[name]
            for side in ("source", "target"):
                split[side] = {name: split[side][name] for name in ("tokens", "unknown_tokens", "unknown_rate")}
        data["settings"] |= settings
        (folder / "manifest.json").write_text(json.dumps(data))

    @pytest.fixture
    def older(self, build, folder):
        manifest = prepare(build(), folder)
        self.make_older(folder, source_language="jp")
        return manifest

    def test_open(self, older, folder):
        manifest = Corpus.open(folder).manifest
        assert manifest.settings.source_language == "jp"
        assert manifest.source_min_count is None
        assert doubts(manifest) == doubts(older) != []

    def test_keep_their_fingerprint(self, older, folder):
        assert older.fingerprint() == FINGERPRINT
        older_settings = older.settings.model_copy(update={"source_language": "jp"})
        expected = older.model_copy(update={"settings": older_settings}).fingerprint()
        assert Corpus.open(folder).manifest.fingerprint() == expected

    def test_models_of_them_know_their_text(self, older, folder):
        settings = Corpus.open(folder).manifest.settings
        saved = settings.model_dump(mode="json", exclude={"min_count"})  # as checkpoints hold it
        assert PrepareSettings.model_validate(saved).text() == settings.text()
        exported = settings.text().model_dump_json()
        assert type(settings.text()).model_validate_json(exported).source_language == "jp"

    def test_are_made_anew_by_other_settings(self, build, older, folder):
        assert prepare(build(), folder) == older == Corpus.open(folder).manifest

    def test_keep_their_words_by_the_same_command_for_runs_to_go_on(self, build, folder):
        prepare(build(dev=TestMinCount.OPEN), folder)  # words seen once are known
        self.make_older(folder)
        before = snapshot(folder)
        assert prepare(build(dev=TestMinCount.OPEN, min_count=None), folder) == Corpus.open(folder).manifest
        assert snapshot(folder) == before


class TestDefaultTokenizers:
    @pytest.mark.parametrize(
        ("language", "tokenizer"),
        [
            ("ja", "mecab"),
            ("zh", "characters"),
            ("th", "characters"),
            ("en", "moses"),
            ("ko", "moses"),
            ("haw", "moses"),
        ],
    )
    def test_follow_from_the_language(self, build, language, tokenizer):
        files = build().inputs()
        settings = PrepareSettings(**files, source_language="en", target_language=language)
        assert (settings.source_tokenizer, settings.target_tokenizer) == ("moses", tokenizer)
        settings = PrepareSettings(**files, source_language=language, target_language="en")
        assert (settings.source_tokenizer, settings.target_tokenizer) == (tokenizer, "moses")

    def test_are_the_same_as_those_that_are_given(self, build, folder):
        files = build().inputs()
        languages = {"source_language": "en", "target_language": "ja"}
        first = prepare(PrepareSettings(**files, **languages), folder)
        given = PrepareSettings(**files, **languages, source_tokenizer="moses", target_tokenizer="mecab")
        calls = []
        assert prepare(given, folder, lambda *call: calls.append(call)) == first
        assert calls[-1][0].endswith("is up to date")


class TestAgain:
    def test_same_inputs_nothing_is_done(self, build, folder):
        first = prepare(build(), folder)
        before, calls = snapshot(folder), []
        assert prepare(build(), folder, lambda *call: calls.append(call)) == first
        assert snapshot(folder) == before
        assert calls[-1][0].endswith("is up to date")

    def test_changed_input(self, build, folder):
        prepare(build(), folder)
        prepare(build(train=[*TRAIN, ("new", "NEW")]), folder)
        assert len(Corpus.open(folder).split("train")) == 4
        assert [path.name for path in folder.parent.iterdir()] == ["corpus"]

    def test_changed_settings(self, build, folder):
        prepare(build(test=DEV), folder)
        prepare(build(max_length=10), folder)
        assert len(Corpus.open(folder).split("train")) == 4
        assert not (folder / "test.source.ids").exists()

    def test_folder_with_other_ids_is_mended(self, build, folder):
        prepare(build(), folder)
        before = contents(folder)
        ids = (folder / "train.source.ids").read_bytes()
        (folder / "train.source.ids").write_bytes(ids[:-2] + b"\3\0")
        prepare(build(), folder)
        assert contents(folder) == before

    @pytest.mark.parametrize("name", ["train.target.ids", "vocab.source.txt", "manifest.json"])
    def test_damaged_folder_is_mended(self, build, folder, name):
        prepare(build(), folder)
        before = contents(folder)
        os.truncate(folder / name, 5)
        prepare(build(), folder)
        assert contents(folder) == before

    @pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
    @pytest.mark.parametrize("stage", ["checking", "tokenising dev", "tokenising train", "numbering train target"])
    def test_interrupted(self, build, folder, stage, error):
        prepare(build(), folder)
        before = snapshot(folder)

        def interrupt(text, done, total):
            if text.startswith(stage):
                raise error

        with pytest.raises(error):
            prepare(build(max_length=4, train=TRAIN[:2]), folder, interrupt)
        assert snapshot(folder) == before
        assert [path.name for path in folder.parent.iterdir()] == ["corpus"]
        Corpus.open(folder)

    def test_interrupted_the_first_time(self, build, folder):
        def interrupt(text, done, total):
            if text == "numbering train source":
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            prepare(build(), folder, interrupt)
        assert list(folder.parent.iterdir()) == []

    def test_failed_exchange_brings_the_old_folder_back(self, build, folder, monkeypatch):
        prepare(build(), folder)
        before, replace = snapshot(folder), os.replace

        def fail(source, target):
            if os.path.isdir(source) and os.fspath(source).endswith(".new"):
                raise OSError("disk gone")
            replace(source, target)

        monkeypatch.setattr("trellex.temporaries._exchange", lambda *folders: False)  # then they are renamed
        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="disk gone"):
            prepare(build(max_length=4), folder)
        assert snapshot(folder) == before
        assert [path.name for path in folder.parent.iterdir()] == ["corpus"]

    def test_through_a_link(self, build, folder, tmp_path):
        prepare(build(), folder)
        (tmp_path / "link").symlink_to(folder)
        prepare(build(max_length=10), tmp_path / "link")
        assert (tmp_path / "link").is_symlink()
        assert len(Corpus.open(folder).split("train")) == 4


class TestPrepareErrors:
    def test_foreign_folder(self, build, folder):
        folder.mkdir(parents=True)
        (folder / "thesis.txt").write_text("years of work")
        with pytest.raises(ValueError, match="corpus: exists and is no prepared corpus; choose another folder"):
            prepare(build(), folder)
        assert (folder / "thesis.txt").read_text() == "years of work"

    @pytest.mark.parametrize("is_there", [False, True])
    def test_files_that_come_while_it_works(self, build, folder, is_there):
        def write(*_):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "thesis.txt").write_text("years of work")

        if is_there:
            prepare(build(), folder)
        with pytest.raises(ValueError, match="corpus: would be replaced, but also holds 'thesis.txt'"):
            prepare(build(max_length=10), folder, lambda stage, *_: stage.startswith("checking") or write())
        assert (folder / "thesis.txt").read_text() == "years of work"
        assert os.listdir(folder.parent) == [folder.name]

    def test_folder_is_a_file(self, build, tmp_path):
        (tmp_path / "file").write_text("x")
        with pytest.raises(ValueError, match="file: exists and is no prepared corpus"):
            prepare(build(), tmp_path / "file")

    def test_other_files_are_not_removed(self, build, folder):
        prepare(build(), folder)
        (folder / "thesis.txt").write_text("years of work")
        prepare(build(), folder)
        with pytest.raises(ValueError, match="also holds 'thesis.txt'; move that elsewhere"):
            prepare(build(max_length=4), folder)
        assert (folder / "thesis.txt").read_text() == "years of work"

    def test_empty_folder_is_welcome(self, build, folder):
        folder.mkdir(parents=True)
        prepare(build(), folder)
        Corpus.open(folder)

    def test_all_pairs_dropped(self, build, folder):
        message = "all 3 were dropped: 1 had fewer than min_length = 2 tokens on a side, 2 more than max_length = 2"
        with pytest.raises(ValueError, match=message):
            prepare(build(train=[("a", "a"), ("a a a", "a a"), ("a a", "a a a")], min_length=2, max_length=2), folder)
        assert not folder.exists()

    @pytest.mark.parametrize("split", ["train", "dev", "test"])
    def test_empty_files(self, build, folder, split):
        with pytest.raises(ValueError, match=rf"{split}_source, {split}_target: .*{split}.source is empty"):
            prepare(build(**{split: []}), folder)

    @pytest.mark.parametrize("split", ["train", "dev"])
    def test_sides_of_different_length(self, build, folder, split):
        settings = build()
        path = getattr(settings, f"{split}_target")
        lines = len(path.read_bytes().splitlines())
        write_side(path, ["A"] * (lines + 2))
        with pytest.raises(ValueError, match=rf"{split}.source has {lines} lines but .*{split}.target has {lines + 2}"):
            prepare(settings, folder)
        assert not folder.exists()

    def test_missing_input(self, build, folder):
        settings = build()
        settings.dev_target.unlink()
        with pytest.raises(FileNotFoundError, match="^dev_target: .*dev.target: there is no such file"):
            prepare(settings, folder)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"source_tokenizer": "mosses"}, "did you mean 'moses'"),
            ({"test_source": "x"}, "test_source, test_target: give both or neither"),
            ({"min_length": 9}, "min_length: 9 is more than max_length, 5"),
            ({"min_length": 0}, "min_length"),
            ({"target_vocab_size": 3}, "target_vocab_size"),
            ({"max_lenght": 3}, "max_lenght"),
        ],
    )
    def test_settings(self, build, change, message):
        with pytest.raises(ValidationError, match=message):
            build(**change)

    @pytest.mark.parametrize(
        ("side", "code", "meant"), [("source", "jp", "ja"), ("target", "deutsch", "de"), ("source", "eng", "en")]
    )
    def test_languages(self, build, folder, side, code, meant):
        with pytest.raises(ValueError, match=f"^{side}_language: '{code}' is no language code; did you mean '{meant}'"):
            prepare(build(**{f"{side}_language": code}), folder)
        assert not folder.parent.exists()

    @pytest.mark.parametrize("side", ["source", "target"])
    def test_missing_mecab(self, build, folder, side, monkeypatch):
        monkeypatch.setitem(sys.modules, "fugashi", None)
        remedies = (
            rf"^{side}_tokenizer: .*pip install 'trellex\[ja\]', or --{side}-tokenizer whitespace if the text is cut"
        )
        with pytest.raises(ImportError, match=remedies):
            prepare(build(**{f"{side}_tokenizer": "mecab"}), folder)

    def test_no_word_seen_often_enough(self, build, folder):
        with pytest.raises(ValueError, match="^min_count: no source word is seen 4 times in training; lower it"):
            prepare(build(min_count=4), folder)

    def test_every_setting_is_described(self):
        assert all(field.description for field in PrepareSettings.model_fields.values())


class TestOpenErrors:
    def test_no_folder(self, tmp_path):
        with pytest.raises(ValueError, match="nowhere: there is no such corpus; make one with `trellex prepare`"):
            Corpus.open(tmp_path / "nowhere")

    def test_a_relative_folder_is_told_with_where_it_was_looked_for(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(ValueError, match=f"^nowhere: there is no such corpus in {tmp_path}; make one"):
            Corpus.open("nowhere")

    @pytest.mark.parametrize("text", ["", "[]", '{"version": 7}', "\udcff"])
    def test_foreign_manifest(self, tmp_path, text):
        (tmp_path / "manifest.json").write_bytes(text.encode(errors="surrogateescape"))
        with pytest.raises(
            ValueError, match="manifest.json: not the manifest of a prepared corpus .*`trellex prepare`"
        ):
            Corpus.open(tmp_path)

    def test_every_file_missing_or_truncated(self, build, folder):
        prepare(build(test=DEV), folder)
        for path in sorted(folder.iterdir()):
            whole = path.read_bytes()
            for damage in (path.unlink, lambda path=path, whole=whole: path.write_bytes(whole[:-1])):
                damage()
                if path.name != "manifest.json" or not path.exists():
                    with pytest.raises(ValueError, match=rf"{path.name}: .*run `trellex prepare` again"):
                        Corpus.open(folder)
                path.write_bytes(whole)
        Corpus.open(folder)

    @pytest.mark.parametrize(
        ("name", "array"),
        [
            ("train.source.ids", np.array([3, 4, 5, 3, 4, 3, 60000], "<u2")),
            ("train.source.ids", np.array([3, 4, 5, 3, 4, 3, 6], "<i2")),
            ("train.source.offsets", np.array([0, 3, 2, 7], "<u8")),
            ("train.source.offsets", np.array([0, 3, 5, 6], "<u8")),
            ("train.source.offsets", np.array([0, 3, 5, 2**64 - 1], "<u8")),
        ],
    )
    def test_arrays_of_the_right_size_but_wrong(self, build, folder, name, array):
        prepare(build(), folder)
        without_checksums(folder)
        size = (folder / name).stat().st_size
        with open(folder / name, "wb") as file:
            np.save(file, array)
        assert (folder / name).stat().st_size == size
        with pytest.raises(ValueError, match=rf"{name}: .*run `trellex prepare` again"):
            Corpus.open(folder)

    @pytest.mark.parametrize("rubbish", [b"\x07", b"PK\x03\x04", b"\x80\x04\x95"])
    @pytest.mark.parametrize("name", ["train.target.ids", "dev.source.txt", "vocab.target.txt", "dev.target.offsets"])
    def test_rubbish_of_the_right_size(self, build, folder, name, rubbish):
        prepare(build(), folder)
        without_checksums(folder)
        size = (folder / name).stat().st_size
        (folder / name).write_bytes((rubbish * size)[:size])
        with pytest.raises(ValueError, match=rf"{name}: .*run `trellex prepare` again"):
            Corpus.open(folder)

    def test_a_flipped_bit_anywhere(self, build, folder):
        prepare(build(), folder)
        for path in sorted(folder.iterdir()):
            whole = path.read_bytes()
            for place in range(0, len(whole), 7):
                damaged = mutations.change(path.name, whole, "flip", {"at": place, "bit": place % 8})
                if path.name == "manifest.json" and same_json(damaged, whole):
                    continue
                path.write_bytes(damaged)
                with pytest.raises(ValueError, match=rf"{path.name}: .*run `trellex prepare` again"):
                    Corpus.open(folder)
            path.write_bytes(whole)
        Corpus.open(folder)

    @pytest.mark.parametrize(
        ("before", "after"),
        [('"source_lowercase": false', '"source_lowercase": true'), ('"max_length": 5', '"max_length": 6')],
    )
    def test_a_manifest_that_was_changed(self, build, folder, before, after):
        prepare(build(), folder)
        text = (folder / "manifest.json").read_text()
        assert before in text
        (folder / "manifest.json").write_text(text.replace(before, after))
        with pytest.raises(ValueError, match=r"manifest\.json: .*damaged, its checksum differs.*prepare` again"):
            Corpus.open(folder)

    def test_a_manifest_that_is_laid_out_otherwise(self, build, folder):
        manifest = prepare(build(), folder)
        data = json.loads((folder / "manifest.json").read_text())
        (folder / "manifest.json").write_text(json.dumps(data, sort_keys=True))
        assert Corpus.open(folder).manifest == manifest

    def test_checksums_of_other_files(self, build, folder):
        manifest = prepare(build(), folder)
        manifest.model_copy(update={"sha256": {}}).save(folder)
        with pytest.raises(ValueError, match=r"manifest\.json: .*sha256: not of the same files"):
            Corpus.open(folder)

    def test_unknown_split(self, build, folder):
        prepare(build(), folder)
        with pytest.raises(ValueError, match="split: this corpus has train, dev, not 'test'"):
            Corpus.open(folder).split("test")

    @pytest.mark.parametrize("index", [-1, 3])
    def test_pairs_outside(self, build, folder, index):
        prepare(build(), folder)
        with pytest.raises(IndexError, match=f"train: pairs go from 0 to 2, got {index}"):
            Corpus.open(folder).split("train").source(index)

    def test_train_has_no_text(self, build, folder):
        prepare(build(), folder)
        with pytest.raises(ValueError, match="train: only the ids"):
            _ = Corpus.open(folder).split("train").source_lines

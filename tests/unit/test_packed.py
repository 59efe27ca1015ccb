"""Files of our own that are packed: put in the place of others, and unpacked no further than they may be."""

import lzma

import pytest

from trellex import packed
from trellex.packed import pack
from trellex.records import read_bounded
from trellex.text import Vocabulary
from trellex.text.vocabulary import MARKERS


@pytest.fixture
def vocabulary():
    return Vocabulary([*MARKERS, *(f"word{place}" for place in range(500))], range(503))


def test_a_packed_vocabulary_is_the_same(tmp_path, vocabulary):
    vocabulary.save(tmp_path / "vocab.txt")
    pack(tmp_path / "vocab.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["vocab.txt.xz"]
    assert Vocabulary.load(tmp_path / "vocab.txt.xz") == vocabulary


def test_what_would_not_be_smaller_stays(tmp_path):
    (tmp_path / "short").write_bytes(b"{}")
    pack(tmp_path / "short")
    assert (tmp_path / "short").read_bytes() == b"{}"


def test_what_could_not_be_read_again_stays(tmp_path, vocabulary, monkeypatch):
    vocabulary.save(tmp_path / "vocab.txt")
    monkeypatch.setattr(packed, "MAX_OWN", (tmp_path / "vocab.txt").stat().st_size - 1)
    pack(tmp_path / "vocab.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["vocab.txt"]


def test_a_vocabulary_without_end_is_not_unpacked_to_it(tmp_path):
    lines = b"".join(b"%d\t1\n" % place for place in range(10**6)) * 9
    path = tmp_path / "vocab.txt.xz"
    path.write_bytes(lzma.compress("".join(f"{marker}\t1\n" for marker in MARKERS).encode() + lines, preset=1))
    with pytest.raises(ValueError, match=r"vocab.txt.xz line 2,?\d+.* unpacks to more than 16,777,216 bytes"):
        Vocabulary.load(path)


def test_json_without_end_is_not_unpacked_to_it(tmp_path):
    (tmp_path / "code.json.xz").write_bytes(lzma.compress(b" " * 10**6))
    assert read_bounded(tmp_path / "code.json.xz", 10**6) == b" " * 10**6
    with pytest.raises(ValueError, match="has more than 999,999 bytes"):
        read_bounded(tmp_path / "code.json.xz", 10**6 - 1)

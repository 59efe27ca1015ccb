"""Lines as they come: of files, of pipes, and what is no text among them."""

import gzip
import io
import os

import pytest

from trellex.text import lines
from trellex.text.lines import CHUNK, FIRST_CHUNK, MAX_BYTES, Line, Splitter, read_chunks


def split(data, size=None):
    """The lines of bytes that are read `size` at a time."""
    file = io.BytesIO(data)
    return list(Splitter(lambda most: file.read(size or most)).lines("line"))


def texts(data, size=None):
    return [line.text for line in split(data, size)]


@pytest.fixture
def stdin(monkeypatch):
    """The writing end of a pipe that stands for stdin."""
    reading, writing = os.pipe()
    monkeypatch.setattr(lines, "STDIN", reading)
    yield writing
    os.close(reading)


class TestSplitter:
    @pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
    def test_only_newlines_end_lines(self, size):
        data = "eins\nzwei drei\r\n\n\u2028ü\nlast".encode()
        assert texts(data, size) == ["eins", "zwei drei", "", "\u2028ü", "last"]

    @pytest.mark.parametrize(("data", "expected"), [(b"", []), (b"\n", [""]), (b"a", ["a"]), (b"a\n", ["a"])])
    def test_ends(self, data, expected):
        assert texts(data) == expected

    def test_a_byte_order_mark_is_left_out_at_the_start_alone(self):
        assert texts(b"\xef\xbb\xbfa\n\xef\xbb\xbfb\n") == ["a", "\ufeffb"]

    def test_places_are_numbered_from_1(self):
        assert [line.place for line in split(b"a\nb\n")] == ["line 1", "line 2"]


class TestProblems:
    def test_bytes_that_are_no_text(self):
        good, bad, rest = split(b"good\ncaf\xe9\nrest\n")
        assert (good.problem, rest) == (None, Line("rest", "line 3"))
        assert bad.text == ""
        assert "not valid UTF-8 at byte 4" in bad.problem
        assert "iconv" in bad.problem

    @pytest.mark.parametrize("character", ["\x00", "\x07", "\x0b", "\x1b", "\x7f", "\x85", "\x9f", "\r"])
    def test_control_characters(self, character):
        (line,) = split(f"ab{character}c\n".encode())
        assert line.text == ""
        assert f"U+{ord(character):04X} at character 3; remove it" in line.problem

    def test_tabs_and_separators_are_text(self):
        assert split("a\tb\u2029\u00a0\n".encode())[0].problem is None

    @pytest.mark.parametrize("size", [None, 1000])
    def test_a_line_beyond_all_measure_is_not_kept(self, size):
        first, rest = split(b"x" * (3 * MAX_BYTES) + b"\nrest\n", size)
        assert "1,048,576 bytes; split it" in first.problem
        assert rest.text == "rest"
        assert split(b"x" * MAX_BYTES + b"\n")[0].problem is None


class TestFiles:
    def test_follow_each_other_with_their_own_numbers(self, tmp_path):
        (tmp_path / "one").write_bytes(b"a\nb")
        with gzip.open(tmp_path / "two.gz", "wb") as file:
            file.write(b"c\n\xff\n")
        (chunk,) = read_chunks([tmp_path / "one", tmp_path / "two.gz"])
        assert [line.text for line in chunk] == ["a", "b", "c", ""]
        assert chunk[3].place == f"{tmp_path / 'two.gz'} line 2"
        assert chunk[3].problem

    def test_chunks_are_small_first(self, tmp_path):
        (tmp_path / "many").write_bytes(b"x\n" * (FIRST_CHUNK + CHUNK + 5))
        assert list(map(len, read_chunks([tmp_path / "many"]))) == [FIRST_CHUNK, CHUNK, 5]

    def test_a_truncated_archive_is_named(self, tmp_path):
        (tmp_path / "cut.gz").write_bytes(gzip.compress(os.urandom(1000))[:500])
        with pytest.raises(ValueError, match=r"cut\.gz: cannot be unpacked to its end"):
            list(read_chunks([tmp_path / "cut.gz"]))


class TestPipes:
    def test_what_is_there_is_a_chunk(self, stdin):
        chunks = read_chunks([])
        os.write(stdin, b"one\n")
        assert [line.text for line in next(chunks)] == ["one"]
        os.write(stdin, b"two\nthree\nfo")
        assert [line.text for line in next(chunks)] == ["two", "three"]
        os.write(stdin, b"ur\nfive")
        os.close(stdin)
        assert [line.text for chunk in chunks for line in chunk] == ["four", "five"]

    def test_nothing(self, stdin):
        os.close(stdin)
        assert list(read_chunks([])) == []

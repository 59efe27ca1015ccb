"""Lines of files and pipes, in bounded memory, and what is no text among them."""

import gzip
import io
import lzma
import os
import random
import subprocess
import tracemalloc

import pytest

from trellex.text import lines, read_lines, read_pairs
from trellex.text.lines import CHUNK, FIRST_CHUNK, MAX_BYTES, OWN_MAX_BYTES, Line, Splitter, read_chunks

TEXT = "ein Hund\n\n犬 \u2028 と\x0c猫\r\nlast without end"
LINES = ["ein Hund", "", "犬 \u2028 と\x0c猫", "last without end"]
PACKERS = {"text": bytes, "text.gz": gzip.compress, "text.xz": lzma.compress}


def split(data, size=None):
    """The lines of bytes that are read `size` at a time."""
    file = io.BytesIO(data)
    return list(Splitter(lambda most: file.read(size or most)).lines())


@pytest.fixture
def check(tmp_path):
    """The lines of a file with these bytes, and what is wrong with them."""

    def check(data):
        (tmp_path / "file").write_bytes(data)
        return [line for chunk in read_chunks([tmp_path / "file"]) for line in chunk]

    return check


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
        assert split(data, size) == [b"eins", b"zwei drei\r", b"", "\u2028ü".encode(), b"last"]

    @pytest.mark.parametrize(("data", "expected"), [(b"", []), (b"\n", [b""]), (b"a", [b"a"]), (b"a\n", [b"a"])])
    def test_ends(self, data, expected):
        assert split(data) == expected

    @pytest.mark.parametrize("size", [None, 1000])
    @pytest.mark.parametrize("end", [b"", b"\nrest\n"])
    def test_a_line_beyond_all_measure_is_not_kept(self, size, end):
        first, *rest = split(b"x" * (3 * MAX_BYTES) + end, size)
        assert MAX_BYTES < len(first) <= MAX_BYTES + lines.READ_BYTES
        assert rest == ([b"rest"] if end else [])

    def test_a_line_beyond_all_measure_is_told_before_its_end(self):
        first = next(Splitter(lambda most: b"x" * most).lines())
        assert MAX_BYTES < len(first) <= MAX_BYTES + lines.READ_BYTES


class TestProblems:
    def test_bytes_that_are_no_text(self, check, tmp_path):
        good, bad, rest = check(b"good\ncaf\xe9\nrest\n")
        assert (good.problem, rest) == (None, Line("rest", f"{tmp_path / 'file'} line 3"))
        assert bad.text == ""
        assert "not valid UTF-8 at byte 4" in bad.problem
        assert "iconv" in bad.problem

    @pytest.mark.parametrize("character", ["\x00", "\x07", "\x0b", "\x1b", "\x7f", "\x85", "\x9f", "\r"])
    def test_control_characters(self, check, character):
        (line,) = check(f"ab{character}c\n".encode())
        assert line.text == ""
        assert f"U+{ord(character):04X} at character 3; remove it" in line.problem

    def test_tabs_separators_and_ends_are_text(self, check):
        assert [line.problem for line in check("\ufeffa\tb\u2029\u00a0\r\n\n".encode())] == [None, None]

    def test_a_line_beyond_all_measure(self, check):
        first, second, rest = check(b"x" * (MAX_BYTES + 1) + b"\n" + b"x" * MAX_BYTES + b"\nrest\n")
        assert "1,048,576 bytes; split it" in first.problem
        assert (second.problem, len(second.text), rest.text) == (None, MAX_BYTES, "rest")


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

    def test_one_that_does_not_block_is_waited_for(self, stdin):
        os.set_blocking(lines.STDIN, False)
        writer = subprocess.Popen(["sh", "-c", "sleep 0.2; echo one; sleep 0.2; echo two"], stdout=stdin)
        os.close(stdin)
        assert [line.text for chunk in read_chunks([]) for line in chunk] == ["one", "two"]
        assert writer.wait() == 0

    def test_nothing(self, stdin):
        os.close(stdin)
        assert list(read_chunks([])) == []


@pytest.mark.parametrize("name", PACKERS)
class TestReadLines:
    def test_only_line_feeds_end_lines(self, tmp_path, name):
        (tmp_path / name).write_bytes(PACKERS[name](TEXT.encode()))
        assert list(read_lines(tmp_path / name)) == LINES
        assert list(read_lines(str(tmp_path / name))) == LINES

    def test_byte_order_mark_is_left_out(self, tmp_path, name):
        (tmp_path / name).write_bytes(PACKERS[name]("\ufeffa\n\ufeffb\n".encode()))
        assert list(read_lines(tmp_path / name)) == ["a", "\ufeffb"]

    def test_empty(self, tmp_path, name):
        (tmp_path / name).write_bytes(PACKERS[name](b""))
        assert list(read_lines(tmp_path / name)) == []

    def test_invalid_utf8_names_the_line(self, tmp_path, name):
        (tmp_path / name).write_bytes(PACKERS[name](b"good\nb\xe9d\n"))
        with pytest.raises(ValueError, match=rf"{name} line 2: not valid UTF-8 at byte 2 .*iconv"):
            list(read_lines(tmp_path / name))

    def test_a_line_beyond_all_measure_is_named_and_not_kept(self, tmp_path, name):
        data = b"good\n" + b"x" * (24 * MAX_BYTES)
        (tmp_path / name).write_bytes(PACKERS[name](data))
        lines = read_lines(tmp_path / name)
        assert next(lines) == "good"
        tracemalloc.start()
        with pytest.raises(ValueError, match=rf"{name} line 2: has more than 1,048,576 bytes; split it"):
            next(lines)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 6 * MAX_BYTES
        assert list(map(len, read_lines(tmp_path / name, OWN_MAX_BYTES))) == [4, 24 * MAX_BYTES]

    def test_missing_file(self, tmp_path, name):
        with pytest.raises(FileNotFoundError, match=name):
            list(read_lines(tmp_path / name))


@pytest.mark.parametrize("name", ["text.gz", "text.xz"])
class TestDamagedArchive:
    def test_truncated(self, tmp_path, name):
        packed = PACKERS[name](TEXT.encode() * 100)
        (tmp_path / name).write_bytes(packed[:-9])
        with pytest.raises(ValueError, match=rf"{name}: cannot be unpacked .*get it again"):
            list(read_lines(tmp_path / name))

    def test_flipped_bits(self, tmp_path, name):
        packed = bytearray(PACKERS[name](TEXT.encode()))
        packed[len(packed) // 2] ^= 0xFF
        (tmp_path / name).write_bytes(packed)
        with pytest.raises(ValueError, match=name):
            list(read_lines(tmp_path / name))

    def test_not_an_archive(self, tmp_path, name):
        (tmp_path / name).write_text("plain text\n")
        with pytest.raises(ValueError, match=rf"{name}: cannot be unpacked"):
            list(read_lines(tmp_path / name))

    def test_empty_file(self, tmp_path, name):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(ValueError, match=rf"{name}: cannot be unpacked to its end \(it is empty\).*get it again"):
            list(read_lines(tmp_path / name))

    @pytest.mark.parametrize("garbage", [b"x", b"garbage" * 9, b"\0\0\0\0junk", b"PK\3\4"])
    def test_something_behind_it(self, tmp_path, name, garbage):
        (tmp_path / name).write_bytes(PACKERS[name](b"a\nb\n") + garbage)
        with pytest.raises(ValueError, match=rf"{name}: cannot be unpacked .*get it again"):
            list(read_lines(tmp_path / name))

    @pytest.mark.parametrize("end", [1, 5, -9])
    def test_a_second_one_cut_short(self, tmp_path, name, end):
        packed = PACKERS[name](b"a\nb\n")
        (tmp_path / name).write_bytes(packed + packed[:end])
        with pytest.raises(ValueError, match=rf"{name}: cannot be unpacked .*get it again"):
            list(read_lines(tmp_path / name))


@pytest.mark.parametrize("name", ["text.gz", "text.xz"])
@pytest.mark.parametrize("padding", [0, 4, 8, 3 * lines.READ_BYTES])
class TestSeveralInOne:
    def test_are_one_text(self, tmp_path, name, padding):
        packed, zeros = PACKERS[name](b"a\nb"), bytes(padding)
        (tmp_path / name).write_bytes(packed + zeros + packed + zeros)
        assert list(read_lines(tmp_path / name)) == ["a", "ba", "b"]

    def test_large_ones(self, tmp_path, name, padding):
        text = random.Random(1).randbytes(200_000).hex("\n").encode() + b"\n"  # hardly packed
        packed = PACKERS[name](text)
        assert len(packed) > 2 * lines.READ_BYTES
        (tmp_path / name).write_bytes(packed + bytes(padding) + packed)
        assert list(read_lines(tmp_path / name)) == 2 * text.decode().split()


def test_an_archive_that_asks_for_much_memory(tmp_path):
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 30}]
    (tmp_path / "text.xz").write_bytes(lzma.compress(b"a\n", filters=filters))
    with pytest.raises(ValueError, match=r"text\.xz: .*Memory usage limit"):
        list(read_lines(tmp_path / "text.xz"))


class TestReadPairs:
    def test_pairs(self, tmp_path):
        (tmp_path / "en").write_text("a\nb\n")
        (tmp_path / "de").write_text("A\nB")
        assert list(read_pairs(tmp_path / "en", tmp_path / "de")) == [("a", "A"), ("b", "B")]

    @pytest.mark.parametrize(("source", "target"), [(2, 5), (5, 2), (0, 1), (1, 0), (3, 2)])
    def test_sides_of_different_length(self, tmp_path, source, target):
        (tmp_path / "en").write_text("x\n" * source)
        (tmp_path / "de").write_text("x\n" * target)
        with pytest.raises(ValueError, match=rf"en has {source} lines but .*de has {target}"):
            list(read_pairs(tmp_path / "en", tmp_path / "de"))

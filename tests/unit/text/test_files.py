"""Files are read line by line, and written whole or not at all."""

import gzip
import lzma
import os
import stat

import pytest

from trellex.text import atomic_writer, read_lines, read_pairs

TEXT = "ein Hund\n\n犬 \u2028 と\x0c猫\r\nlast without end"
LINES = ["ein Hund", "", "犬 \u2028 と\x0c猫", "last without end"]
PACKERS = {"text": bytes, "text.gz": gzip.compress, "text.xz": lzma.compress}


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


class TestAtomicWriter:
    def test_text(self, tmp_path):
        with atomic_writer(tmp_path / "file") as file:
            file.write("犬\n")
            assert not (tmp_path / "file").exists()
        assert (tmp_path / "file").read_bytes() == "犬\n".encode()
        assert [path.name for path in tmp_path.iterdir()] == ["file"]

    def test_binary(self, tmp_path):
        with atomic_writer(tmp_path / "file", "wb") as file:
            file.write(b"\x00\xff")
        assert (tmp_path / "file").read_bytes() == b"\x00\xff"

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
    def test_failure_leaves_what_was_there(self, tmp_path, error):
        (tmp_path / "file").write_text("old")

        def write_half():
            with atomic_writer(tmp_path / "file") as file:
                file.write("new")
                raise error

        with pytest.raises(error):
            write_half()
        assert (tmp_path / "file").read_text() == "old"
        assert [path.name for path in tmp_path.iterdir()] == ["file"]

    def test_permissions_are_those_of_any_file(self, tmp_path):
        (tmp_path / "plain").touch()
        with atomic_writer(tmp_path / "file"):
            pass
        modes = {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
        assert len(modes) == 1


class TestSpecialFiles:
    def test_a_pipe_is_written_to_and_stays(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
        with atomic_writer(tmp_path / "pipe") as file:
            file.write("text\n")
        assert os.read(reader, 100) == b"text\n"
        os.close(reader)
        assert (tmp_path / "pipe").is_fifo()

    def test_a_link_is_followed(self, tmp_path):
        (tmp_path / "file").write_text("old")
        (tmp_path / "link").symlink_to("file")
        with atomic_writer(tmp_path / "link") as file:
            file.write("new")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "file").read_text() == "new"

    def test_a_folder_is_refused_at_once(self, tmp_path):
        with pytest.raises(IsADirectoryError, match="is a folder"), atomic_writer(tmp_path):
            raise AssertionError

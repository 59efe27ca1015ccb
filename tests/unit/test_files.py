"""Files and folders appear whole or not at all."""

import os
import stat

import pytest

from trellex.files import atomic_folder, atomic_writer


def names(folder):
    return sorted(path.name for path in folder.iterdir())


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


class TestAtomicFolder:
    @pytest.fixture
    def fill(self, tmp_path):
        """Writes a folder with a file in it and one in a folder in it; may fail then."""

        def fill(text, error=None):
            with atomic_folder(tmp_path / "folder") as new:
                (new / "file").write_text(text)
                (new / "deep").mkdir()
                (new / "deep" / "file").write_text(text)
                if error:
                    raise error

        return fill

    @pytest.fixture
    def old(self, fill, tmp_path):
        fill("old")
        return tmp_path / "folder"

    def test_appears_at_the_end(self, tmp_path):
        with atomic_folder(tmp_path / "parent" / "folder") as new:
            (new / "file").write_text("text")
            assert not (tmp_path / "parent" / "folder").exists()
        assert (tmp_path / "parent" / "folder" / "file").read_text() == "text"
        assert names(tmp_path / "parent") == ["folder"]

    def test_replaces_what_is_there(self, fill, old, tmp_path):
        (old / "other").touch()
        fill("new")
        assert names(old) == ["deep", "file"]
        assert (old / "file").read_text() == (old / "deep" / "file").read_text() == "new"
        assert names(tmp_path) == ["folder"]

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
    def test_failure_leaves_what_was_there(self, fill, tmp_path, error):
        with pytest.raises(error):
            fill("new", error)
        assert names(tmp_path) == []
        fill("old")
        with pytest.raises(error):
            fill("new", error)
        assert names(tmp_path) == ["folder"]
        assert (tmp_path / "folder" / "file").read_text() == "old"

    @pytest.mark.parametrize("function", ["fsync", "replace"])
    def test_a_full_disk_leaves_what_was_there(self, fill, old, tmp_path, monkeypatch, function):
        real = getattr(os, function)

        def fail(first, *others):
            if function == "fsync" or str(first).endswith(".new"):
                raise OSError("No space left on device")
            real(first, *others)

        with monkeypatch.context() as patch:
            patch.setattr(os, function, fail)
            with pytest.raises(OSError, match="No space left"):
                fill("new")
        assert (old / "file").read_text() == "old"
        assert names(tmp_path) == ["folder"]

    def test_what_cannot_be_brought_back_is_kept(self, fill, old, tmp_path, monkeypatch):
        real, calls = os.replace, []

        def fail(*paths):
            calls.append(paths)
            if len(calls) > 1:
                raise OSError("Input/output error")
            real(*paths)

        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="Input/output error"):
            fill("new")
        (kept,) = tmp_path.iterdir()
        assert (kept / "file").read_text() == "old"

    def test_two_at_a_time(self, fill, tmp_path):
        with atomic_folder(tmp_path / "folder") as new:
            (new / "file").write_text("later")
            fill("sooner")
        assert (tmp_path / "folder" / "file").read_text() == "later"
        assert names(tmp_path) == ["folder"]

    def test_every_file_is_flushed(self, fill, tmp_path, monkeypatch):
        flushed = set()
        monkeypatch.setattr(os, "fsync", lambda descriptor: flushed.add(os.fstat(descriptor).st_ino))
        fill("text")
        paths = [tmp_path, tmp_path / "folder", *(tmp_path / "folder").rglob("*")]
        assert flushed == {path.stat().st_ino for path in paths}

    def test_permissions_are_those_of_any_folder(self, fill, tmp_path):
        (tmp_path / "plain").mkdir()
        (tmp_path / "plain" / "file").touch()
        with atomic_folder(tmp_path / "folder") as new:
            os.close(os.open(new / "file", os.O_CREAT, 0o600))
        for name in ("", "file"):
            modes = {stat.S_IMODE((tmp_path / folder / name).stat().st_mode) for folder in ("plain", "folder")}
            assert len(modes) == 1

    def test_a_link_is_followed(self, old, tmp_path):
        (tmp_path / "link").symlink_to("folder")
        with atomic_folder(tmp_path / "link") as new:
            (new / "file").write_text("new")
        assert (tmp_path / "link").is_symlink()
        assert (old / "file").read_text() == "new"

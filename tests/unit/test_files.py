"""Files and folders appear whole or not at all."""

import errno
import os
import stat
import tempfile
from pathlib import Path

import numpy as np
import pytest
from safetensors import SafetensorError

from trellex import temporaries
from trellex.files import (
    FullDiskError,
    atomic_folder,
    atomic_writer,
    check_new_file,
    check_readable,
    check_writable,
)

FULL = Path("/dev/full")  # every byte that is written to it is one too many
needs_full = pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
umasks = pytest.mark.parametrize("mask", [0o022, 0o077, 0o002], ids=oct)


@pytest.fixture
def umask():
    """Sets the umask, until the test ends."""
    before = os.umask(0)
    os.umask(before)
    yield os.umask
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


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

    @umasks
    def test_permissions_are_those_of_any_file(self, tmp_path, umask, mask):
        umask(mask)
        with atomic_writer(tmp_path / "file"):
            pass
        assert mode(tmp_path / "file") == 0o666 & ~mask


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
    @pytest.fixture(autouse=True, params=["at once", "by renaming"])
    def way(self, request, monkeypatch):
        """How folders change places; the test fails if this system cannot do it at once but should."""
        if request.param == "by renaming":
            monkeypatch.setattr(temporaries, "_exchange", lambda *folders: False)
        return request.param

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

    @pytest.mark.parametrize("place", ["os.fsync", "os.replace", "temporaries._exchange"])
    def test_a_full_disk_leaves_what_was_there(self, fill, old, tmp_path, monkeypatch, place, way):
        real = os.replace

        def fail(first, *others):
            if place != "os.replace" or str(first).endswith(".new"):
                raise OSError("No space left on device")
            real(first, *others)

        if place == "os.replace" and way == "at once":
            pytest.skip("nothing is renamed")
        with monkeypatch.context() as patch:
            patch.setattr(f"trellex.{'files.' if place.startswith('os') else ''}{place}", fail)
            with pytest.raises(OSError, match="no space left"):
                fill("new")
        assert (old / "file").read_text() == "old"
        assert names(tmp_path) == ["folder"]

    @pytest.mark.parametrize("way", ["by renaming"], indirect=True)
    def test_what_cannot_be_brought_back_is_kept(self, fill, old, tmp_path, monkeypatch):
        real, calls = os.replace, []

        def fail(*paths):
            calls.append(paths)
            if len(calls) > 1:
                raise OSError("Input/output error")
            real(*paths)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", fail)
            with pytest.raises(OSError, match="Input/output error"):
                fill("new")
        (kept,) = tmp_path.iterdir()
        assert (kept / "file").read_text() == "old"
        with pytest.raises(KeyboardInterrupt):
            fill("new", KeyboardInterrupt)
        assert (old / "file").read_text() == "old"
        assert names(tmp_path) == ["folder"]

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

    @umasks
    def test_permissions_are_those_of_any_folder(self, tmp_path, umask, mask):
        umask(mask)
        with atomic_folder(tmp_path / "folder") as new:
            os.close(os.open(new / "file", os.O_CREAT, 0o600))
        assert mode(tmp_path / "folder") == 0o777 & ~mask
        assert mode(tmp_path / "folder" / "file") == 0o666 & ~mask

    def test_a_link_is_followed(self, old, tmp_path):
        (tmp_path / "link").symlink_to("folder")
        with atomic_folder(tmp_path / "link") as new:
            (new / "file").write_text("new")
        assert (tmp_path / "link").is_symlink()
        assert (old / "file").read_text() == "new"


class TestFullDisk:
    """The message has the name that users know, whoever found that there is no room."""

    MESSAGE = r"^{}: no space left on the device; free some, or choose another place$"

    @needs_full
    def test_names_a_device(self):
        with pytest.raises(FullDiskError, match=self.MESSAGE.format(FULL)), atomic_writer(FULL) as file:
            file.write("text")

    @needs_full
    def test_numpy_tells_it_in_its_own_words(self, tmp_path):
        (tmp_path / "array.npy").symlink_to(FULL)
        with (
            pytest.raises(FullDiskError, match=self.MESSAGE.format(tmp_path / "folder")),
            atomic_folder(tmp_path / "folder"),
        ):
            np.save(tmp_path / "array.npy", np.zeros(1 << 20))

    @pytest.mark.parametrize(
        "error",
        [
            OSError(errno.ENOSPC, "No space left on device"),
            OSError(errno.EDQUOT, "Disk quota exceeded"),
            OSError("512 requested and 0 written"),
            SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)"),
        ],
        ids=str,
    )
    def test_of_a_file_in_a_folder_names_the_folder(self, tmp_path, monkeypatch, error):
        monkeypatch.chdir(tmp_path)
        with (
            pytest.raises(FullDiskError, match=self.MESSAGE.format("folder")),
            atomic_folder("folder") as new,
            atomic_writer(new / "file"),
        ):
            raise error
        assert names(tmp_path) == []

    def test_other_errors_stay_what_they_are(self, tmp_path):
        error = OSError(errno.EIO, "Input/output error")
        with pytest.raises(OSError, match="Input/output error") as raised, atomic_folder(tmp_path / "folder"):
            raise error
        assert raised.value is error


@pytest.mark.parametrize("write", [atomic_writer, atomic_folder])
def test_a_link_that_leads_to_itself(tmp_path, write):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match=r"loop(: is a link that leads to itself; remove it|')"), write(tmp_path / "loop"):
        pass
    assert names(tmp_path) == ["loop"]


class TestCheckReadable:
    def test_a_file(self, tmp_path):
        (tmp_path / "file").touch()
        check_readable(tmp_path / "file")

    def test_what_is_none(self, tmp_path):
        with pytest.raises(IsADirectoryError, match=f"{tmp_path}: is a folder; give the name of a file"):
            check_readable(tmp_path)
        with pytest.raises(FileNotFoundError, match="none: there is no such file"):
            check_readable(tmp_path / "none")

    def test_one_that_may_not_be_read(self, tmp_path, monkeypatch):
        (tmp_path / "file").touch()
        monkeypatch.setattr(os, "access", lambda path, kind: False)  # root may read all
        with pytest.raises(
            PermissionError, match=r"file: permission denied; its owner can allow it with `chmod a\+rX`"
        ):
            check_readable(tmp_path / "file")


class TestCheckWritable:
    @pytest.fixture
    def read_only(self, monkeypatch):
        """Makes all folders read-only: to root none is by its mode."""

        def refuse(dir):
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(dir))

        monkeypatch.setattr(tempfile, "TemporaryFile", refuse)

    def test_leaves_no_trace(self, tmp_path):
        check_writable(tmp_path)
        check_writable(tmp_path / "some" / "folder")
        check_new_file(tmp_path / "file")
        assert names(tmp_path) == []

    def test_names_the_folder_that_is_there(self, tmp_path, read_only):
        for folder in (tmp_path, tmp_path / "some" / "folder"):
            with pytest.raises(OSError, match=rf"^{tmp_path}: cannot be written \(Read-only file system\); choose an"):
                check_writable(folder)

    def test_a_file_in_the_way(self, tmp_path):
        (tmp_path / "file").touch()
        for folder in (tmp_path / "file", tmp_path / "file" / "folder"):
            with pytest.raises(NotADirectoryError, match=f"^{tmp_path / 'file'}: is a file, not a folder"):
                check_writable(folder)

    @pytest.mark.parametrize("write", [check_new_file, lambda path: atomic_writer(path).__enter__()])
    def test_of_a_file(self, tmp_path, write, read_only):
        with pytest.raises(OSError, match=f"^{tmp_path}: cannot be written"):
            write(tmp_path / "file")
        with pytest.raises(FileNotFoundError, match="there is no folder"):
            write(tmp_path / "none" / "file")
        with pytest.raises(IsADirectoryError, match="is a folder"):
            write(tmp_path)

    def test_a_device_is_not_replaced(self, read_only):
        check_new_file(os.devnull)

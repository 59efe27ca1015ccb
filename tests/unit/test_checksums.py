"""What was compared with its checksum is not compared again until it changes."""

import os

import pytest

from trellex import checksums
from trellex.checksums import check_sums_once, sha256


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two files that are large, and were written long ago, as far as checksums know."""
    monkeypatch.setattr(checksums, "QUICK", 5)
    monkeypatch.setattr(checksums, "SETTLED", -(10**12))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "files").mkdir()
    for name in ("one", "two"):
        (tmp_path / "files" / name).write_text(name)
    return tmp_path / "files"


@pytest.fixture
def check(folder, monkeypatch):
    """Checks both files; returns how many were read."""
    sums, read = {path.name: sha256(path) for path in sorted(folder.iterdir())}, []

    def read_and_count(path):
        read.append(path)
        return sha256(path)

    monkeypatch.setattr(checksums, "sha256", read_and_count)

    def check():
        read.clear()
        check_sums_once(folder, sums, "copy it again")
        return len(read)

    return check


def test_files_are_read_once(check):
    assert [check() for _ in range(3)] == [2, 0, 0]


@pytest.mark.parametrize("change", ["written", "replaced", "written and dated back"])
def test_a_change_is_noticed(check, folder, change):
    path = folder / "two"
    before = path.stat()
    check()
    if change == "replaced":
        (folder / "new").write_text("twp")
        (folder / "new").replace(path)
    else:
        path.write_text("twp")
    if change == "written and dated back":
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    for _ in range(2):
        with pytest.raises(ValueError, match=f"{path}: damaged, its checksum differs; copy it again"):
            check()
    path.write_text("two")
    assert [check(), check()] == [2, 0]


def test_a_touched_file_is_read_again(check, folder):
    check()
    os.utime(folder / "one", ns=(1, 1))
    assert [check(), check()] == [2, 0]


def test_one_that_is_missing(check, folder):
    check()
    (folder / "one").unlink()
    with pytest.raises(ValueError, match=f"{folder / 'one'}: missing, or not a file; copy it again"):
        check()


def test_files_that_were_just_written_are_read_again(check, monkeypatch):
    """They may be written once more at what the clock says is the same time."""
    monkeypatch.setattr(checksums, "SETTLED", 10**12)
    assert [check(), check()] == [2, 2]


def test_small_ones_are_read_always(check, monkeypatch):
    monkeypatch.setattr(checksums, "QUICK", 6)
    assert [check(), check()] == [2, 2]


def test_a_file_that_changes_while_it_is_read_is_not_taken_for_verified(check, folder, monkeypatch):
    read = checksums.sha256

    def read_and_change(path):
        found = read(path)
        os.utime(path, ns=(1, 1))
        return found

    with monkeypatch.context() as patched:
        patched.setattr(checksums, "sha256", read_and_change)
        check()
    assert check() == 2


@pytest.mark.parametrize("cache", ["/dev/null", "not/absolute", ""])
def test_without_a_cache(check, monkeypatch, tmp_path, cache):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    monkeypatch.setenv("HOME", "/dev/null")
    assert [check(), check()] == [2, 2]
    assert not (tmp_path / "not").exists()

"""Nothing of a process that lives is swept, nothing of one that was killed is left, and folders change places whole."""

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from trellex import locks, temporaries
from trellex.files import atomic_folder, atomic_writer
from trellex.temporaries import make_folder, remove, replace_folder, sweep, temporary

PRELUDE = """
import os, signal, sys
from pathlib import Path
from trellex import temporaries
from trellex.files import atomic_folder, atomic_writer

place = Path(sys.argv[1])
kill = lambda *arguments, **options: os.kill(os.getpid(), signal.SIGKILL)
"""
KILLED = {
    "in a file": "with atomic_writer(place / 'file') as file: file.write('half'); kill()",
    "in a folder": "with atomic_folder(place / 'folder') as new: (new / 'file').write_text('half'); kill()",
    "before the places change": """
temporaries._exchange = kill
with atomic_folder(place / 'folder') as new: (new / 'file').write_text('new')""",
    "between two renames": """
temporaries._exchange = lambda *folders: False
real, calls = os.replace, []
def replace(*paths):
    calls.append(paths)
    kill() if len(calls) == 2 else real(*paths)
os.replace = replace
with atomic_folder(place / 'folder') as new: (new / 'file').write_text('new')""",
    "after two renames": """
temporaries._exchange = lambda *folders: False
real, calls = os.replace, []
def replace(*paths):
    calls.append(paths)
    kill() if len(calls) == 3 else real(*paths)
os.replace = replace
with atomic_folder(place / 'folder') as new: (new / 'file').write_text('new')""",
    "in the removal": """
temporaries.shutil.rmtree = lambda path, **options: (os.unlink(Path(path) / 'file'), kill())
with atomic_folder(place / 'folder') as new: (new / 'file').write_text('new')""",
}
TURNS = """
import sys
from pathlib import Path
from trellex import temporaries
from trellex.files import atomic_folder, atomic_writer

if sys.argv[2] == "by renaming":
    temporaries._exchange = lambda *folders: False
for turn in range(150):
    with atomic_folder(Path(sys.argv[1]) / "folder") as new:
        for name in "abc":
            (new / name).write_text(f"{sys.argv[3]} {turn}")
    with atomic_writer(Path(sys.argv[1]) / "file") as file:
        file.write(f"{sys.argv[3]} {turn}\\n" * 100)
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def fill(folder, text):
    with atomic_folder(folder) as new:
        (new / "file").write_text(text)


def write(path, text):
    with atomic_writer(path) as file:
        file.write(text)


def interrupted_at(line, path):
    """Writes a file, interrupted at a line on the way to its block, by number; whether there is such a line."""
    lines = iter(range(line))
    modules = {temporaries.__file__, locks.__file__}

    def trace(frame, event, _):
        if frame.f_code.co_filename not in modules:
            return None
        if event == "line" and next(lines, None) is None:
            sys.settrace(None)
            raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        with atomic_writer(path) as file:
            sys.settrace(None)
            file.write("whole")
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


def test_a_signal_that_comes_as_soon_as_the_file_is_there_leaves_nothing(tmp_path):
    line = 0
    while interrupted_at(line, tmp_path / "file"):
        assert names(tmp_path) == [], line
        line += 1
    assert line > 20
    assert names(tmp_path) == ["file"]


class TestKill:
    @pytest.fixture
    def killed(self, tmp_path):
        """Lets a process be killed at a place, where a folder and a file were before."""
        fill(tmp_path / "folder", "old")
        write(tmp_path / "file", "old")

        def killed(where):
            result = subprocess.run([sys.executable, "-c", PRELUDE + KILLED[where], str(tmp_path)], timeout=60)
            assert result.returncode == -signal.SIGKILL
            assert names(tmp_path) != ["file", "folder"]

        return killed

    @pytest.mark.parametrize("where", KILLED)
    def test_the_next_who_writes_leaves_a_whole_result_and_no_trace(self, killed, tmp_path, where):
        killed(where)
        fill(tmp_path / "folder", "newer")
        write(tmp_path / "file", "newer")
        assert (tmp_path / "folder" / "file").read_text() == (tmp_path / "file").read_text() == "newer"
        assert names(tmp_path) == ["file", "folder"]

    @pytest.mark.parametrize("where", KILLED)
    def test_what_was_there_or_what_is_new_is_whole_after_a_sweep(self, killed, tmp_path, where):
        killed(where)
        sweep(tmp_path)
        is_new = where in ("after two renames", "in the removal")
        assert (tmp_path / "folder" / "file").read_text() == ("new" if is_new else "old")
        assert (tmp_path / "file").read_text() == "old"
        assert names(tmp_path) == ["file", "folder"]

    def test_a_half_removed_folder_never_comes_back(self, tmp_path):
        fill(tmp_path / "folder", "old")
        half = "temporaries.shutil.rmtree = kill\ntemporaries.remove(place / 'folder')"
        subprocess.run([sys.executable, "-c", PRELUDE + half, str(tmp_path)], timeout=60)
        assert names(tmp_path) != []
        assert not (tmp_path / "folder").exists()
        sweep(tmp_path)
        assert names(tmp_path) == []


class TestSweep:
    @pytest.mark.parametrize("make", [Path.mkdir, partial(Path.touch, exist_ok=False)])
    def test_what_is_held_is_spared(self, tmp_path, make):
        with temporary(tmp_path / "name", make) as new, temporary(tmp_path / "name", make) as other:
            sweep(tmp_path)
            sweep(tmp_path, "name")
            assert sorted((new.name, other.name)) == names(tmp_path)
        assert names(tmp_path) == []

    def test_of_one_name_alone(self, tmp_path):
        left = [".name.0123abcd.new", ".name.0123abcd.old", ".name.0123abcd.tmp", ".other.0123abcd.new"]
        for name in left:
            (tmp_path / name).mkdir()
        (tmp_path / "name").mkdir()
        sweep(tmp_path, "name")
        assert names(tmp_path) == [".other.0123abcd.new", "name"]

    @pytest.mark.parametrize(
        "name",
        [
            *(".name.new", ".name.0123abc.new", ".name.0123abcde.new", ".name.0123ABCD.new", "name.0123abcd.new"),
            *(".name.0123abcd.newer", "..0123abcd.new", ".name.0123abcd", ".name.0123abcd.new~"),
        ],
    )
    def test_other_names_are_spared(self, tmp_path, name):
        (tmp_path / name).write_text("a user's")
        sweep(tmp_path)
        sweep(tmp_path, "name")
        assert names(tmp_path) == [name]

    def test_links_and_pipes_are_spared(self, tmp_path):
        (tmp_path / "other").mkdir()
        (tmp_path / ".link.0123abcd.new").symlink_to("other")
        os.mkfifo(tmp_path / ".pipe.0123abcd.new")
        sweep(tmp_path)
        assert names(tmp_path) == [".link.0123abcd.new", ".pipe.0123abcd.new", "other"]

    def test_where_nobody_knows_who_lives_nothing_is_swept(self, tmp_path, monkeypatch):
        monkeypatch.setattr(locks, "fcntl", None)
        with temporary(tmp_path / "name", Path.mkdir) as new:
            sweep(tmp_path)
            assert names(tmp_path) == [new.name]
        assert names(tmp_path) == []

    def test_what_is_swept_before_it_is_held_is_made_again(self, tmp_path):
        made, sweepers = [], []

        def make(path):
            path.mkdir()
            made.append(path)
            if len(made) == 1:
                sweep(tmp_path)
            elif len(made) == 2:  # is just about to be swept
                sweepers.append(locks.Lock.take(path))

        with temporary(tmp_path / "name", make) as new:
            assert (len(made), new) == (3, made[2])
        sweepers[0].release()


@pytest.mark.parametrize("way", ["at once", "by renaming"])
def test_processes_that_write_the_same_end_with_one_whole_result(tmp_path, way):
    command = [sys.executable, "-c", TURNS, str(tmp_path), way]
    writers = [subprocess.Popen([*command, name]) for name in ("one", "other", "third")]
    assert [writer.wait(timeout=120) for writer in writers] == [0, 0, 0]
    assert names(tmp_path) == ["file", "folder"]
    assert len({(tmp_path / "folder" / name).read_text() for name in "abc"}) == 1
    assert len(set((tmp_path / "file").read_text().splitlines())) == 1


def test_folders_change_places_at_once(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    replace_folder(tmp_path / "one", tmp_path / "other")
    assert names(tmp_path / "one") == ["other"]
    assert names(tmp_path / "other") == ["one"]


def test_a_system_that_cannot_exchange_is_no_error(tmp_path, monkeypatch):
    import ctypes

    (tmp_path / "one").mkdir()
    (tmp_path / "other").mkdir()
    for library in (lambda *arguments, **options: object(), ctypes.CDLL):
        monkeypatch.setattr(ctypes, "CDLL", library)
        monkeypatch.setattr(temporaries, "_NO_EXCHANGE", (2,))  # as if "no such file" meant that
        assert not temporaries._exchange(tmp_path / "one", tmp_path / "none")


def test_new_folders_and_renamed_files_are_brought_to_the_disk(tmp_path, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: flushed.append(os.fstat(descriptor).st_ino))
    make_folder(tmp_path / "a" / "b")
    make_folder(tmp_path / "a" / "b")
    assert flushed == [tmp_path.stat().st_ino, (tmp_path / "a").stat().st_ino]
    write(tmp_path / "a" / "file", "text")
    assert flushed[2:] == [(tmp_path / "a" / "file").stat().st_ino, (tmp_path / "a").stat().st_ino]
    remove(tmp_path / "a" / "b")
    assert flushed[4:] == [(tmp_path / "a").stat().st_ino]


def test_what_is_not_there_need_not_be_removed(tmp_path):
    remove(tmp_path / "none")
    assert names(tmp_path) == []

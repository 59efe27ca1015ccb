"""One process at a time works in a folder, and a lock ends with its process."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from trellex import locks
from trellex.locks import Lock, check_free, exclusive

HOLD = """
import os, sys, time
from pathlib import Path
from trellex.locks import exclusive

with exclusive(Path(sys.argv[1])):
    if os.fork() == 0:
        os.close(1)  # the child outlives its parent
        time.sleep(600)
        os._exit(0)
    print(os.getpid(), flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """A process of its own group that holds the lock of the folder, and has forked another."""
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            assert int(process.stdout.readline()) == process.pid
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_in_use_is_an_error_at_once_that_names_the_folder(holder, tmp_path):
    message = f"^{tmp_path}: another process works in this folder; wait for it to end, or choose another output$"
    with pytest.raises(BlockingIOError, match=message), exclusive(tmp_path):
        raise AssertionError
    with pytest.raises(BlockingIOError, match=message):
        check_free(tmp_path)


def test_a_folder_that_is_free_stays_as_it_is(tmp_path):
    check_free(tmp_path)
    check_free(tmp_path / "none")
    assert list(tmp_path.iterdir()) == []
    with exclusive(tmp_path):
        pass
    check_free(tmp_path)
    looking = Lock.take(tmp_path / "lock", shared=True)
    check_free(tmp_path)
    looking.release()


def test_who_waits_is_told_and_has_it_after_a_kill_though_a_child_is_left(holder, tmp_path):
    told = []

    def wait():
        told.append("waiting")
        holder.kill()

    with exclusive(tmp_path, wait) as lock:
        assert (told, lock.is_certain) == (["waiting"], True)
    assert os.getpgid(0) != holder.pid
    os.killpg(holder.pid, 0)  # the child is there


def test_it_is_free_after_the_block_and_after_an_error(tmp_path):
    with exclusive(tmp_path):
        pass
    with pytest.raises(KeyError), exclusive(tmp_path):
        raise KeyError
    with exclusive(tmp_path):
        pass


def test_a_program_that_is_started_has_it_only_if_told(tmp_path):
    for passed in (False, True):
        with exclusive(tmp_path) as lock:
            descriptors = [lock.descriptor] if passed else []
            program = subprocess.Popen(["sleep", "600"], pass_fds=descriptors)
        again = Lock.take(tmp_path / "lock")
        program.kill()
        program.wait()
        assert (again is None) == passed
        if again:
            again.release()


def test_what_a_forked_process_lets_go_of_is_not_what_it_locks_itself(tmp_path):
    """Which has the same descriptor."""
    (tmp_path / "one").touch()
    (tmp_path / "other").touch()
    one = Lock.take(tmp_path / "one")
    child = os.fork()
    if child == 0:
        other = Lock.take(tmp_path / "other")
        one.release()
        os._exit(0 if other.is_of(tmp_path / "other") and Lock.take(tmp_path / "other") is None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert Lock.take(tmp_path / "one") is None
    one.release()


def test_a_lock_knows_what_it_is_of(tmp_path):
    path = tmp_path / "file"
    path.touch()
    lock = Lock.take(path)
    assert Lock.take(path) is None
    assert lock.is_of(path)
    path.unlink()
    path.touch()
    assert not lock.is_of(path)
    assert not lock.is_of(tmp_path / "none")
    lock.release()


def test_without_locks_nothing_is_held_and_nobody_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "fcntl", None)
    with exclusive(tmp_path) as one, exclusive(tmp_path) as other:
        assert not one.is_certain
        assert not other.is_of(tmp_path / "lock")


def test_a_file_system_that_keeps_no_locks(tmp_path, monkeypatch):
    def fail(*arguments):
        raise OSError("No locks available")

    monkeypatch.setattr(locks.fcntl, "flock", fail)
    with exclusive(tmp_path) as lock:
        assert not lock.is_certain


def test_a_folder_that_comes_while_it_is_looked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(Path, "is_dir", lambda _: False)  # as it was a moment ago
    lock = Lock.take(tmp_path)
    assert lock.is_of(tmp_path)
    lock.release()

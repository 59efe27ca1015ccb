"""Standard streams: all lines arrive or the command ends with an error, and there never is a traceback."""

import fcntl
import os
import select
import time
from pathlib import Path

import pytest

MODELS = Path(__file__).parents[1] / "models"
EXPORT = MODELS / "export"
LINES = "".join(f"{number} a\n" for number in range(1500))


@pytest.fixture
def narrow_pipe():
    """Both ends of a pipe of one page that does not wait for its reader."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(writing, False)
    yield reading, writing
    os.close(reading)


def read_slowly(descriptor):
    """All that comes, as a reader would who falls behind."""
    found = b""
    while select.select([descriptor], [], [], 60)[0] and (data := os.read(descriptor, 1000)):
        found += data
        time.sleep(0.0005)
    return found.decode()


@pytest.mark.parametrize(
    "arguments", [("translate", EXPORT), ("translate", EXPORT, "--json"), ("translate", "--help"), ("--help",)], ids=str
)
def test_a_pipe_that_does_not_block_gets_everything(process, tmp_path, narrow_pipe, arguments):
    (tmp_path / "lines").write_text(LINES)
    if EXPORT in arguments:
        arguments = (*arguments, tmp_path / "lines")
    expected = process(*arguments).stdout
    assert len(expected) > 4096
    running = process.start(*arguments, stdout=narrow_pipe[1])
    os.close(narrow_pipe[1])
    assert read_slowly(narrow_pipe[0]) == expected
    assert process.finish(running).exit_code == 0


COMMANDS = [
    *(("--help",), ("--version",), ("translate", "--help")),
    *(("info", EXPORT), ("info", EXPORT, "--json"), ("translate", EXPORT)),
]


def in_shell(process, redirection, *arguments):
    """Runs a command with what a shell makes of a redirection."""
    shell = ["bash", "-c", f'"$0" "$@" {redirection}']
    return process(*arguments, before=shell, text="a\n")


@pytest.mark.parametrize("arguments", COMMANDS, ids=str)
class TestLostOutput:
    def test_a_closed_stdout(self, process, arguments):
        result = in_shell(process, ">&-", *arguments)
        assert result.exit_code == 1
        assert result.stderr.startswith("error: stdout is closed")
        assert result.stderr.count("\n") == 1

    def test_a_full_disk(self, process, arguments):
        result = in_shell(process, "> /dev/full", *arguments)
        assert result.exit_code == 1
        assert result.stderr == "error: stdout: no space left on the device; free some, or choose another place\n"

    def test_a_reader_that_left(self, process, arguments):
        running = process.start(*arguments)
        running.stdout.close()
        running.stdin.write(b"a\n")
        running.stdin.close()
        assert running.stderr.read() == b""
        assert running.wait(timeout=60) == 1

    def test_all_streams_closed(self, process, arguments):
        assert in_shell(process, "<&- >&- 2>&-", *arguments).exit_code == 1


def test_a_closed_stdin(process):
    result = in_shell(process, "<&-", "translate", EXPORT)
    assert (result.exit_code, result.stderr) == (1, "error: stdin is closed; name a file to translate\n")


def test_a_closed_stdout_does_not_matter_to_what_goes_to_a_file(process, tmp_path):
    result = in_shell(process, ">&-", "translate", EXPORT, "--output", tmp_path / "out")
    assert (result.exit_code, result.stderr) == (0, "")
    assert (tmp_path / "out").read_text().count("\n") == 1

"""`trellex translate MODEL IN OUT --shard 3/16`: begun, killed, gone on with, by one process or by several."""

import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

MODEL = Path(__file__).parents[1] / "models" / "export"
LINES = 12_000


@pytest.fixture(scope="module")
def text(repeated):
    return repeated(LINES)


@pytest.fixture(scope="module")
def short(text):
    """Its first lines."""
    path = text.with_name("short.en")
    path.write_text("".join(text.read_text(encoding="utf-8").splitlines(keepends=True)[:50]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def undisturbed(text, process):
    """All shards by one process that nobody ends."""
    folder = text.with_name("undisturbed")
    assert process("translate", MODEL, text, folder, "--shard", "all/4", "--beam", 3).exit_code == 0
    return contents(folder)


def contents(folder):
    """What is in a folder and what is in that, hidden files too, but for locks and times."""
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file() and not path.name.endswith("lock"))
    found = {str(path.relative_to(folder)): path.read_bytes() for path in paths}
    timed = ("seconds", "cpu_seconds", "checksum")
    return {
        name: {key: value for key, value in json.loads(data).items() if key not in timed} if "json" in name else data
        for name, data in found.items()
    }


def hidden(folder):
    return list(folder.glob(".shard-*")) if folder.exists() else []


def begin(process, text, folder, *options, until):
    """Starts to translate all shards and waits until something is the case."""
    running = process.start("translate", MODEL, text, folder, "--shard", "all/4", "--beam", 3, *options)
    deadline = time.monotonic() + 60
    while not until(folder) and time.monotonic() < deadline and running.poll() is None:
        time.sleep(0.002)
    assert running.poll() is None
    return running


def second_has_begun(folder):
    return any("00002" in path.name for path in hidden(folder))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_one_that_is_ended_loses_the_shard_in_work_alone(process, text, undisturbed, tmp_path, number):
    folder = tmp_path / "out"
    running = begin(process, text, folder, until=second_has_begun)
    running.send_signal(number)
    ended = process.finish(running)
    assert ended.exit_code == (-number if number == signal.SIGKILL else 128 + number)
    assert sorted(path.name for path in folder.glob("shard-*")) == ["shard-00001-of-00004.txt"]
    assert bool(hidden(folder)) == (number == signal.SIGKILL)
    result = process("translate", MODEL, text, folder, "--shard", "all/4", "--beam", 3)
    assert result.exit_code == 0
    assert "1 of 4 shards are finished already" in result.stderr
    assert contents(folder) == undisturbed


def test_several_processes_share_the_work(process, text, undisturbed, tmp_path):
    command = ("translate", MODEL, text, tmp_path / "out", "--shard", "all/4", "--beam", 3)
    running = [process.start(*command) for _ in range(2)]
    results = [process.finish(each) for each in running]
    assert [result.exit_code for result in results] == [0, 0], results
    assert contents(tmp_path / "out") == undisturbed


def test_a_shard_that_another_process_translates_is_refused(process, text, tmp_path):
    running = begin(process, text, tmp_path / "out", until=second_has_begun)
    running.send_signal(signal.SIGSTOP)
    result = process("translate", MODEL, text, tmp_path / "out", "--shard", "2/4", "--beam", 3)
    running.kill()
    running.communicate()
    assert result.exit_code == 1
    assert "shard-00002-of-00004.txt: another process translates this shard" in result.stderr


def test_shards_by_number_are_the_lines_in_order(trellex, short, tmp_path):
    for number in (2, 1, 3):
        assert trellex("translate", "--model", MODEL, short, tmp_path / "out", "--shard", f"{number}/3").exit_code == 0
    files = [(tmp_path / "out" / f"shard-0000{number}-of-00003.txt").read_text() for number in (1, 2, 3)]
    assert [text.count("\n") for text in files] == [16, 17, 17]
    whole = trellex("translate", MODEL, short, "--batch-tokens", 1).stdout  # in 8 bits what is beside a line matters
    again = trellex("translate", MODEL, short, tmp_path / "again", "--shard", "all/3", "--batch-tokens", 1)
    assert again.exit_code == 0
    assert "".join(path.read_text() for path in sorted((tmp_path / "again").glob("shard-*"))) == whole


def test_what_cannot_be_translated_is_told_and_counted(trellex, tmp_path):
    (tmp_path / "bad.en").write_bytes(b"where is the station ?\ncaf\xe9\n")
    command = ("translate", MODEL, tmp_path / "bad.en", tmp_path / "out", "--shard", "all/2")
    for _ in range(2):  # also when there is nothing left to do
        result = trellex(*command)
        assert result.exit_code == 1
        assert "1 of 2 lines could not be translated and are empty" in result.stderr
    assert (tmp_path / "out" / "shard-00002-of-00002.txt").read_text() == "\n"
    record = json.loads((tmp_path / "out" / "_trellex" / "00002.json").read_text())
    assert record["untranslated"] == 1
    assert f"{tmp_path / 'bad.en'} line 2: not valid UTF-8" in record["problems"][0]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--shard", "17/16"], "16 shards are numbered 1 to 16, got 17"),
        (["--shard", "all", "--output", "x"], "output: shards go into a folder, which is the last argument"),
        (["--shard", "all", "--alignments", "x"], "alignments: shards go into a folder"),
        (["--shard", "all", "--column", "text"], "has lines, no columns"),
        (["--shard", "all", "--sample"], "seed: a shard that begins again is to become the same; add --seed"),
        (["--workers", "2"], "workers: is for --ray; add that"),
        (["--column", "text"], "column: is of Parquet, which is translated in shards; add --shard all"),
    ],
)
def test_options_that_do_not_go_together(trellex, short, tmp_path, options, problem):
    result = trellex("translate", MODEL, short, tmp_path / "out", *options)
    assert result.exit_code == 1
    assert problem in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_folder_for_translations_without_shards(trellex, short, tmp_path):
    for place in (tmp_path / "none", tmp_path):
        result = trellex("translate", MODEL, short, place)
        assert f"{place}: is no file of text; add --shard all to translate into a folder, or --output" in result.stderr


def test_one_place_too_few(trellex, short):
    result = trellex("translate", MODEL, short, "--shard", "1/2")
    assert f"give text, a file or a folder, and a folder for translations: IN OUT; got {short}" in result.stderr


class TestModelOption:
    def test_all_arguments_are_text(self, trellex, short):
        expected = trellex("translate", MODEL, short, short).stdout
        result = trellex("translate", "--model", MODEL, short, short)
        assert result.stdout == expected
        assert result.stdout.count("\n") == 100

    def test_stdin(self, process):
        result = process("translate", "--model", MODEL, text="where is the station ?\n")
        assert result.exit_code == 0
        assert result.stdout.endswith("。\n")

    def test_two_models(self, trellex, short):
        result = trellex("translate", "--model", MODEL, MODEL, short)
        assert f"{MODEL}: is an exported model, but with --model {MODEL} all arguments are text" in result.stderr

    def test_none(self, trellex, short):
        assert "model: give an exported model, a run or a checkpoint" in trellex("translate").stderr
        assert f"{short}: is a file, no model; give the model before it" in trellex("translate", short).stderr


def test_a_read_only_folder(process, short, tmp_path):
    if os.geteuid() == 0 and not shutil.which("setpriv"):
        pytest.skip("root may write everywhere")
    before = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    command = ("translate", MODEL, short, tmp_path / "out", "--shard")
    assert process(*command, "1/2").exit_code == 0
    for folder in (tmp_path / "out", tmp_path / "out" / "_trellex"):
        folder.chmod(0o555)
    finished, other = process(*command, "1/2", before=before), process(*command, "2/2", before=before)
    (tmp_path / "out" / "_trellex").chmod(0o755)
    (tmp_path / "out").chmod(0o755)
    assert finished.exit_code == 0, finished.stderr
    assert other.exit_code == 1
    assert "Traceback" not in other.stderr
    assert "permission denied" in other.stderr
    (tmp_path / "empty").mkdir(mode=0o555)
    new = process("translate", MODEL, short, tmp_path / "empty", "--shard", "1/2", before=before)
    assert "empty: cannot be written (Permission denied); choose another place" in new.stderr

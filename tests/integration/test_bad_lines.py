"""Lines that cannot be translated are reported and left empty; the others are translated."""

import json

import pytest

BAD = b"caf\xe9\n", b"red \x1b[31m\n", b"the " * 100_000 + b"\n"
REASONS = "not valid UTF-8", "control character U+001B", "100,000 tokens"


@pytest.fixture
def mixed(tmp_path):
    """Three good lines with a bad one before, between and behind."""
    good = b"where is the station ?\n"
    (tmp_path / "mixed.en").write_bytes(BAD[0] + good + BAD[1] + good + good + BAD[2])
    return tmp_path / "mixed.en"


def test_the_rest_is_translated(trellex, trained, mixed, tmp_path):
    (tmp_path / "good.en").write_text("where is the station ?\n")
    expected = trellex("translate", trained.run, tmp_path / "good.en").stdout
    result = trellex("translate", trained.run, mixed)
    assert result.exit_code == 1
    assert result.stdout == "\n" + expected + "\n" + 2 * expected + "\n"
    for reason, number in zip(REASONS, (1, 3, 6), strict=True):
        assert any(f"{mixed} line {number}: " in line and reason in line for line in result.stderr.splitlines())
    assert "3 of 6 lines" in result.stderr


def test_json_tells_of_them(trellex, trained, mixed):
    told = [json.loads(line) for line in trellex("translate", trained.run, mixed, "--json").stdout.splitlines()]
    assert [bool(line["nbest"]) for line in told] == [False, True, False, True, True, False]
    for line, reason in zip((told[0], told[2], told[5]), REASONS, strict=True):
        assert line["translation"] == ""
        assert reason in line["error"]
    assert "error" not in told[1]


def test_the_output_file_has_as_many_lines(trellex, trained, mixed, tmp_path):
    assert trellex("translate", trained.run, mixed, "--output", tmp_path / "out.ja").exit_code == 1
    assert (tmp_path / "out.ja").read_text().count("\n") == 6


@pytest.mark.parametrize("bad", range(3))
def test_strict_stops_at_the_first(trellex, trained, tmp_path, bad):
    (tmp_path / "bad.en").write_bytes(b"the station\n" + BAD[bad] + b"the station\n")
    result = trellex("translate", trained.run, tmp_path / "bad.en", "--strict", "--output", tmp_path / "out.ja")
    assert result.exit_code == 1
    assert f"line 2: {'has ' if bad == 2 else 'holds the ' if bad == 1 else ''}{REASONS[bad]}" in result.stderr
    assert not (tmp_path / "out.ja").exists()


def test_stdin(process, trained):
    result = process("translate", trained.run, text=BAD[0] + b"the station\n")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: line 1: not valid UTF-8")
    assert result.stdout.startswith("\n")
    assert result.stdout.count("\n") == 2

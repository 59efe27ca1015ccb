"""The bar of `trellex translate`: how far it says it is."""

import gzip
import io
import lzma

import pytest
from rich.console import Console

from trellex.line_progress import LineProgress
from trellex.text.lines import read_chunks


def progress_over(files, is_shown=True):
    """What was shown in the end, and after every chunk the share of bytes that was done."""
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120)
    shares = []
    with LineProgress(console, files, is_shown) as progress:
        for chunk in read_chunks(files, amount=progress.amount):
            progress.add(chunk)
            shares.append(progress.progress.tasks[0].percentage)
    return screen.getvalue(), shares


@pytest.fixture
def text():
    """1,000 lines of one length."""
    return "".join(f"line {number:04} of the file\n" for number in range(1000)).encode()


@pytest.mark.parametrize("pack", [None, gzip.compress, lzma.compress])
def test_it_follows_the_lines_that_are_done(tmp_path, text, pack):
    name = {None: "a.en", gzip.compress: "a.en.gz", lzma.compress: "a.en.xz"}[pack]
    (tmp_path / name).write_bytes(pack(text) if pack else text)
    shown, shares = progress_over([tmp_path / name])
    assert shares == pytest.approx([6.4, 100], abs=0.1)  # the first chunk has 64 lines
    assert "100%" in shown
    assert "1,000 lines" in shown


def test_several_files_are_one(tmp_path, text):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(text)
    _, shares = progress_over([tmp_path / "a", tmp_path / "b"])
    assert shares[0] == pytest.approx(3.2, abs=0.1)
    assert shares[-1] == pytest.approx(100)


def test_nothing_is_shown_unless_asked(tmp_path, text):
    (tmp_path / "a").write_bytes(text)
    assert progress_over([tmp_path / "a"], is_shown=False)[0] == ""


def test_of_stdin_lines_alone():
    console = Console(file=io.StringIO(), force_terminal=True)
    progress = LineProgress(console, [], is_shown=True)
    assert progress.amount is None
    assert progress.progress.tasks[0].total is None

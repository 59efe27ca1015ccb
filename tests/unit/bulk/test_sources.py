"""Files of text: which there are, how many lines they have, and whether they changed."""

import gzip
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trellex.bulk import sources
from trellex.bulk.chunks import read_lines
from trellex.bulk.division import Piece
from trellex.bulk.sources import Mark, check_unchanged, find_sources, kind_of, measure_lines
from trellex.text.lines import MAX_BYTES, read_chunks

TEXTS = {
    "empty": b"",
    "one": b"a\n",
    "no last end": b"a\nb",
    "ends of Windows": b"a\r\nb\r\n",
    "empty lines": b"\n\n\n",
    "no UTF-8": b"a\ncaf\xe9\nb\n",
    "byte order mark": "\ufeffa\nb\n".encode(),
    "too long": b"a\n" + b"x" * (MAX_BYTES + 70_000) + b"\nb\n",
    "too long at the end": b"a\n" + b"x" * (MAX_BYTES + 70_000),
}


def lines_of(path):
    return [line for chunk in read_chunks([path]) for line in chunk]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_as_many_lines_are_counted_as_are_read(tmp_path, name, packed):
    path = tmp_path / ("text.gz" if packed else "text")
    path.write_bytes(gzip.compress(TEXTS[name]) if packed else TEXTS[name])
    source, _ = measure_lines(path, "text")
    assert source.rows == len(lines_of(path))
    assert source.size == path.stat().st_size


@settings(deadline=None)
@given(st.lists(st.binary(max_size=12).filter(lambda line: b"\n" not in line)), st.booleans(), st.data())
def test_reading_from_a_mark_gives_the_same_lines(tmp_path_factory, lines, has_end, data):
    path = tmp_path_factory.mktemp("marks") / "text"
    path.write_bytes(b"\n".join(lines) + (b"\n" if has_end and lines else b""))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sources, "READ_BYTES", data.draw(st.integers(1, 20)))
        source, marks = measure_lines(path, "text")
    expected = lines_of(path)
    mark = data.draw(st.sampled_from([mark for mark in marks if mark.rows <= source.rows]))
    first = data.draw(st.integers(mark.rows, source.rows))
    end = data.draw(st.integers(first, source.rows))
    found = [line for chunk in read_lines(path, Piece(0, first, end), mark) for line in chunk.lines]
    assert found == expected[first:end]
    assert marks[0] == Mark(0, 0)


class TestFind:
    def test_a_file_alone(self, tmp_path):
        (tmp_path / "a.en").touch()
        assert find_sources(tmp_path / "a.en") == {"a.en": tmp_path / "a.en"}

    def test_a_folder_in_the_order_of_names(self, tmp_path):
        (tmp_path / "part=1").mkdir()
        (tmp_path / "_temporary").mkdir()
        for name in ("b.txt", "a.txt.gz", "part=1/c", ".hidden", "_SUCCESS", "_temporary/d"):
            (tmp_path / name).touch()
        assert list(find_sources(tmp_path)) == ["a.txt.gz", "b.txt", "part=1/c"]

    def test_links_are_followed(self, tmp_path):
        for name in ("text", "elsewhere"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "a").touch()
        (tmp_path / "text" / "link").symlink_to(tmp_path / "elsewhere")
        assert list(find_sources(tmp_path / "text")) == ["a", "link/a"]

    def test_a_link_to_a_folder_that_holds_it(self, tmp_path):
        (tmp_path / "text" / "part").mkdir(parents=True)
        (tmp_path / "text" / "part" / "link").symlink_to(tmp_path / "text")
        with pytest.raises(ValueError, match="link: is a link to a folder that it lies in; remove it"):
            find_sources(tmp_path / "text")

    def test_a_folder_with_no_files(self, tmp_path):
        (tmp_path / "_SUCCESS").touch()
        with pytest.raises(ValueError, match="a folder with no files of text"):
            find_sources(tmp_path)

    def test_none(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="there is no such file"):
            find_sources(tmp_path / "none")

    def test_a_pipe(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(ValueError, match="pipe: is no regular file"):
            find_sources(tmp_path)


def test_kinds_do_not_mix():
    assert kind_of(["a.parquet", "b.pq"]) == "parquet"
    assert kind_of(["a.txt", "b"]) == "lines"
    with pytest.raises(ValueError, match="a.parquet is Parquet and b is not"):
        kind_of(["a.parquet", "b"])


def test_columns_in_names_of_folders_are_refused():
    assert kind_of(["lang=en/a", "lang=de/b"]) == "lines"
    with pytest.raises(ValueError, match="lang=en/a.parquet: a column of it is but in the name lang=en"):
        kind_of(["a=b.parquet", "lang=en/a.parquet"])


class TestChanged:
    @pytest.fixture
    def folder(self, tmp_path):
        (tmp_path / "a").write_text("one\n")
        (tmp_path / "b").write_text("two\n")
        known = [measure_lines(path, name)[0] for name, path in find_sources(tmp_path).items()]
        return tmp_path, known

    def check(self, folder):
        check_unchanged(find_sources(folder[0]), folder[1], "do this")

    def test_not(self, folder):
        self.check(folder)
        os.utime(folder[0] / "a")  # another time, the same contents
        self.check(folder)

    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            (lambda folder: (folder / "a").write_text("One\n"), "a: has changed, its checksum differs; do this"),
            (lambda folder: (folder / "a").write_text("ones\n"), "a: had 4 bytes and has 5 now; do this"),
            (lambda folder: (folder / "b").unlink(), "b: is not there any more; do this"),
            (lambda folder: (folder / "c").touch(), "c: was not there before; do this"),
        ],
    )
    def test_is_named(self, folder, change, problem):
        change(folder[0])
        if (folder[0] / "a").read_text() == "One\n":
            os.utime(folder[0] / "a", ns=(1, 1))  # however coarse the clock
        with pytest.raises(ValueError, match=problem):
            self.check(folder)

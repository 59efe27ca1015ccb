"""Parquet: columns are kept, row groups are read one by one, and what is no text is told."""

import pytest

from trellex.bulk.division import Piece
from trellex.bulk.job import Settings
from trellex.translator import load

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from trellex.bulk.parquet import read_chunks  # noqa: E402  needs pyarrow

COLUMNS = {"column": "text", "new_column": "translation"}
TEXTS = ["s3 s4", None, "", "s5\ns6", "s7 s8 s9", *(f"s{3 + row % 20}" for row in range(35))]


@pytest.fixture
def folder(tmp_path):
    """40 rows in three files, the second of them empty, with columns of other types."""
    (tmp_path / "texts").mkdir()
    table = pa.table(
        {
            "id": pa.array(range(40), pa.int64()),
            "text": pa.array(TEXTS, pa.string()),
            "tags": pa.array([[row, row + 1] for row in range(40)], pa.list_(pa.int32())),
            "kind": pa.array(["x", "y"] * 20).dictionary_encode(),
        }
    )
    table = table.replace_schema_metadata({"origin": "here"})
    for name, first, end in (("a", 0, 25), ("b", 25, 25), ("c", 25, 40)):
        pq.write_table(table.slice(first, end - first), tmp_path / "texts" / f"{name}.parquet", row_group_size=4)
    return tmp_path / "texts", table


@pytest.mark.parametrize("shards", [1, 3, 50])
def test_columns_and_rows_are_kept(job_of, translated, folder, small_model, shards):
    job = job_of(folder[0], **COLUMNS)
    records = translated(job, shards)
    found = pq.read_table(job.output)  # what is not output has names that such readers leave out
    assert found.drop_columns("translation").equals(folder[1])
    assert found.schema.metadata[b"origin"] == b"here"
    lines = load(small_model).translate([(text or "").replace("\n", " ") for text in TEXTS])
    expected = [None if row in (1, 3) else line for row, line in enumerate(lines)]
    assert found["translation"].to_pylist() == expected
    problems = [problem for record in records.values() for problem in record.problems]
    assert problems == [f"{folder[0]}/a.parquet row 4: holds the control character U+000A at character 3; remove it"]


def test_a_piece_is_read_from_its_row_groups(folder):
    path = folder[0] / "a.parquet"
    for first in range(26):
        for end in range(first, 26):
            chunks = list(read_chunks(path, Piece(0, first, end), Settings(**COLUMNS)))
            assert [row for chunk in chunks for row in chunk.batch.column("id").to_pylist()] == list(range(first, end))
            places = [line.place for chunk in chunks for line in chunk.lines]
            assert places == [f"{path} row {row + 1}" for row in range(first, end)]


def test_bytes_that_are_no_text(job_of, translated, tmp_path):
    texts = pa.array([b"s3", b"caf\xe9"], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": texts}), tmp_path / "a.parquet")
    job = job_of(tmp_path / "a.parquet", **COLUMNS)
    (record,) = translated(job, 1).values()
    assert record.untranslated == 1
    assert "a.parquet row 2: not valid UTF-8" in record.problems[0]
    assert pq.read_table(job.output, columns=["translation"])["translation"].null_count == 1


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"column": "words"}, "a.parquet: has no column 'words'; choose by --column one of id, text, tags, kind"),
        ({"column": "id"}, "a.parquet: column 'id' holds int64, no text"),
        ({"new_column": "id"}, "a.parquet: has a column 'id' already; name another by --new-column"),
    ],
)
def test_columns_that_cannot_be(job_of, plan_of, folder, columns, problem):
    with pytest.raises(ValueError, match=problem):
        plan_of(job_of(folder[0], **COLUMNS | columns))


def test_a_column_of_a_dictionary_is_text(job_of, translated, folder):
    job = job_of(folder[0], **COLUMNS | {"column": "kind"})
    translated(job, 2)
    assert pq.read_table(job.output)["translation"].null_count == 0


def test_files_of_other_columns(job_of, plan_of, folder):
    pq.write_table(pa.table({"text": ["a"]}), folder[0] / "d.parquet")
    with pytest.raises(ValueError, match="d.parquet: has other columns than .*a.parquet, or of other types"):
        plan_of(job_of(folder[0], **COLUMNS))


@pytest.mark.parametrize("cut", [0, 1, 100, 2000])
def test_damaged_files(job_of, plan_of, folder, cut):
    path = folder[0] / "a.parquet"
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ValueError, match="a.parquet: no Parquet file, or a damaged one"):
        plan_of(job_of(path, **COLUMNS))


def test_damaged_pages(job_of, plan_of, translated, folder):
    path = folder[0] / "a.parquet"
    data = bytearray(path.read_bytes())
    data[4:400] = bytes(396)
    path.write_bytes(data)
    with pytest.raises(ValueError, match="a.parquet: no Parquet file, or a damaged one"):
        translated(job_of(path, **COLUMNS), 1)
    assert not list((path.parent.parent / "out").glob("shard-*"))

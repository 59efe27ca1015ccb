"""The plan: the same for all who ask for the same, and an error for those who do not."""

import shutil

import pytest

from trellex.bulk.plan import Plan, fingerprint
from trellex.bulk.shard import finished
from trellex.translator import load


@pytest.fixture
def text(tmp_path):
    """30 lines, in a file."""
    (tmp_path / "text").write_text("".join(f"s{3 + row} s{4 + row}\n" for row in range(30)))
    return tmp_path / "text"


def test_a_plan_that_is_there_is_taken(job_of, plan_of, text):
    first = plan_of(job_of(text), 4)
    assert plan_of(job_of(text), 4) == first
    assert plan_of(job_of(text)) == first
    assert first.rows == 30
    assert [first.rows_of(number) for number in (1, 2, 3, 4)] == [7, 8, 7, 8]


def test_the_usual_number_of_shards(job_of, plan_of, text):
    assert plan_of(job_of(text)).shards == 1


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"beam": 2}, "was begun with another --beam: 1, not 2; give the same, or choose another output folder"),
        ({"batch_tokens": 7}, "another --batch-tokens: 2048, not 7"),
        ({"scores": True}, "another --json: False, not True"),
    ],
)
def test_other_settings(job_of, plan_of, text, settings, problem):
    plan_of(job_of(text), 4)
    with pytest.raises(ValueError, match=problem):
        plan_of(job_of(text, **settings), 4)


def test_another_number_of_shards(job_of, plan_of, text):
    plan_of(job_of(text), 4)
    with pytest.raises(ValueError, match="was begun with 4 shards, asked for are 5; give that number"):
        plan_of(job_of(text), 5)


def test_another_model(job_of, plan_of, both, small_model, text, tmp_path):
    plan_of(job_of(text), 4)
    shutil.copytree(small_model, tmp_path / "moved")
    plan_of(job_of(text, model=tmp_path / "moved"), 4)  # the same elsewhere
    with pytest.raises(ValueError, match="another model than .*; give that one, or choose another output folder"):
        plan_of(job_of(text, model=both("softmax", "fp32")[2]), 4)


def test_a_run_is_its_best_checkpoint(run, small_model):
    folder = run[0]
    assert fingerprint(folder) == fingerprint(folder / "step-000000007") != fingerprint(small_model)


def test_other_text(job_of, plan_of, text):
    plan_of(job_of(text), 4)
    text.write_text("other\n")
    with pytest.raises(ValueError, match="text: had .* bytes and has 6 now; .*out was begun before that: put back"):
        plan_of(job_of(text), 4)


def test_a_damaged_plan(job_of, plan_of, text, tmp_path):
    plan_of(job_of(text), 4)
    path = tmp_path / "out" / "_trellex" / "plan.json"
    path.write_text(path.read_text().replace('"shards": 4', '"shards": 5'))
    with pytest.raises(ValueError, match="not the plan of a bulk translation .damaged, its checksum differs"):
        plan_of(job_of(text))


class TestPlaces:
    def test_a_file(self, job_of, plan_of, text, tmp_path):
        (tmp_path / "out").touch()
        with pytest.raises(NotADirectoryError, match="out: is a file; shards are written into a folder"):
            plan_of(job_of(text))

    def test_a_folder_of_others(self, job_of, plan_of, text, tmp_path):
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "mine").touch()
        with pytest.raises(ValueError, match="out: holds other files, such as mine"):
            plan_of(job_of(text))
        assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine"]

    def test_in_the_text(self, job_of, plan_of, text, tmp_path):
        for output in (".", "out"):
            with pytest.raises(ValueError, match="lies in .*, so that translations would be text"):
                plan_of(job_of(tmp_path, output=output))

    def test_no_model_leaves_no_folder(self, job_of, plan_of, text, tmp_path):
        with pytest.raises(FileNotFoundError, match="none: there is no such folder; give an exported model"):
            plan_of(job_of(text, model=tmp_path / "none"))
        assert not (tmp_path / "out").exists()


def test_shards_of_a_folder_are_its_lines_in_order(job_of, translated, small_model, tmp_path):
    """Whatever the files: empty, without a last end of line, with those of Windows, with bytes that are no text."""
    contents = {"a": b"s3 s4\r\ns5", "b": b"", "c": b"\n\ns6 s7 s8\ncaf\xe9\n", "d/e": b"s9 s10\n", "f": b"s11"}
    for name, data in contents.items():
        path = tmp_path / "texts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    sentences = ["s3 s4", "s5", "", "", "s6 s7 s8", "", "s9 s10", "s11"]
    expected = "".join(f"{line}\n" for line in load(small_model).translate(sentences)).encode()
    for shards in (1, 2, 3, 8, 11):
        job = job_of(tmp_path / "texts", output=f"out-{shards}")
        records = translated(job, shards)
        files = sorted(job.output.glob("shard-*"))
        assert len(files) == shards
        assert b"".join(path.read_bytes() for path in files) == expected
        assert sum(record.untranslated for record in records.values()) == 1
        assert sum(record.rows for record in records.values()) == 8
        (problem,) = (problem for record in records.values() for problem in record.problems)
        assert f"{tmp_path / 'texts' / 'c'} line 4: not valid UTF-8" in problem


def test_the_plan_is_read_as_it_was_written(job_of, plan_of, text, tmp_path):
    plan = plan_of(job_of(text), 4)
    assert Plan.load_json(tmp_path / "out" / "_trellex" / "plan.json", "a plan", "") == plan
    assert finished(job_of(text), plan, 1) is None

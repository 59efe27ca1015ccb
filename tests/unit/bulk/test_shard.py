"""A shard: whole or not there, skipped once it is finished, and nobody's while another has it."""

import json

import pytest

from trellex.bulk.here import translate_here
from trellex.bulk.shard import Finished, finished, translate_shard
from trellex.locks import Lock
from trellex.translator import Translator, load


@pytest.fixture
def text(tmp_path):
    (tmp_path / "text").write_text("".join(f"s{3 + row % 30} s{4 + row % 7}\n" for row in range(40)))
    return tmp_path / "text"


def first_of(job):
    return job.output / "shard-00001-of-00002.txt"


def test_a_finished_one_is_skipped(job_of, plan_of, translated, text, monkeypatch):
    job = job_of(text)
    records = translated(job, 2)
    monkeypatch.setattr(Translator, "search", lambda *_: pytest.fail("translates"))
    assert translated(job) == records
    plan = plan_of(job)
    assert [finished(job, plan, number) for number in (1, 2)] == list(records.values())


def test_one_whose_output_or_record_is_gone_is_translated_again(job_of, plan_of, translated, text):
    job = job_of(text)
    translated(job, 2)
    before = first_of(job).read_bytes()
    for path in (first_of(job), job.output / "_trellex" / "00001.json"):
        path.unlink()
        assert finished(job, plan_of(job), 1) is None
        translated(job)
        assert first_of(job).read_bytes() == before


def test_one_that_was_changed_is_an_error(job_of, translated, text):
    job = job_of(text)
    translated(job, 2)
    changed = first_of(job).read_bytes()
    first_of(job).write_bytes(changed[:-2] + b"?\n")
    with pytest.raises(ValueError, match="00001-of-00002.txt: differs from what was written there; remove .* again"):
        translated(job)


def test_one_that_another_process_has_is_left_to_it(job_of, plan_of, text, small_model):
    job = job_of(text)
    plan, translator = plan_of(job, 2), load(small_model)
    lock = Lock.take_file(job.output / "_trellex" / "00001.lock")
    assert translate_shard(job, plan, 1, translator, lambda rows: None) is None
    with pytest.raises(BlockingIOError, match="another process translates this shard; wait for it"):
        list(translate_here(job, plan, [1], lambda rows: None, waits=False))
    order = []
    for number, _ in translate_here(job, plan, [1, 2], lambda rows: None):
        order.append(number)
        lock.release()
    assert order == [2, 1]


def test_the_last_one_is_waited_for_too(job_of, plan_of, text, monkeypatch):
    job = job_of(text)
    plan = plan_of(job, 2)
    lock = Lock.take_file(job.output / "_trellex" / "00001.lock")
    monkeypatch.setattr("trellex.bulk.here.time.sleep", lambda _: lock.release())
    assert [number for number, _ in translate_here(job, plan, [1], lambda rows: None)] == [1]


def test_a_kill_between_output_and_record_leaves_no_older_record(job_of, plan_of, translated, text, monkeypatch):
    job = job_of(text)
    translated(job, 2)
    first_of(job).unlink()
    monkeypatch.setattr(Finished, "save_json", lambda *_: pytest.fail("killed"))
    with pytest.raises(pytest.fail.Exception, match="killed"):
        translated(job)
    assert first_of(job).exists()
    assert finished(job, plan_of(job), 1) is None


def test_strict_stops_and_leaves_nothing(job_of, plan_of, translated, tmp_path):
    (tmp_path / "text").write_bytes(b"s3\ncaf\xe9\ns4\n")
    job = job_of(tmp_path / "text", strict=True)
    with pytest.raises(ValueError, match="text line 2: not valid UTF-8"):
        translated(job, 1)
    assert [path.name for path in job.output.iterdir()] == ["_trellex"]
    assert finished(job, plan_of(job), 1) is None


def test_text_that_is_cut_on_the_way_is_an_error(job_of, plan_of, text):
    job = job_of(text)
    plan = plan_of(job, 2)
    text.write_text("s3\n")
    with pytest.raises(ValueError, match="text: shard 1 has 1 rows instead of 20; it was changed, or is damaged"):
        list(translate_here(job, plan, [1], lambda rows: None))
    assert not first_of(job).exists()


def test_samples_are_the_same_again_and_differ_between_shards(job_of, translated, tmp_path):
    (tmp_path / "text").write_text("s3 s4 s5 s6\n" * 8)
    settings = {"sample": True, "seed": 1, "temperature": 2.0}
    job, again = (job_of(tmp_path / "text", output=name, **settings) for name in ("out", "again"))
    translated(job, 2)
    translated(again, 2, [2])
    translated(again, 2, [1])
    first, second = (first_of(job).with_name(f"shard-0000{number}-of-00002.txt").read_text() for number in (1, 2))
    assert first != second
    assert first == first_of(again).read_text()


def test_json_lines(job_of, translated, tmp_path):
    (tmp_path / "text").write_bytes(b"s3 s4\ncaf\xe9\n\n")
    job = job_of(tmp_path / "text", scores=True, beam=2, nbest=2)
    translated(job, 1)
    lines = [json.loads(line) for line in (job.output / "shard-00001-of-00001.jsonl").read_text().splitlines()]
    assert [len(line["nbest"]) for line in lines] == [2, 0, 0]
    assert "not valid UTF-8" in lines[1]["error"]

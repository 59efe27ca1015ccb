"""The lines of metrics.jsonl, and what they tell together."""

import json

from trellex.evaluation.curve import Evaluation, Loss
from trellex.training.metrics import Metrics, append_metrics, drop_metrics


def report(step, speed=10.0, memory=None):
    values = {"loss": 1 / step, "tokens": 100, "seconds": 0.5, "tokens_per_second": speed, "peak_memory": memory}
    return {"step": step, **values}


def evaluation(step, dev):
    return {"step": step, "dev_bleu": dev, "test_bleu": dev / 2, "averaged_test_bleu": 0.0, "seconds": 99.0}


def test_sums_leave_evaluations_out():
    metrics = Metrics([report(2), report(4), evaluation(4, 8.0), report(6), evaluation(8, 9.0)])
    assert (metrics.step, metrics.tokens, metrics.seconds) == (8, 300, 1.5)
    assert metrics.losses == [Loss(step, 1 / step) for step in (2, 4, 6)]
    assert metrics.evaluations == [Evaluation(4, 8.0, 4.0), Evaluation(8, 9.0, 4.5)]


def test_speed_is_the_median_without_the_first_reports():
    assert Metrics([report(step, speed) for step, speed in enumerate((1, 1, 1, 7, 9, 50), 1)]).tokens_per_second == 9
    assert Metrics([report(1, 5.0), report(2, 6.0)]).tokens_per_second == 5.5
    assert Metrics([]).tokens_per_second is None


def test_memory_is_the_most():
    assert Metrics([report(1, memory=5), report(2, memory=9), report(3, memory=7)]).peak_memory == 9
    assert Metrics([report(1)]).peak_memory is None


def test_a_run_that_is_going_on(tmp_path):
    assert Metrics.read(tmp_path).step == 0
    lines = json.dumps(report(2)) + "\n" + json.dumps(evaluation(2, 1.0)) + "\n" + json.dumps(report(4))[:9]
    (tmp_path / "metrics.jsonl").write_text(lines)
    metrics = Metrics.read(tmp_path)
    assert (metrics.step, metrics.tokens, len(metrics.evaluations)) == (2, 100, 1)


def test_lines_are_appended_and_dropped_after_a_step(tmp_path):
    run = tmp_path / "run"
    drop_metrics(run, after=5)  # there is nothing yet
    for line in (report(2), report(4), evaluation(4, 1 / 3)):
        append_metrics(run, line.pop("step"), line)
    before = (run / "metrics.jsonl").read_bytes()
    append_metrics(run, 6, {"loss": 1.0})
    with (run / "metrics.jsonl").open("a") as file:
        file.write('{"step": 3, "lo')
    drop_metrics(run, after=4)
    assert (run / "metrics.jsonl").read_bytes() == before
    assert [path.name for path in run.iterdir()] == ["metrics.jsonl"]

"""What an experiment shows without a terminal: changes at once, progress now and then, and which BLEU it is."""

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from trellex.evaluation.curve import Evaluation
from trellex.experiment.display import GridDisplay, duration, table
from trellex.experiment.grid import Grid
from trellex.experiment.status import JobStatus
from trellex.training.metrics import append_metrics


@pytest.fixture
def shown(write_grid, tmp_path):
    """A display of two cells of 1,000 steps on a file; its `clock` goes as the test says, `lines` takes what is new."""
    (tmp_path / "results").mkdir()
    path = write_grid({"heads": ["softmax", {"type": "binary", "decoding": "paper"}]}, {"max_steps": 1000})
    statuses, file = [JobStatus(job) for job in Grid.load(path).jobs()], io.StringIO()
    shown = SimpleNamespace(statuses=statuses, seconds=100.0)

    def enter(state, *numbers):
        for number in numbers:
            statuses[number].enter(state)
            shown.display.changed(statuses[number])

    def lines():
        found = file.getvalue().splitlines()
        file.seek(0)
        file.truncate()
        return found

    shown.display = GridDisplay(statuses, Console(file=file), clock=lambda: shown.seconds)
    shown.enter, shown.lines = enter, lines
    return shown


def report(status, step, loss, speed):
    append_metrics(
        status.job.run,
        step,
        {"loss": loss, "tokens": 100, "seconds": 1.0, "tokens_per_second": speed, "peak_memory": None},
    )


class TestLines:
    def test_of_those_that_are_trained(self, shown):
        shown.enter("training", 0, 1)
        assert shown.lines() == ["tiny-en-ja-softmax-seed-1: training", "tiny-en-ja-binary-seed-1: training"]
        report(shown.statuses[0], 50, 6.25, 1234.0)
        shown.seconds += 29
        shown.display.refresh()
        assert shown.lines() == []
        shown.seconds += 1
        shown.display.refresh()
        shown.display.refresh()
        assert shown.lines() == [
            "tiny-en-ja-softmax-seed-1: step 50 of 1,000, loss 6.250, 1,234 tokens/s, about 10 min left",
            "tiny-en-ja-binary-seed-1: step 0 of 1,000",
        ]
        append_metrics(shown.statuses[0].job.run, 50, {"dev_bleu": 12.5, "test_bleu": 11.0})
        report(shown.statuses[0], 500, 2.5, 1234.0)
        shown.seconds += 30
        shown.display.refresh()
        assert shown.lines()[0] == (
            "tiny-en-ja-softmax-seed-1: step 500 of 1,000, loss 2.500, 1,234 tokens/s, dev BLEU 12.50, about 60 s left"
        )

    def test_time_left_of_a_training_that_goes_on(self, shown):
        report(shown.statuses[0], 800, 2.5, 1234.0)
        shown.enter("training", 0)
        report(shown.statuses[0], 900, 2.5, 1234.0)
        shown.seconds += 40
        shown.display.refresh()
        assert shown.lines()[-1].endswith(", about 40 s left")

    def test_of_those_that_are_scored_or_timed(self, shown):
        shown.enter("scoring", 0)
        assert shown.lines() == []
        shown.seconds += 45
        shown.display.refresh()
        assert shown.lines() == ["tiny-en-ja-softmax-seed-1: scoring for 45 s"]
        shown.enter("timing", 0, 1)
        assert shown.lines() == ["tiny-en-ja-softmax-seed-1: timing", "tiny-en-ja-binary-seed-1: timing"]
        shown.seconds += 150
        shown.display.refresh()
        assert shown.lines() == ["2 cells: timing for 2 min"]

    def test_nothing_of_those_that_wait_or_have_ended(self, shown):
        shown.enter("training", 0)
        shown.enter("failed", 0)
        shown.lines()
        shown.seconds += 1000
        shown.display.refresh()
        assert shown.lines() == []


def with_evaluations(result, number):
    result.curve = [Evaluation(step, 1.5, 1.25) for step in range(number)]
    return result.model_copy(update={"averaged_test_bleu": 1.0})


class TestWhichBleu:
    def test_of_few_evaluations(self, shown, result_of):
        status = shown.statuses[0]
        result_of(status.job).save(status.job.result_file)
        shown.enter("done", 0)
        assert shown.lines() == ["tiny-en-ja-softmax-seed-1: done: dev BLEU 1.50, test BLEU 1.25 (best checkpoint)"]
        assert (status.row()["test BLEU"], status.row()["test BLEU is"]) == (1.25, "best checkpoint")
        assert "test BLEU, best checkpoint" in headings(shown)

    def test_of_many(self, shown, result_of):
        status = shown.statuses[0]
        with_evaluations(result_of(status.job), 10).save(status.job.result_file)
        shown.enter("done", 0)
        assert shown.lines() == ["tiny-en-ja-softmax-seed-1: done: dev BLEU 1.50, test BLEU 1.00 (mean of 5)"]
        assert "test BLEU, mean of 5" in headings(shown)

    def test_a_table_of_both(self, shown, result_of):
        for status, number in zip(shown.statuses, (10, 9), strict=True):
            with_evaluations(result_of(status.job), number).save(status.job.result_file)
        shown.enter("done", 0, 1)
        assert list(table(shown.statuses).columns[4].cells) == ["1.00 (mean of 5)", "1.25 (best checkpoint)"]
        assert "test BLEU" in headings(shown)

    def test_a_table_of_none(self, shown):
        assert list(table(shown.statuses).columns[4].cells) == ["", ""]


def headings(shown):
    return [column.header for column in table(shown.statuses).columns]


def test_durations():
    assert [duration(seconds) for seconds in (0.4, 119, 130, 7100, 7300)] == ["0 s", "119 s", "2 min", "118 min", "2 h"]

"""Jobs come back as they were written, and a run or a result of another training is refused by name."""

import pytest

from trellex.codes import FrequencyCode, RandomCode
from trellex.evaluation.result import WordSelection
from trellex.experiment.grid import Grid
from trellex.experiment.job import Job
from trellex.experiment.runner import Runner
from trellex.text import Corpus
from trellex.training import checkpoint
from trellex.training.display import Display
from trellex.training.trainer import Trainer

HEAD = {"type": "binary", "decoding": "paper"}


@pytest.fixture
def job(write_grid, tmp_path):
    (tmp_path / "results").mkdir()
    return Grid.load(write_grid({"heads": [HEAD]})).jobs()[0]


class TestRun:
    @pytest.fixture
    def begun(self, job):
        """The job with a checkpoint."""
        job.save()
        (job.run / "step-000000002").mkdir()
        return job

    @pytest.mark.parametrize("training", [{"max_steps": 9, "patience": 2}, {"learning_rate": 1e-4, "clip_norm": 1.0}])
    def test_may_go_on_otherwise(self, begun, write_grid, training):
        Grid.load(write_grid({"heads": [HEAD]}, training)).jobs()[0].check_run()

    def test_of_another_recipe(self, begun, write_grid):
        other = Grid.load(write_grid({"heads": [HEAD]}, {"batch_sentences": 7})).jobs()[0]
        with pytest.raises(ValueError, match=r"job.json: made with batch_sentences 64, but the grid says 7; go back"):
            other.check_run()
        (begun.run / "step-000000002").rmdir()
        other.check_run()  # nothing was trained yet

    def test_of_another_corpus(self, job):
        job.save()
        (job.run / "step-000000002").mkdir()
        with pytest.raises(ValueError, match=r"job.json: made from another corpus than .* now holds; prepare"):
            job.model_copy(update={"corpus": "another"}).check_run()

    @pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"recipe": 1}', '{"recipe": ' + "[" * 99_999, "\0"])
    def test_a_file_that_is_damaged(self, begun, text):
        (begun.run / "job.json").write_text(text)
        with pytest.raises(ValueError, match=r"job.json: not the description of a cell \(.*\); remove this file and"):
            begun.check_run()

    def test_a_grid_goes_on_after_its_learning_rate_was_lowered(self, write_grid):
        """As training advises when it diverges."""
        [before] = Grid.load(write_grid(training={"max_steps": 2})).jobs()
        before.save()
        Trainer(before.recipe, Display("", quiet=True)).run()
        grid = Grid.load(write_grid(training={"learning_rate": 1e-4}))
        [status] = Runner(grid).statuses
        trainer = Trainer(status.job.recipe, Display("", quiet=True))
        assert [evaluation.step for evaluation in trainer.run()] == [2, 4]
        newest = checkpoint.load_info(checkpoint.checkpoints(before.run)[-1])
        assert newest.recipe.training.learning_rate == 1e-4


class TestJob:
    def test_round_trip(self, job):
        assert Job.load(job.save()) == job

    def test_no_result_yet(self, job):
        assert job.result() is None

    @pytest.mark.parametrize("training", [{}, {"threads": 3, "save_every": 7}])
    def test_its_result(self, job, result_of, write_grid, training):
        result_of(job).save(job.result_file)
        same = Grid.load(write_grid({"heads": [HEAD]}, training)).jobs()[0]
        assert same.result() == result_of(job)

    def test_of_another_corpus_in_the_same_folder(self, job, result_of):
        result = result_of(job).model_copy(update={"corpus": "another"})
        result.save(job.result_file)
        with pytest.raises(
            ValueError, match=r"binary-seed-1.json: made from another corpus than .* now holds; prepare"
        ):
            job.result()
        result.model_copy(update={"corpus": None}).save(job.result_file)  # it may not be known
        assert job.result() is not None

    def test_of_a_code_whose_file_has_changed_since(self, write_grid, result_of, corpora, tmp_path):
        (tmp_path / "results").mkdir()
        file, words = tmp_path / "code.json", len(Corpus.open(corpora["en-ja"]).target_vocabulary)

        def job_of(code):
            code.save(file)
            head = {"type": "binary-ec", "loss": "trellis", "code": {"file": str(file)}}
            return Grid.load(write_grid({"heads": [head]})).jobs()[0]

        job = job_of(RandomCode(words))
        job.save()
        (job.run / "step-000000002").mkdir()
        made = result_of(job)
        made.save(job.result_file)
        assert job_of(RandomCode(words)).result() == made
        other = job_of(FrequencyCode(words))
        with pytest.raises(ValueError, match=r"seed-1.json: made with another code than its file now holds; put that"):
            other.result()
        with pytest.raises(ValueError, match=r"job.json: made with another code than its file now holds; put that"):
            other.check_run()
        made.model_copy(update={"code": None}).save(job.result_file)  # it may not be known
        assert other.result() is not None

    def test_without_the_shortlist_that_the_grid_asks_for(self, write_grid, result_of, tmp_path):
        (tmp_path / "results").mkdir()
        [job] = Grid.load(write_grid({"shortlist": True})).jobs()
        result = result_of(job)
        result.save(job.result_file)
        with pytest.raises(ValueError, match=r"seed-1.json: made without a shortlist, .* remove this file to score"):
            job.result()
        selection = WordSelection(scores=result.scores, recall=0.5, list_words=7.5)
        result.model_copy(update={"selection": selection}).save(job.result_file)
        for asked in (job, job.model_copy(update={"shortlist": False})):
            assert asked.result().selection == selection

    @pytest.mark.parametrize(
        ("block", "training", "message"),
        [
            (
                {"heads": [{"type": "binary", "decoding": "paper", "loss": "squared"}]},
                {},
                r"binary-seed-1.json: made with head .*'binary', .*, but the grid says .*'squared'",
            ),
            ({}, {"learning_rate": 0.5}, r"made with learning_rate 0.001, but the grid says 0.5; go back to that, or"),
            ({}, {"max_steps": 3}, r"made with max_steps 4, but the grid says 3; .* remove this file and .* anew"),
            ({}, {"max_steps": 5}, r"made with max_steps 4, but the grid says 5; .* remove this file to train on"),
            (
                {"stands_for": "BTEC"},
                {},
                r"made with stands_for None, but the grid says 'BTEC'.* remove this file and ",
            ),
        ],
    )
    def test_of_another_training(self, job, result_of, write_grid, block, training, message):
        result_of(job).save(job.result_file)
        other = Grid.load(write_grid({"heads": [HEAD]} | block, training)).jobs()[0]
        with pytest.raises(ValueError, match=message):
            other.result()

"""The best checkpoints of a run, and which of them are averaged."""

import pytest

from trellex.evaluation.curve import Evaluation
from trellex.training.checkpoint import step_folder as step
from trellex.training.ranking import best_steps, choose, evaluations_of


def test_the_best_come_first_and_of_equals_the_earlier():
    evaluations = [Evaluation(number, score, None) for number, score in ((4, 2.0), (8, 5.0), (12, 5.0), (16, 3.0))]
    assert [best_steps(evaluations, count) for count in (1, 3, 9)] == [[8], [8, 12, 16], [8, 12, 16, 4]]


def test_of_a_run(recipe, trainer, dev_scores):
    dev_scores(1, 5, 3, 4)
    run = recipe(max_steps=17, keep_best=3).output
    trainer(recipe(max_steps=17, keep_best=3)).run()
    evaluations = evaluations_of(run)
    assert choose(run, evaluations, 2, None) == [step(run, 8), step(run, 16)]
    assert choose(run, evaluations, None, 2) == [step(run, 17), step(run, 16)]
    assert choose(run, evaluations, None, None) == [step(run, number) for number in (8, 16, 12)]
    with pytest.raises(ValueError, match=r"run: has 0 evaluated checkpoints, not 2; .* training.keep_best of 2"):
        choose(run, [], None, None)
    with pytest.raises(ValueError, match=r"run: has 3 evaluated checkpoints, not 4; .* training.keep_best of 4"):
        choose(run, evaluations, 4, None)
    with pytest.raises(ValueError, match=r"run: has 4 checkpoints, not 9; .* training.keep_checkpoints of 9"):
        choose(run, evaluations, None, 9)


def test_no_run(tmp_path):
    with pytest.raises(FileNotFoundError, match="no checkpoint here; give the folder of a run"):
        evaluations_of(tmp_path)
    (tmp_path / "trellex.json").touch()
    with pytest.raises(ValueError, match="is an exported model; needed is a run: give the run that it was made"):
        evaluations_of(tmp_path)

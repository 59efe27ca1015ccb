"""The learning rate of every step, against values computed by hand."""

import pytest

from trellex.evaluation.curve import Evaluation
from trellex.training.recipe import TrainingSettings
from trellex.training.schedule import learning_rate, plateaus


def evaluations(*scores):
    return [Evaluation(10 * place, score, None) for place, score in enumerate(scores, 1)]


def rates(steps, scores=(), **settings):
    settings = TrainingSettings(learning_rate=1.0, **settings)
    return [learning_rate(settings, step, evaluations(*scores)) for step in steps]


class TestHalving:
    def test_it_rises_and_halves(self):
        found = rates((1, 2, 4, 9, 10, 20), warmup_steps=4, decay_steps=10)
        assert found == [0.25, 0.5, 1.0, 1.0, 0.5, 0.25]

    def test_without_decay_it_stays(self):
        assert rates((1, 10, 10_000)) == [1.0, 1.0, 1.0]
        assert rates((1, 2, 10_000), scores=(3, 2, 1), warmup_steps=2) == [0.5, 1.0, 1.0]


def test_inverse_square_root():
    assert rates((1, 2, 4, 16, 36, 400), warmup_steps=4, schedule="inverse_sqrt") == [0.25, 0.5, 1.0, 0.5, 1 / 3, 0.1]
    assert rates((1, 4, 100), warmup_steps=1, schedule="inverse_sqrt") == [1.0, 0.5, 0.1]


class TestPlateau:
    @pytest.mark.parametrize(
        ("scores", "patience", "expected"),
        [
            ((), 1, 0),
            ((5,), 1, 0),
            ((5, 5), 1, 1),  # the same is no better
            ((5, 4, 6, 6), 1, 2),
            ((5, 4), 2, 0),
            ((5, 4, 4.5), 2, 1),  # better than the last, not than the best
            ((5, 4, 6, 5, 6.5, 6, 6), 2, 1),  # what is better begins anew
            ((5, 4, 3, 2, 1), 2, 2),  # each time as many again
            ((5, 4, 3, 2, 6, 1), 2, 1),
            ((0, 0, 0, 0, 0, 0, 0), 3, 2),
        ],
    )
    def test_count(self, scores, patience, expected):
        assert plateaus(evaluations(*scores), patience) == expected

    def test_it_halves_at_each_after_warmup(self):
        plateau = {"schedule": "plateau", "decay_patience": 1, "warmup_steps": 4}
        assert rates((2, 4, 100), (), **plateau) == [0.5, 1.0, 1.0]
        assert rates((2, 4, 100), (3, 3, 2), **plateau) == [0.5, 0.25, 0.25]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"schedule": "inverse_sqrt"}, "inverse_sqrt needs warmup_steps of 1 or more"),
        ({"schedule": "inverse_sqrt", "warmup_steps": 9, "decay_steps": 5}, "decay_steps is for the schedule halving"),
        ({"schedule": "plateau"}, "plateau needs decay_patience"),
        ({"schedule": "plateau", "decay_patience": 2, "decay_steps": 5}, "not for plateau; make it null"),
        ({"decay_patience": 2}, "decay_patience is for the schedule plateau, not for halving; make it null"),
        ({"schedule": "plateau", "decay_patience": 3, "patience": 3}, "patience must be more than decay_patience"),
        ({"schedule": "plateau", "decay_patience": 0}, "decay_patience: .*greater than or equal to 1"),
        ({"schedule": "cosine"}, "schedule: .*'halving', 'inverse_sqrt' or 'plateau', got 'cosine'"),
    ],
)
def test_keys_that_do_not_belong_together(settings, message):
    with pytest.raises(ValueError, match=f"^training: .*{message}|^training: {message}"):
        TrainingSettings.checked(settings, "training")

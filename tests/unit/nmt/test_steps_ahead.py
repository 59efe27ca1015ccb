"""Steps ahead: the device has the next step before the host waits for the last."""

import numpy as np

from trellex.nmt.steps_ahead import AHEAD, FEW_ROWS, StepsAhead


class Desk:
    """Chooses the number of the step for every sentence, and logs when it is asked and when it is waited for."""

    width = 1

    def __init__(self, sentences, log):
        self.sentences, self.log, self.step = sentences, log, 0

    def choose(self):
        self.log.append(("asked", self.step))
        self.step += 1
        return Arriving(np.full(self.sentences, self.step - 1), self.log)

    def take(self, other, sentences):
        self.step = other.step
        self.log.append(("taken", sentences.tolist()))


class Arriving:
    def __init__(self, values, log):
        self.values, self.log = values, log

    def arrived(self):
        self.log.append(("waited", int(self.values[0])))
        return self.values


def test_a_step_is_asked_for_before_the_last_is_waited_for():
    log = []
    steps, everyone = StepsAhead(Desk(2, log), 2, 4, smaller=None), np.arange(2)
    assert [steps(everyone).tolist() for _ in range(4)] == [[0, 0], [1, 1], [2, 2], [3, 3]]
    assert AHEAD == 1
    order = [f"{what} {step}" for what, step in log]
    assert order == ["asked 0", "asked 1", "waited 0", "asked 2", "waited 1", "asked 3", "waited 2", "waited 3"]


def test_few_that_are_left_go_on_at_a_smaller_desk_behind_the_step_under_way():
    log, count = [], 4 * FEW_ROWS
    steps = StepsAhead(Desk(count, log), count, 9, lambda left: Desk(left, log))
    assert steps(np.arange(count)).tolist() == [0] * count
    left = np.array([3, 5, 7, 11, 13, 17, 19, 23, 29])
    assert steps(left).tolist() == [1] * 9  # chosen before the others had ended
    assert ("taken", left.tolist()) in log
    assert steps(left[:2]).tolist() == [2] * 2

"""Who gets a signal that ends programs: nobody if it is ignored, and in the end whoever had it before."""

import os
import signal
from types import SimpleNamespace

import pytest

from trellex.ending import Ending
from trellex.experiment.pool import Pool
from trellex.signals import ENDING, handled, heeded
from trellex.training.interruption import Interruption


@pytest.fixture
def without_hangups():
    """As after `nohup`."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    yield
    signal.signal(signal.SIGHUP, before)


def send(name):
    os.kill(os.getpid(), getattr(signal, name))


def test_a_handler_has_them_for_a_while():
    before, came = [signal.getsignal(number) for number in heeded(*ENDING)], []
    with handled(lambda number, _: came.append(number), *ENDING, "SIGNONE"):
        for name in ENDING:
            send(name)
    assert came == [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    assert [signal.getsignal(number) for number in heeded(*ENDING)] == before


@pytest.mark.usefixtures("without_hangups")
class TestIgnored:
    def test_it_stays_so(self):
        came = []
        with handled(lambda number, _: came.append(number), *ENDING):
            send("SIGHUP")
            send("SIGTERM")
        assert came == [signal.SIGTERM]
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN

    def test_a_grid_goes_on(self, monkeypatch):
        pool = Pool(SimpleNamespace(refresh=lambda: send("SIGHUP")), None)
        ended = iter([False, True])
        monkeypatch.setattr(pool, "_start", lambda statuses, phases: pool._running.append(statuses))
        monkeypatch.setattr(pool, "_collect", lambda: next(ended) and pool._running.clear())
        pool.run([[]], ["train"], 1)
        assert not pool.was_stopped


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_second_one_ends_training_as_the_first_ends_other_commands(name):
    interruption = Interruption()

    def train():
        with Ending(), interruption:
            send(name)
            assert interruption.came
            send(name)
            raise AssertionError

    with pytest.raises(SystemExit) as ended:
        train()
    assert ended.value.code == 128 + getattr(signal, name)

"""How many cores there are, and how busy other processes keep them."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from trellex.experiment import machine

TICKS = os.sysconf("SC_CLK_TCK")


@pytest.fixture
def system(monkeypatch):
    """A system whose counters a test sets: CPU seconds of all processes by kind, of this process, and the clock's."""
    system = SimpleNamespace(cpu=[0.0] * 10, own=[0.0] * 4, seconds=50.0, tells=True)

    def read_text(path, encoding):
        assert path == Path("/proc/stat")
        if not system.tells:
            raise FileNotFoundError
        counts = " ".join(str(round(seconds * TICKS)) for seconds in system.cpu)
        return f"cpu  {counts}\ncpu0 {counts}\nintr 7\n"

    monkeypatch.setattr(machine.Path, "read_text", read_text)
    monkeypatch.setattr(machine.os, "times", lambda: (*system.own, system.seconds))
    monkeypatch.setattr(machine, "perf_counter", lambda: system.seconds)
    return system


def test_cores_of_others(system):
    system.cpu = [100.0, 1.0, 20.0, 5000.0, 60.0, 1.0, 1.0, 1.0, 30.0, 0.0]
    others = machine.OtherProcesses()
    system.own = [12.0, 1.0, 0.5, 0.5]  # 14 s, this process and its children
    system.cpu = [115.0, 2.0, 23.0, 5100.0, 90.0, 1.0, 2.0, 3.0, 40.0, 0.0]  # 22 s, without idling, waiting and guests
    system.seconds += 10
    assert others.cores() == pytest.approx(0.8)


def test_nothing_but_this_process(system):
    others = machine.OtherProcesses()
    system.own, system.cpu[0], system.seconds = [7.02, 0.0, 0.0, 0.0], 7.0, 60.0  # counted a little later
    assert others.cores() == 0


def test_a_system_that_does_not_tell(system):
    system.tells = False
    assert machine.OtherProcesses().cores() is None


def test_this_machine():
    assert 1 <= machine.cpu_count() <= os.cpu_count()
    assert machine.cpu_name()

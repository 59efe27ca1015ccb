"""Inputs that once were findings of `make fuzz`: each is refused with a message, or read as what it is."""

from pathlib import Path

import pytest
import workspace
from all_targets import TARGETS
from attempt import ACCEPTED, REFUSED, ChangedError, Finding, attempt
from findings import inputs

CASES = Path(__file__).with_name("cases")


@pytest.fixture(scope="session")
def begun(tmp_path_factory):
    """Gives a target that is ready."""
    work = tmp_path_factory.mktemp("attack") / "work"
    workspace.make(work)
    ready = {}

    def begun(name):
        if name not in ready:
            ready[name] = TARGETS[name]
            ready[name].begin(work)
        return ready[name]

    return begun


@pytest.mark.parametrize("name", TARGETS)
def test_what_is_whole_is_accepted(begun, name):
    target = begun(name)
    assert all(attempt(target.read, data) == ACCEPTED for data in target.seeds()[:1])


@pytest.mark.parametrize(
    "case",
    [path for name in TARGETS for path in inputs(CASES, name)],
    ids=lambda path: f"{path.parent.name}-{path.stem}",
)
def test_found_cases(begun, case):
    outcome = attempt(begun(case.parent.name).read, case.read_bytes())
    assert outcome in (ACCEPTED, REFUSED), outcome.report


def test_every_case_is_of_a_target():
    assert {path.name for path in CASES.glob("*")} <= set(TARGETS)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        *((ValueError("no"), REFUSED), (FileNotFoundError("no"), REFUSED), (None, ACCEPTED)),
        *((KeyError("x"), "KeyError"), (MemoryError(), "MemoryError"), (RecursionError(), "RecursionError")),
        (ChangedError("here", "other words"), "ChangedError"),
    ],
    ids=repr,
)
def test_only_errors_with_a_message_refuse(error, expected):
    def read(data):
        if error is not None:
            raise error

    outcome = attempt(read, b"")
    assert (outcome.kind if isinstance(outcome, Finding) else outcome) == expected

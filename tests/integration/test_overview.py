"""What docs/overview.md tells of the way from a command to a word is what happens."""

import re
import sys
from pathlib import Path
from pydoc import locate

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "overview.md").read_text(encoding="utf-8")
STEPS = re.findall(r"^\d+\. `([\w.]+)`", PAGE, re.MULTILINE)


def names_on_the_stack(frame):
    """Outermost first, such as trellex.commands.translate.translate."""
    names = []
    while frame is not None:
        names.append(f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}")
        frame = frame.f_back
    return names[::-1]


@pytest.fixture(scope="module")
def run(tmp_path_factory, trellex, write_recipe):
    recipe = write_recipe(tmp_path_factory.mktemp("binary") / "run", "binary-ec", max_steps=1)
    assert trellex("train", recipe, "--quiet").exit_code == 0
    return recipe.with_suffix("")


@pytest.fixture(scope="module")
def stacks(run, phrasebook, trellex):
    """Who calls whom on the way to every word: the stack at each call of the last two steps."""
    found = {step: [] for step in STEPS[-2:]}

    def observe(frame, event, _):
        name = f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}"
        if event == "call" and name in found:
            found[name].append(names_on_the_stack(frame))

    sys.setprofile(observe)
    try:
        assert trellex("translate", run, phrasebook / "test.en").exit_code == 0
    finally:
        sys.setprofile(None)
    return found


def test_there_are_ten_steps_at_most():
    assert 5 < len(STEPS) <= 10
    assert STEPS[0] == "trellex.commands.translate.translate"


@pytest.mark.parametrize("step", STEPS + re.findall(r"`(trellex\.runtime\.[\w.]+)`", PAGE))
def test_every_step_has_that_name(step):
    assert locate(step) is not None


@pytest.mark.parametrize("last", STEPS[-2:])
def test_each_step_is_reached_through_those_before(stacks, last):
    assert stacks[last]
    expected = [step for step in STEPS if step not in STEPS[-2:] or step == last]
    for stack in stacks[last]:
        assert [name for name in stack if name in expected] == expected

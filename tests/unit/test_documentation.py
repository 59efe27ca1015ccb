"""What the documentation tells to type exists: verbs, options, targets of make, and pages that are linked to."""

import re
import sys
from pathlib import Path

import click
import pytest
import typer.main

sys.path.insert(0, str(Path(__file__).parents[1] / "documentation"))
from blocks import PAGES, ROOT, blocks, trellex_commands

from trellex.cli import app

COMMAND = re.compile(r"^\$? *(trellex|make|python|pip|torchrun|echo|cat|curl) ")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
HAND_WRITTEN = [page for page in PAGES if "results" not in page.parts]


def name(page):
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="module")
def command():
    return typer.main.get_command(app)


def test_there_is_something_to_check():
    lines = [line for page in PAGES for block in blocks(page) if block.language == "bash" for line in block.lines()]
    assert sum(len(trellex_commands(line)) for line in lines) > 30


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=name)
def test_commands_stand_in_blocks_that_are_run(page):
    for block in blocks(page):
        if block.language == "":
            assert not COMMAND.match(block.text), f"say bash above:\n{block.text}"


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=name)
def test_every_verb_and_option_exists(page, command):
    for block in blocks(page):
        for line in block.lines() if block.language == "bash" else ():
            for verb, *arguments in trellex_commands(line):
                if verb.startswith("-"):
                    continue
                assert verb in command.commands, line
                with click.Context(command, info_name="trellex") as parent:
                    command.commands[verb].make_context(verb, arguments, parent=parent)  # raises UsageError


@pytest.mark.parametrize("page", HAND_WRITTEN, ids=name)
def test_every_target_of_make_exists(page):
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(encoding="utf-8"), re.MULTILINE):
        assert target in TARGETS


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere(page):
    for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]*))?\)", page.read_text(encoding="utf-8")):
        linked = (page.parent / target) if target else page
        assert linked.exists(), target
        if anchor and linked.suffix == ".md":
            headings = re.findall(r"^#+ (.*)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in slugs, f"{target}#{anchor}"

"""The commands that are killed: what each begins with, what must hold after every kill, and in the end."""

from __future__ import annotations

import hashlib
import json
import shutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

# what differs from one run to the next: times, what has a bearing on them, and checksums of them
TIMES = {"seconds", "tokens_per_second", "peak_memory", "begun", "timing", "side_by_side", "checksum"}
LOG = "log.txt"  # of an experiment's processes: how often they began shows
Contents = dict[str, str]  # of a folder: what each file holds, by its path


class Victim(ABC):
    """A command. Everything it reads lies in `shared`, and all that it writes goes into the folder `here`."""

    name: str
    share: float  # of the time
    has_twin = True  # whether it is also started twice at once

    def __init__(self, shared: Path) -> None:
        self.shared = shared
        self.finished: Contents = {}  # what it leaves undisturbed, all but the times

    @abstractmethod
    def arguments(self, here: Path) -> list[str]:
        """The command."""

    def begin(self, here: Path, is_new: bool) -> None:  # noqa: B027  # some begin with nothing
        """Fill the folder with what the command finds; `is_new`: nothing of its own."""

    @abstractmethod
    def check(self, here: Path, is_new: bool) -> None:
        """Raises AssertionError if a kill has left what is not whole. is_new: as when it began"""

    def contents(self, here: Path) -> Contents:
        """All that the command has left, apart from times."""
        return contents(here)


class Replacement(Victim):
    """A command that makes a folder, in the place of an older one if there is any."""

    folder: str  # its name, in `shared` that of the older one

    def begin(self, here: Path, is_new: bool) -> None:
        if not is_new:
            shutil.copytree(self.shared / self.folder, here / self.folder)

    @cached_property
    def before(self) -> Contents:
        return contents(self.shared / self.folder)

    def check(self, here: Path, is_new: bool) -> None:
        assert_one_of(here / self.folder, is_new, self.before, below(self.finished, self.folder))


class Prepare(Replacement):
    """Replaces a corpus with another one of the same text."""

    name, share, folder = "prepare", 0.2, "data"

    def arguments(self, here: Path) -> list[str]:
        return prepare_arguments(self.shared, here / self.folder, 300)


class Export(Replacement):
    """Replaces a model in 8 bits with one in single precision."""

    name, share, folder = "export", 0.2, "model"

    def arguments(self, here: Path) -> list[str]:
        return ["export", str(self.shared / "run"), str(here / self.folder), "--precision", "fp32"]


class Train(Victim):
    """Trains, keeps the best checkpoints and averages them."""

    name, share = "train", 0.4

    def arguments(self, here: Path) -> list[str]:
        return ["train", str(self.shared / "recipe.yaml"), "--output", str(here / "run"), "--quiet"]

    @cached_property
    def steps(self) -> dict[str, Contents]:
        """What a checkpoint of any step holds, by its name, of a run that kept them all: a signal may save any step."""
        return {path.name: _tensors(path) for path in (self.shared / "run").glob("step-*")}

    def check(self, here: Path, is_new: bool) -> None:
        for folder in (here / "run").glob("step-*"):
            assert _tensors(folder) == self.steps[folder.name], f"{folder}: not the checkpoint it should be"
            assert (folder / "checkpoint.json").is_file(), f"{folder}: without checkpoint.json"


class Experiment(Victim):
    """Trains and scores two cells side by side, in processes of their own."""

    name, share = "experiment", 0.2
    has_twin = False  # the second would wait for the first, for as long as that takes

    def arguments(self, here: Path) -> list[str]:
        return ["experiment", str(here / "grid.yaml"), "--no-timing"]

    def begin(self, here: Path, is_new: bool) -> None:
        block = {"corpus": "Phrasebook", "recipe": str(self.shared / "grid-recipe.yaml")}
        block |= {"data": [str(self.shared / "data")], "heads": ["softmax", "binary-ec"]}
        grid = {"runs": str(here / "runs"), "results": str(here / "results"), "at_once": 2, "grid": [block]}
        (here / "grid.yaml").write_text(yaml.safe_dump(grid), encoding="utf-8")

    def check(self, here: Path, is_new: bool) -> None:
        for path in (here / "results").glob("*.json"):
            json.loads(path.read_text(encoding="utf-8"))

    def contents(self, here: Path) -> Contents:
        return {name: "" if name.endswith(LOG) else text for name, text in contents(here).items()}


VICTIMS = (Prepare, Export, Train, Experiment)


def prepare_arguments(shared: Path, folder: Path, vocab_size: int) -> list[str]:
    files = {
        f"--{split}-{side}": str(shared / "text" / f"{split}.{language}")
        for split in ("train", "dev", "test")
        for side, language in (("source", "en"), ("target", "ja"))
    }
    files |= {"--source-language": "en", "--target-language": "ja", "--tokenizer": "whitespace"}
    files |= {"--source-vocab-size": str(vocab_size), "--target-vocab-size": str(vocab_size)}
    return ["prepare", str(folder), *(part for option in files.items() for part in option)]


def recipe(shared: Path, **training: Any) -> str:
    """The recipe of a tiny run in `shared`."""
    always = {"batch_sentences": 8, "learning_rate": 0.01, "threads": 1, "device": "cpu", "validate_every": 8}
    model = {"embedding_size": 16, "hidden_size": 16}
    places = {"data": str(shared / "data"), "output": str(shared / "run"), "head": "hybrid-64-ec", "model": model}
    return yaml.safe_dump(places | {"training": always | training})


def contents(folder: Path) -> Contents:
    """All files below a folder, hidden ones, too: their SHA-256 or, of JSON, what they say apart from times."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_dir():
            if not any(path.iterdir()):
                found[f"{name}/"] = "an empty folder"
        elif path.suffix in (".json", ".jsonl"):
            values = [json.loads(line) for line in path.read_text().splitlines()] if path.suffix == ".jsonl" else None
            found[name] = json.dumps(_timeless(values or json.loads(path.read_text())), sort_keys=True)
        else:
            found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def below(found: Contents, folder: str) -> Contents:
    """The part of it that is in a folder."""
    return {name.removeprefix(f"{folder}/"): text for name, text in found.items() if name.startswith(f"{folder}/")}


def differences(found: Mapping[str, str], expected: Mapping[str, str]) -> list[str]:
    """What is missing, left over or another one."""
    names = sorted(found.keys() | expected.keys())
    return [
        f"{name}: {'missing' if name not in found else 'left over' if name not in expected else 'differs'}"
        for name in names
        if found.get(name) != expected.get(name)
    ]


def assert_one_of(folder: Path, may_be_missing: bool, *expected: Contents) -> None:
    """What stands there is one of these as a whole."""
    if not folder.exists():
        assert may_be_missing, f"{folder}: neither the old nor the new one is there"
        return
    found = contents(folder)
    assert found in expected, f"{folder}: neither the old nor the new one: {differences(found, expected[-1])}"


def _tensors(folder: Path) -> Contents:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.safetensors")}


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(each) for key, each in value.items() if key not in TIMES}
    return [_timeless(each) for each in value] if isinstance(value, list) else value

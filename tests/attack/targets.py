"""Targets: a reader of Trellex each, and the inputs that it is given."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random

from mutations import mutate


class Target:
    """A reader, and what it is given: bytes, in which `draw` has hidden a fault.

    Attributes:
        name: for the command line
        suffix: of the names of inputs
        is_guided: whether coverage can lead the way: no torch, many inputs a second
    """

    name: str
    suffix: str
    is_guided = False

    def begin(self, work: Path) -> None:
        """Make ready in a workspace; called once."""

    def seeds(self) -> list[bytes]:
        """Inputs that are whole."""
        return []

    def traps(self) -> list[bytes]:
        """Inputs that are hostile in a way that chance would not find; they are tried once, as they are."""
        return []

    def place(self, data: bytes) -> str:
        """Where an input was damaged, if that is known."""
        return ""

    def draw(self, random: Random) -> bytes:
        return mutate(f"x{self.suffix}", random.choice(self.seeds()), random)

    def read(self, data: bytes) -> object:
        """Raises ValueError or OSError where the input is refused."""
        raise NotImplementedError


@dataclass
class FileTarget(Target):
    """A reader of one file, which may stand in a folder with others.

    Attributes:
        file: its name in the workspace, where there is one; else any
        open: reads it
        first: inputs to begin from, besides that file
        hostile: gives the traps
    """

    name: str
    file: str
    open: Callable[[Path], object]
    first: Callable[[], list[bytes]] = list
    hostile: Callable[[], list[bytes]] = list
    is_guided: bool = False

    def begin(self, work: Path) -> None:
        self._seeds = self.first()
        self._folder = Path(tempfile.mkdtemp(dir=work))
        if (work / self.file).is_file():
            self._seeds.append((work / self.file).read_bytes())
            shutil.copytree((work / self.file).parent, self._folder, dirs_exist_ok=True)

    @property
    def suffix(self) -> str:  # type: ignore[override]
        return Path(self.file).suffix

    def seeds(self) -> list[bytes]:
        return self._seeds

    def traps(self) -> list[bytes]:
        return self.hostile()

    def read(self, data: bytes) -> object:
        path = self._folder / Path(self.file).name
        path.write_bytes(data)
        return self.open(path)

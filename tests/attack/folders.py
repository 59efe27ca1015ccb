"""Whole folders: a copy with one fault is refused, or gives exactly what the whole folder gives."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import workspace
from attempt import ChangedError
from mutations import Mutation, draw, seal
from targets import Target

from trellex.kinds import CHECKPOINT_FILE, CORPUS_FILE, EXPORT_FILE


@dataclass
class FolderTarget(Target):
    """A reader of a folder. An input is a mutation, in JSON.

    Attributes:
        folder: its name in the workspace
        outcome: what it leads to; called with the workspace and the folder
        manifest: if given, checksums in this file are made to fit, and another outcome is no fault
    """

    name: str
    folder: str
    outcome: Callable[[Path, Path], Any]
    manifest: str | None = None
    suffix = ".json"

    def begin(self, work: Path) -> None:
        self._work = work
        self._expected = self._outcome(lambda folder: None)

    def draw(self, random: Random) -> bytes:
        return draw(self._work / self.folder, random).to_json()

    def place(self, data: bytes) -> str:
        """The file, and where in it if it is a document."""
        mutation = Mutation.from_json(data)
        keys = (key for key in mutation.options.get("path", ()) if isinstance(key, str))
        return ".".join([mutation.file, *keys])

    def read(self, data: bytes) -> None:
        mutation = Mutation.from_json(data)
        try:
            found = self._outcome(lambda folder: self._damage(folder, mutation))
        except FloatingPointError:
            if self.manifest is None:
                raise
            return  # training may diverge from weights that somebody chose
        if self.manifest is None and found != self._expected:
            raise ChangedError(self.place(data), f"{mutation}: {found!r:.300} instead of {self._expected!r:.300}")

    def _damage(self, folder: Path, mutation: Mutation) -> None:
        mutation.apply(folder)
        if self.manifest is not None and mutation.file != self.manifest:
            seal(folder, self.manifest)

    def _outcome(self, damage: Callable[[Path], None]) -> Any:
        with tempfile.TemporaryDirectory(dir=self._work) as place:
            folder = Path(shutil.copytree(self._work / self.folder, Path(place) / "copy"))
            damage(folder)
            return self.outcome(self._work, folder)


def _translations(work: Path, folder: Path) -> list[str]:
    import trellex

    return trellex.load(folder).translate(workspace.lines(work))


def _ids(work: Path, folder: Path) -> list[Any]:
    """All that a training or an evaluation takes from a corpus."""
    from trellex.text import Corpus

    corpus = Corpus.open(folder)
    found: list[Any] = [corpus.source_vocabulary.words, corpus.target_vocabulary.words]
    for name in corpus.manifest.settings.splits():
        split = corpus.split(name)
        found += [[side(row).tolist() for row in range(len(split))] for side in (split.source, split.target)]
        found += [] if name == "train" else [split.source_lines, split.target_lines, split.target_tokens]
    return found


def _end(work: Path, folder: Path) -> list[Any]:
    """What training leaves when it goes on: weights, optimiser, evaluations, and the mark of the best."""
    workspace.go_on(work, folder)
    last = folder / f"step-{workspace.STEPS + workspace.MORE_STEPS:09d}"
    evaluations = json.loads((last / CHECKPOINT_FILE).read_bytes())["evaluations"]
    names = (last / "model.safetensors", last / "optimizer.safetensors", folder / "best.json")
    return [path.read_bytes() for path in names] + [evaluations]


FOLDERS = [
    FolderTarget("corpus", workspace.CORPUS, _ids),
    FolderTarget("export", workspace.EXPORT, _translations),
    FolderTarget("shelves-export", workspace.SHELVES, _translations),
    FolderTarget("free-export", workspace.FREE, _translations),
    FolderTarget("compact-export", workspace.COMPACT, _translations),
    FolderTarget("checkpoint", workspace.CHECKPOINT, _translations),
    FolderTarget("run", workspace.RUN, _translations),
    FolderTarget("resume", workspace.RUN, _end),
    FolderTarget("sealed-corpus", workspace.CORPUS, _ids, manifest=CORPUS_FILE),
    FolderTarget("sealed-export", workspace.EXPORT, _translations, manifest=EXPORT_FILE),
    FolderTarget("sealed-shelves-export", workspace.SHELVES, _translations, manifest=EXPORT_FILE),
    FolderTarget("sealed-free-export", workspace.FREE, _translations, manifest=EXPORT_FILE),
    FolderTarget("sealed-compact-export", workspace.COMPACT, _translations, manifest=EXPORT_FILE),
    FolderTarget("sealed-resume", workspace.RUN, _end, manifest=f"{workspace.LAST}/{CHECKPOINT_FILE}"),
]

"""The job of a bulk translation: what a command, or a worker on another machine, is asked to do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from trellex.records import Record
from trellex.search import SearchSettings
from trellex.translator import Translator, load


class Settings(Record):
    """What translations depend on, besides text and model. The same for all shards."""

    beam: int = 1
    nbest: int = 1
    length_penalty: float = 1.0
    sample: bool = False
    temperature: float = 1.0
    seed: int | None = None
    batch_tokens: int = 2048
    decoding: str | None = None
    tokens: bool = False
    replace_unknown: bool = False
    spell_unknown: bool = False
    shortlist: str | None = None  # its SHA-256
    scores: bool = False  # JSON lines
    column: str | None = None  # of Parquet: what to translate
    new_column: str | None = None  # and where to

    def search(self) -> SearchSettings:
        return SearchSettings(self.beam, self.nbest, self.length_penalty, self.sample, self.temperature)

    def differences(self, other: Settings) -> dict[str, tuple[Any, Any]]:
        """Both values of those that differ, by what their options are called."""
        ours, theirs = self.model_dump(), other.model_dump()
        named = {"json" if name == "scores" else name: name for name in ours}
        return {option: (ours[name], theirs[name]) for option, name in named.items() if ours[name] != theirs[name]}


class Job(Record):
    """All that a process needs to know to translate shards."""

    model: Path
    texts: Path  # a file or a folder
    output: Path
    settings: Settings
    shortlist: Path | None = None
    strict: bool = False
    threads: int | None = None
    device: str = "cpu"
    verify: bool = True

    def load(self) -> Translator:
        """The model, ready to translate."""
        return load(
            self.model,
            threads=self.threads,
            device=self.device,
            decoding=self.settings.decoding,
            verify=self.verify,
            shortlist=self.shortlist,
            spell_unknown=self.settings.spell_unknown,
        )

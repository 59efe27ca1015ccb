"""A translator from an exported folder, without torch."""

from __future__ import annotations

from pathlib import Path

from trellex.runtime.folder import REMEDY, RuntimeManifest
from trellex.runtime.model import RuntimeModel
from trellex.text.vocabulary import Vocabulary
from trellex.translator import Translator


def load_export(folder: Path, threads: int = 1) -> Translator:
    """The model of a folder that `trellex export` made. Raises ValueError that names what is wrong with it."""
    manifest = RuntimeManifest.load(folder)
    try:
        source, target = (Vocabulary.load(folder / f"vocab.{side}.txt") for side in ("source", "target"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder}: a vocabulary cannot be read ({error}); {REMEDY}") from error
    if len(target) != manifest.head.vocab_size:
        raise ValueError(f"{folder}: {len(target):,} words instead of {manifest.head.vocab_size:,}; {REMEDY}")
    model = RuntimeModel(folder, manifest, len(source), len(target), threads)
    return Translator(model, manifest.text, source, target, {"recipe": {"head": manifest.head.spec}})

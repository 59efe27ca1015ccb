"""The models that come with Trellex, by name: exported folders beside this file, each with a card, `README.md`."""

from __future__ import annotations

from pathlib import Path

from trellex.files import AnyPath
from trellex.kinds import CHECKPOINT, EXPORT, EXPORT_FILE, RUN, check_kind

HERE = Path(__file__).parent


def names() -> list[str]:
    """Of those that are here."""
    return sorted(path.parent.name for path in HERE.glob(f"*/{EXPORT_FILE}"))


def find_model(path: AnyPath) -> Path:
    """The folder of a model: an exported one, a run or a checkpoint; or, by its name, one that comes with Trellex.

    A folder of that name comes first. Raises FileNotFoundError if there is neither, ValueError if it is something else.
    """
    folder = Path(path)
    if not folder.exists() and str(path) in names():
        return HERE / folder
    check_kind(folder, RUN, CHECKPOINT, EXPORT)
    if not folder.is_dir():
        known = " or ".join(names())
        raise FileNotFoundError(
            f"{folder}: there is no such folder; give an exported model, a run or a checkpoint"
            + (f", or {known}, which come with Trellex" if known else "")
        )
    return folder

"""The board: what a run reports, for TensorBoard to draw."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

FOLDER = "tensorboard"  # in that of the run
CURVES = {
    "loss": "training/loss",
    "learning_rate": "training/learning_rate",
    "tokens_per_second": "training/tokens_per_second",
    "dev_bleu": "bleu/dev",
    "test_bleu": "bleu/test",
}


class Board:
    """Writes events, from the first report on.

    Args:
        run: the folder of the run
        is_wanted: without it nothing is written; with it ImportError is raised if the package is missing
    """

    def __init__(self, run: Path, is_wanted: bool) -> None:
        self._folder, self._is_wanted, self._step = run / FOLDER, is_wanted, 0
        self._writer: Any = None
        if is_wanted:
            _writer_class()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def go_on(self, step: int) -> None:
        """Events after this step, which came of what was lost, will not be drawn."""
        self._step = step

    def add(self, step: int, values: Mapping[str, Any]) -> None:
        """Add a point to the curve of every value that has one."""
        if not self._is_wanted:
            return
        if self._writer is None:
            self._writer = _writer_class()(str(self._folder), purge_step=self._step + 1)
        for name, curve in CURVES.items():
            if values.get(name) is not None:
                self._writer.add_scalar(curve, values[name], step)

    def flush(self) -> None:
        """Bring all points to the disk."""
        if self._writer is not None:
            self._writer.flush()


def _writer_class() -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise ImportError(
            f"training.tensorboard: the package is missing ({error}); pip install 'trellex[tensorboard]', "
            "or make the key false"
        ) from error
    return SummaryWriter

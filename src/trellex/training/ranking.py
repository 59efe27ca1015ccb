"""The ranking of a run's checkpoints: which are the best on dev, and which of them to average."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trellex.evaluation.curve import Evaluation
from trellex.kinds import RUN, check_kind
from trellex.training import checkpoint

FEWEST, MOST = 2, 5  # checkpoints to average, unless told


def evaluations_of(run: Path) -> list[Evaluation]:
    """All evaluations up to the newest checkpoint of a run."""
    check_kind(run, RUN)
    newest = checkpoint.newest_checkpoint(run)
    if newest is None:
        raise FileNotFoundError(f"{run}: no checkpoint here; give the folder of a run")
    return checkpoint.load_info(newest).curve()


def best_steps(evaluations: Sequence[Evaluation], count: int) -> list[int]:
    """The steps of the highest dev BLEU, the best first; of equals the earlier ones."""
    return [evaluation.step for evaluation in sorted(evaluations, key=lambda each: -each.dev)[:count]]


def best_checkpoints(run: Path, evaluations: Sequence[Evaluation]) -> list[Path]:
    """The checkpoints of a run that were evaluated, the best first."""
    folders = (checkpoint.step_folder(run, step) for step in best_steps(evaluations, len(evaluations)))
    return [folder for folder in folders if folder.is_dir()]


def choose(run: Path, evaluations: Sequence[Evaluation], best: int | None, last: int | None) -> list[Path]:
    """So many of the best checkpoints of a run, or of the last; unless told, the best that it has, five at most.

    Raises ValueError if it has not as many, or not two.
    """
    if last is None:
        found, kind, key = best_checkpoints(run, evaluations), "evaluated checkpoints", "keep_best"
        count = best or min(max(len(found), FEWEST), MOST)
    else:
        found, kind, key, count = checkpoint.checkpoints(run)[::-1], "checkpoints", "keep_checkpoints", last
    if len(found) < count:
        raise ValueError(
            f"{run}: has {len(found)} {kind}, not {count}; average fewer, or train with training.{key} of {count}"
        )
    return found[:count]

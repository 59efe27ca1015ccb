"""Averages: a checkpoint whose weights are the means of those of several, and may stand for its run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from torch import Tensor

from trellex.evaluation.curve import Evaluation, best_evaluation
from trellex.files import check_writable
from trellex.kinds import STEP_FOLDER
from trellex.temporaries import remove
from trellex.text.corpus import Corpus
from trellex.training import checkpoint
from trellex.training.loading import load_checkpoint
from trellex.training.origin import check_one_training
from trellex.training.ranking import FEWEST, best_checkpoints
from trellex.training.validation import corpus_bleu


@dataclass(frozen=True)
class Average:
    """An average that was written.

    Attributes:
        folder: an ordinary checkpoint, but for what only training needs
        steps: of the checkpoints whose mean it is, in order
        bleu: of dev and, where there is such a split, of test; empty if the corpus was not there
    """

    folder: Path
    steps: list[int]
    bleu: dict[str, float]

    @classmethod
    def find(cls, folder: Path) -> Self | None:
        """What is in a folder, if that is an average."""
        try:
            info = checkpoint.load_info(folder)
        except (OSError, ValueError):
            return None
        return None if info.averaged is None else cls(folder, info.averaged, info.bleu)

    def is_better(self, evaluations: Sequence[Evaluation]) -> bool:
        """Whether its dev BLEU is higher than any of these."""
        return bool(evaluations) and self.bleu.get("dev", 0.0) > best_evaluation(evaluations).dev

    def summary(self, evaluations: Sequence[Evaluation]) -> dict[str, Any]:
        """What people are told: which steps, BLEU, and whether it is better than any of these on dev."""
        facts: dict[str, Any] = {"average of steps": ", ".join(map(str, self.steps))}
        facts |= {f"{split} BLEU of the average": round(bleu, 2) for split, bleu in self.bleu.items()}
        if self.bleu and evaluations:
            facts["better than the best"] = "yes" if self.is_better(evaluations) else "no"
        return facts


def make_average(folders: Sequence[Path], output: Path, corpus: Corpus | None, device: str = "cpu") -> Average:
    """Average checkpoints, evaluate that on a corpus, if there is one, and write it, whole or not at all.

    An average that is there already is replaced. Raises ValueError if the checkpoints are not of one training.
    """
    if STEP_FOLDER.fullmatch(output.name):
        raise ValueError(f"{output}: training names its checkpoints like this; choose another name")
    if output.exists() and Average.find(output) is None:
        raise ValueError(f"{output}: exists and is no average; choose another folder, or remove it")
    check_writable(output.parent)
    folders = sorted(folders, key=lambda folder: folder.name)
    check_one_training(folders)
    infos = [checkpoint.load_info(folder) for folder in folders]
    for folder, info in zip(folders, infos, strict=True):
        checkpoint.verify(folder, info, checkpoint.OF_THE_MODEL)
    loaded, weights = load_checkpoint(folders[-1], device, verify=False), mean_weights(folders)
    loaded.model.load_state_dict(weights)
    bleu = {} if corpus is None else corpus_bleu(loaded.model, corpus)
    average = Average(output, [info.step for info in infos], bleu)
    facts = infos[-1].model_dump(mode="json", include={"step", "evaluations", "recipe", "corpus"})
    facts |= {"averaged": average.steps, "bleu": average.bleu}
    copies = {name: folders[-1] / name for name in infos[-1].corpus.files()}
    codes = loaded.model.head.code, True, loaded.model.network.word_codes
    checkpoint.save_checkpoint(output, {"model": weights}, copies, facts, *codes)
    return average


def mean_weights(folders: Sequence[Path]) -> dict[str, Tensor]:
    """The means of all tensors, added up in double precision. What is no fraction must be the same in all."""
    first = checkpoint.load_tensors(folders[0], "model")
    sums = {name: value.double() for name, value in first.items() if value.is_floating_point()}
    for folder in folders[1:]:
        weights = checkpoint.load_tensors(folder, "model")
        if _fixed(weights) != _fixed(first):
            raise ValueError(f"{folder}: its weights differ in kind from those of {folders[0]}; {checkpoint.REMEDY}")
        for name, total in sums.items():
            total += weights[name].double()
    return first | {name: (total / len(folders)).to(first[name].dtype) for name, total in sums.items()}


def _fixed(weights: dict[str, Tensor]) -> dict[str, Any]:
    """What an average does not change: names, types and shapes, and all values that are no fractions."""
    return {
        name: (value.dtype, value.shape, None if value.is_floating_point() else value.tolist())
        for name, value in weights.items()
    }


def average_best(
    run: Path, evaluations: Sequence[Evaluation], count: int, corpus: Corpus, device: str
) -> Average | None:
    """Average so many of the best checkpoints of a run, or all that it has, unless that was done before.

    None if there are fewer than two of them.
    """
    folders = best_checkpoints(run, evaluations)[:count]
    if len(folders) < FEWEST:
        return None
    average = Average.find(run / checkpoint.AVERAGE)
    steps = set(map(checkpoint.step_of, folders))
    if average is None or set(average.steps) != steps or not average.bleu:
        average = make_average(folders, run / checkpoint.AVERAGE, corpus, device)
    mark_standing(run, evaluations)
    return average


def mark_standing(run: Path, evaluations: Sequence[Evaluation]) -> None:
    """Remember what stands for a run: its best checkpoint or, where that is better on dev, its average."""
    if evaluations:
        average = Average.find(run / checkpoint.AVERAGE)
        is_average = average is not None and average.is_better(evaluations)
        checkpoint.mark_best(run, best_evaluation(evaluations).step, is_average)


def drop_average(run: Path, after: int) -> None:
    """Remove the average of a run if a later step is part of it, for the run will come there again."""
    average = Average.find(run / checkpoint.AVERAGE)
    if average is not None and max(average.steps) > after:
        remove(average.folder)

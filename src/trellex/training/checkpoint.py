"""Checkpoints: a folder each, safetensors and JSON, that appears whole or not at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from trellex import codes
from trellex.checksums import check_sums, sha256
from trellex.codes import Code
from trellex.files import atomic_folder, atomic_writer, check_file, check_no_other, check_readable, is_full_disk
from trellex.heads.coded_spec import CodedSpec
from trellex.heads.spec import HeadSpec
from trellex.kinds import CHECKPOINT, CHECKPOINT_FILE, RUN, STEP_FOLDER, check_kind
from trellex.nmt.settings import ModelSettings
from trellex.nmt.word_codes import WORD_CODES, WordCodes
from trellex.records import sealed
from trellex.temporaries import remove
from trellex.text.manifest import PIECE_MODELS, VOCABULARIES
from trellex.training.info import VERSION, Info, Mark, Version

REMEDY = "use another checkpoint, or remove this one to train on from the one before"
WHAT = "the description of a checkpoint"
CODE = "code.json"  # of the head
MODEL, OPTIMIZER = "model.safetensors", "optimizer.safetensors"
OF_THE_MODEL = (MODEL, CODE, *WORD_CODES, *VOCABULARIES, *PIECE_MODELS)  # what translating needs
FILES = (*OF_THE_MODEL, OPTIMIZER)
BEST = "best.json"  # in the folder of a run
AVERAGE = "average"  # beside the checkpoints of a run, the mean of some of them


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Say what could not be written, and what to do, if the disk is full or fails."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        problem, remedy = ("no space left on the device", "make room") if is_full_disk(error) else (error, "mend that")
        remedy += ", and the same command goes on from the newest checkpoint"
        raise OSError(f"{path}: could not be written ({problem}); {remedy}") from error


def save_checkpoint(
    folder: Path,
    tensors: Mapping[str, Mapping[str, Tensor]],
    copies: Mapping[str, Path],
    info: Mapping[str, Any],
    code: Code | None = None,
    replace: bool = False,
    word_codes: WordCodes | None = None,
) -> None:
    """Write named files of tensors, copies of files, `info`, which must be that of `Info`, and codes into `folder`.

    code: the head's; word_codes: those of composed word vectors; replace: even if it is there already
    """
    if folder.exists() and not replace:
        return
    with writing(folder), atomic_folder(folder) as new:
        for name, values in tensors.items():
            contiguous = {key: value.detach().cpu().contiguous() for key, value in values.items()}
            save_file(contiguous, new / f"{name}.safetensors")
        for name, original in copies.items():
            shutil.copyfile(original, new / name)
        if code is not None:
            code.save(new / CODE)
        for name, of_side in (word_codes.by_file if word_codes else {}).items():
            of_side.save(new / name)
        data = {"version": VERSION, **info, "files": {path.name: sha256(path) for path in sorted(new.iterdir())}}
        Info.checked(data, folder / CHECKPOINT_FILE)
        (new / CHECKPOINT_FILE).write_text(json.dumps(sealed(data), indent=1), encoding="utf-8")


def load_info(folder: Path) -> Info:
    """What a checkpoint tells of itself. Raises ValueError or OSError unless all that it must have is there."""
    path = folder / CHECKPOINT_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{folder}: no {CHECKPOINT_FILE} here; give a checkpoint's folder or that of its run")
    for file in filter(Path.is_file, sorted(folder.iterdir())):
        check_readable(file)
    for name in FILES:
        check_no_other(folder / name, REMEDY)
    check_file(folder / MODEL, REMEDY)
    version = Version.load_json(path, WHAT, REMEDY).version
    if version != VERSION:
        raise ValueError(
            f"{path}: written by another version (format {version}, this one reads {VERSION}); "
            "use that version, or train anew"
        )
    info = Info.load_json(path, WHAT, REMEDY)
    for name in info.corpus.files():
        check_file(folder / name, REMEDY)
    if STEP_FOLDER.fullmatch(folder.resolve().name) and step_of(folder.resolve()) != info.step:
        raise ValueError(f"{path}: is of step {info.step}, not of that in the folder's name; {REMEDY}")
    return info


def verify(folder: Path, info: Info, names: Collection[str] = FILES) -> None:
    """Compare files of a checkpoint, those that it has of `names`, with their checksums; older ones have none.

    Raises ValueError that names the first that differs.
    """
    if info.files is None:
        return
    for name in names:
        if name not in info.files and (folder / name).exists():
            raise ValueError(f"{folder / CHECKPOINT_FILE}: has no checksum of {name}; {REMEDY}")
    check_sums(folder, {name: info.files[name] for name in names if name in info.files}, REMEDY)


def load_tensors(folder: Path, name: str, like: Mapping[str, Tensor] | None = None) -> dict[str, Tensor]:
    """One file of tensors of a checkpoint, all finite.

    like: what must be there and nothing else, by name, with its shape and type; no memory is taken for others
    """
    path = folder / f"{name}.safetensors"
    check_file(path, REMEDY)
    try:
        with safe_open(path, "pt") as file:
            found = list(file.keys())
            if like is not None:
                shapes = {key: tuple(file.get_slice(key).get_shape()) for key in found}
                _check_like(path, shapes, {key: tuple(value.shape) for key, value in like.items()})
            tensors = {key: file.get_tensor(key) for key in found}
            lost = [key for key, value in tensors.items() if not bool(value.isfinite().all())]
    except (SafetensorError, OSError, RuntimeError, OverflowError) as error:
        raise ValueError(f"{path}: damaged or cut short ({error}); {REMEDY}") from error
    if like is not None:
        kinds = ({key: value.dtype for key, value in each.items()} for each in (tensors, like))
        _check_like(path, *kinds)
    if lost:
        raise ValueError(f"{path}: {lost[0]} is not finite: damaged, or training diverged; {REMEDY}")
    return tensors


def _check_like(path: Path, found: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """Raises ValueError that names the first tensor whose shape, or type, is not the expected one."""
    for key in sorted(found.keys() | expected.keys()):
        if found.get(key) != expected.get(key):
            told = (str(each[key]) if key in each else "nothing" for each in (found, expected))
            problem = "{}: found {}, expected {}".format(key, *told)
            raise ValueError(f"{path}: does not fit the model ({problem}); {REMEDY}")


def load_code(folder: Path, spec: HeadSpec, vocab_size: int) -> Code | None:
    """The code of a checkpoint whose head is one of codes, otherwise None. It must be one of so many words."""
    if not isinstance(spec, CodedSpec) or not spec.has_code:
        return None
    try:
        code = codes.load_code(folder / CODE)
        spec.check_code(code, vocab_size)
    except ValueError as error:
        raise ValueError(f"{folder / CODE}: missing, damaged or of another model ({error}); {REMEDY}") from error
    return code


def load_word_codes(folder: Path, model: ModelSettings, source_size: int, target_size: int) -> WordCodes | None:
    """The codes of a checkpoint whose word vectors are composed, otherwise None. They must be of so many words."""
    if not model.embeddings.is_composed:
        return None
    try:
        return WordCodes(*(codes.load_code(folder / name) for name in WORD_CODES)).check(source_size, target_size)
    except ValueError as error:
        raise ValueError(f"{folder}: a code is missing, damaged or of another model ({error}); {REMEDY}") from error


def step_folder(run: Path, step: int) -> Path:
    return run / f"step-{step:09d}"


def step_of(folder: Path) -> int:
    """The inverse of `step_folder`."""
    return int(folder.name.removeprefix("step-"))


def checkpoints(run: Path) -> list[Path]:
    """The checkpoints of a run, oldest first."""
    return sorted(path for path in run.iterdir() if STEP_FOLDER.fullmatch(path.name)) if run.is_dir() else []


def newest_checkpoint(run: Path) -> Path | None:
    """The last checkpoint of a run, if there is one."""
    return next(reversed(checkpoints(run)), None)


def mark_best(run: Path, step: int, average: bool = False) -> None:
    """Remember the checkpoint of this step as the best of the run, or that its average is better still."""
    path = run / BEST
    check_no_other(path, "move that elsewhere")
    with writing(path), atomic_writer(path) as file:
        json.dump({"step": step, "average": True} if average else {"step": step}, file)


def best_checkpoint(run: Path) -> Path | None:
    """The checkpoint, or the average, that was marked as the best, if it is there."""
    path = run / BEST
    if not path.is_file():
        return None
    try:
        mark = Mark.load_json(path, "the mark of a checkpoint", "train on")
    except ValueError:
        return None
    folders = [run / AVERAGE] if mark.average else []
    return next((folder for folder in (*folders, step_folder(run, mark.step)) if folder.is_dir()), None)


def remove_old(run: Path, keep: int, best: Collection[int] = ()) -> None:
    """Delete all checkpoints but the newest `keep` and the `best` steps."""
    kept = {step_folder(run, step) for step in best}
    for folder in checkpoints(run)[:-keep]:
        if folder not in kept:
            remove(folder)


def model_folder(path: Path) -> Path:
    """The checkpoint to translate with: the folder itself, or a run's best, be it an average, or its newest."""
    check_kind(path, RUN, CHECKPOINT)
    if (path / CHECKPOINT_FILE).is_file():
        return path
    folder = best_checkpoint(path) or newest_checkpoint(path)
    if folder is None:
        raise FileNotFoundError(f"{path}: no checkpoint here; train first, or give the folder of a run")
    return folder

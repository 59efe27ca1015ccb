"""Checkpoints: a folder each, safetensors and JSON, that appears whole or not at all."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from trellex import codes
from trellex.codes import Code
from trellex.files import atomic_folder, atomic_writer, check_readable, is_full_disk
from trellex.heads.spec import CodeSpec, HeadSpec
from trellex.kinds import CHECKPOINT, CHECKPOINT_FILE, RUN, STEP_FOLDER, check_kind
from trellex.temporaries import remove

VERSION = 2
REMEDY = "use another checkpoint, or remove this one to train on from the one before"
CODE = "code.json"
VOCABULARIES = ("vocab.source.txt", "vocab.target.txt")
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
) -> None:
    """Write named files of tensors, copies of files, `info` and a code into `folder`.

    replace: even if it is there already
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
        (new / CHECKPOINT_FILE).write_text(json.dumps({"version": VERSION, **info}, indent=1), encoding="utf-8")


def load_info(folder: Path) -> dict[str, Any]:
    """The JSON part of a checkpoint."""
    path = folder / CHECKPOINT_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{folder}: no {CHECKPOINT_FILE} here; give a checkpoint's folder or that of its run")
    for file in filter(Path.is_file, sorted(folder.iterdir())):
        check_readable(file)
    try:
        info = json.loads(path.read_text(encoding="utf-8"))
        version = info["version"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"{path}: damaged or cut short; {REMEDY}") from error
    if version != VERSION:
        raise ValueError(
            f"{path}: written by another version (format {version}, this one reads {VERSION}); "
            "use that version, or train anew"
        )
    return info


def load_tensors(folder: Path, name: str, device: str = "cpu") -> dict[str, Tensor]:
    """One file of tensors of a checkpoint."""
    path = folder / f"{name}.safetensors"
    try:
        return load_file(path, device=device)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: missing; {REMEDY}") from None
    except SafetensorError as error:
        raise ValueError(f"{path}: damaged or cut short ({error}); {REMEDY}") from error


def load_code(folder: Path, spec: HeadSpec, vocab_size: int) -> Code | None:
    """The code of a checkpoint whose head is one of codes, otherwise None. It must be one of so many words."""
    if not isinstance(spec, CodeSpec):
        return None
    try:
        code = codes.load_code(folder / CODE)
        spec.check_code(code, vocab_size)
    except ValueError as error:
        raise ValueError(f"{folder / CODE}: missing, damaged or of another model ({error}); {REMEDY}") from error
    return code


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
    path = run / "best.json"
    with writing(path), atomic_writer(path) as file:
        json.dump({"step": step, "average": True} if average else {"step": step}, file)


def best_checkpoint(run: Path) -> Path | None:
    """The checkpoint, or the average, that was marked as the best, if it is there."""
    try:
        mark = json.loads((run / "best.json").read_text(encoding="utf-8"))
        folders = [run / AVERAGE] if mark.get("average") else []
        folders.append(step_folder(run, int(mark["step"])))
    except (FileNotFoundError, NotADirectoryError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return next((folder for folder in folders if folder.is_dir()), None)


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


def load_state(module: torch.nn.Module, tensors: Mapping[str, Tensor], folder: Path) -> None:
    """Put tensors into a module; a mismatch names the folder."""
    try:
        module.load_state_dict(dict(tensors))
    except RuntimeError as error:
        raise ValueError(f"{folder}: the weights do not fit the model it describes: {error}") from error

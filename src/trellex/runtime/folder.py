"""The folder of an exported model: what is in it, written whole or not at all and checked before it is used."""

from __future__ import annotations

import hashlib
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from trellex.files import atomic_folder
from trellex.records import Record
from trellex.text.manifest import TextSettings

MANIFEST = "trellex.json"
REMEDY = "export the model again"


class HeadFacts(Record):
    """What the runtime must know of the output layer."""

    spec: str | dict[str, Any]  # as in the recipe, for people
    vocab_size: int = Field(ge=2)
    softmax_size: int = Field(ge=0)  # 0: none; with bits, the last one is OTHER
    mixtures: int = Field(ge=0)  # sets of bits; 0: none
    offset: int = Field(ge=0)  # the word whose number in the code is 0
    first_rare: int = Field(ge=0)  # the first word that bits may spell
    code: dict[str, Any] | None
    generators: list[str]
    hidden_layer: int = Field(ge=0)  # the size of the layer before the bits; 0: none
    decoding: Literal["exact", "paper"]

    @model_validator(mode="after")
    def _parts_agree(self) -> Self:
        softmax_size = self.vocab_size if not self.mixtures else self.first_rare + 1 if self.first_rare else 0
        if self.softmax_size != softmax_size or self.offset not in (0, self.first_rare):
            raise ValueError("the sizes of softmax and code do not fit together")
        if self.first_rare >= self.vocab_size - 1:
            raise ValueError(f"first_rare: {self.first_rare:,} leaves no rare words")
        return self


class RuntimeManifest(Record):
    """The file that makes a folder an exported model."""

    format: Literal["trellex-runtime"] = "trellex-runtime"
    version: Literal[3] = 3
    precision: Literal["fp32", "int8"]
    text: TextSettings
    head: HeadFacts
    input_feeding: bool
    hidden_size: int = Field(ge=1)
    files: dict[str, tuple[int, str]] = Field({})  # bytes and SHA-256 of every other file

    @classmethod
    def load(cls, folder: Path) -> RuntimeManifest:
        """Read it, and check that every file is there and whole. Raises ValueError that names what is not."""
        path = folder / MANIFEST
        manifest = cls.load_json(path, "the manifest of an exported model", REMEDY)
        missing = manifest.expected_files() - set(manifest.files)
        if missing:
            raise ValueError(f"{path}: does not list {', '.join(sorted(missing))}; {REMEDY}")
        for name, (size, _) in manifest.files.items():
            if Path(name).name != name:
                raise ValueError(f"{path}: {name!r} is not a plain file name; {REMEDY}")
            if not (folder / name).is_file():
                raise ValueError(f"{folder / name}: missing; {REMEDY}")
            found = (folder / name).stat().st_size
            if found != size:
                raise ValueError(f"{folder / name}: has {found:,} bytes instead of {size:,}: damaged; {REMEDY}")
        return manifest

    def expected_files(self) -> set[str]:
        """The names of files that a model of this kind has; large weights of graphs are in others besides."""
        head = self.head
        graphs = ["encoder", "decoder", *(["softmax"] if head.softmax_size else [])]
        parts = ("linear", head.mixtures), ("weights", head.mixtures > 1), ("hidden", head.hidden_layer)
        layers = [f"bits.{name}" for name, exists in parts if exists]
        is_int8 = self.precision == "int8"
        of_softmax = ("rounded", "scales", "bias") if is_int8 else ("weight", "bias")
        variants = ("", ".signed") if is_int8 else ("",)
        return {
            *(f"{graph}{variant}.onnx" for graph in graphs for variant in variants),
            *(f"{layer}.{kind}.npy" for layer in layers for kind in ("weight", "bias")),
            *(f"{side}.vectors.npy" for side in ("source", "target")),
            *(f"softmax.{kind}.npy" for kind in of_softmax if head.first_rare),
            *(["target.vectors.scales.npy"] if is_int8 else []),
            *(f"vocab.{side}.txt" for side in ("source", "target")),
        }


def is_export(folder: Path) -> bool:
    return (folder / MANIFEST).is_file()


def verify(folder: Path, manifest: RuntimeManifest) -> None:
    """Compare every file with its checksum. Raises ValueError that names the first that differs."""
    for name, (_, checksum) in manifest.files.items():
        if _sha256(folder / name) != checksum:
            raise ValueError(f"{folder / name}: damaged, its checksum differs; {REMEDY}")


def new_folder(folder: Path) -> AbstractContextManager[Path]:
    """A folder to fill that takes the place of `folder` at the end of the block, or leaves no trace if that fails.

    Only an earlier export with nothing else in it, or an empty folder, is replaced.
    """
    if folder.exists() and not _is_ours(folder):
        raise ValueError(f"{folder}: is there already and holds other files; choose another folder")
    return atomic_folder(folder)


def _is_ours(folder: Path) -> bool:
    """Whether a folder is empty or holds an export and nothing else."""
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else {""}
    if not names:
        return True
    try:
        manifest = RuntimeManifest.model_validate_json((folder / MANIFEST).read_bytes())
    except (OSError, ValueError):
        return False
    return names <= {MANIFEST, *manifest.files}


def seal(folder: Path, manifest: RuntimeManifest) -> None:
    """Write the manifest with the size and checksum of every file in the folder."""
    files = {path.name: (path.stat().st_size, _sha256(path)) for path in sorted(folder.iterdir())}
    manifest.model_copy(update={"files": files}).save_json(folder / MANIFEST, indent=1)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def load_array(path: Path, shape: tuple[int, ...], *types: Any, mapped: bool = False) -> NDArray[Any]:
    """Numbers of this shape and of one of these types, real ones unless given.

    Raises ValueError that names the file if it has others.
    """
    try:
        array = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    except Exception as error:  # numpy has many ways to fail on what is not its own
        raise ValueError(f"{path}: not an array ({error or type(error).__name__}); {REMEDY}") from error
    expected = types or (np.float16, np.float32)
    if not isinstance(array, np.ndarray) or array.dtype not in expected or array.shape != shape:
        kinds = " or ".join(np.dtype(kind).name for kind in expected)
        raise ValueError(f"{path}: not an array of {' × '.join(map('{:,}'.format, shape))} {kinds}; {REMEDY}")
    return array

"""The folder of an exported model: what is in it, checked before it is used."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from trellex.checksums import check_sums, check_sums_once, sha256
from trellex.files import atomic_folder, check_file, check_writable, resolved
from trellex.heads.spec import AnyHeadSpec
from trellex.kinds import EXPORT, EXPORT_FILE, check_kind
from trellex.nmt.settings import ModelSettings
from trellex.npy import load_array
from trellex.records import Sealed, read_json
from trellex.text.manifest import TextSettings

MANIFEST = EXPORT_FILE
FORMAT: Literal["trellex-runtime"] = "trellex-runtime"
REMEDY = "export the model again"
WHAT = "the manifest of an exported model"


class RuntimeManifest(Sealed):
    """The file that makes a folder an exported model."""

    format: Literal["trellex-runtime"] = FORMAT
    version: Literal[4] = 4
    precision: Literal["fp32", "int8", "compact"]
    text: TextSettings
    model: ModelSettings
    head: AnyHeadSpec
    vocab_size: int = Field(ge=2)  # target words
    files: dict[str, tuple[int, str]] = Field({})  # bytes and SHA-256 of every other file

    @property
    def is_int8(self) -> bool:
        """Whether weights have 8 bits."""
        return self.precision != "fp32"

    @property
    def is_compact(self) -> bool:
        """Whether bytes are spared that would save time: tables made for speed, copies, graphs for certain CPUs."""
        return self.precision == "compact"

    @property
    def composes(self) -> bool:
        """Whether word vectors are composed as they are read, instead of once, when they are exported."""
        return self.is_compact and self.model.embeddings.is_composed

    @property
    def reads_unknown(self) -> bool:
        """Whether unknown source words are read by their codes; older exports of tables have no windows for them."""
        return self.model.embeddings.reads_unknown and "source.windows.npy" in self.files

    @property
    def variants(self) -> dict[str, str]:
        """The arithmetic of graphs by a part of their names: unsigned, or signed for CPUs that prefer it."""
        if not self.is_int8:
            return {"": "fp32"}
        return {"": "u8"} if self.is_compact else {"": "u8", ".signed": "s8"}


class Export(NamedTuple):
    """A folder that was exported."""

    path: Path
    manifest: RuntimeManifest

    @classmethod
    def open(cls, path: Path) -> Export:
        """Read the manifest, and check that every file is there and whole. Raises ValueError that names what is not."""
        check_kind(path, EXPORT)
        _check_name(path)
        check_file(path / MANIFEST, REMEDY)
        manifest = RuntimeManifest.load_json(path / MANIFEST, WHAT, REMEDY)
        for name, (size, _) in manifest.files.items():
            if Path(name).name != name:
                raise ValueError(f"{path / MANIFEST}: {name!r} is not a plain file name; {REMEDY}")
            check_file(path / name, REMEDY)
            found = (path / name).stat().st_size
            if found != size:
                raise ValueError(f"{path / name}: has {found:,} bytes instead of {size:,}: damaged; {REMEDY}")
        return cls(path, manifest)

    def file(self, name: str) -> Path:
        """A file of the folder, or the same packed. Raises ValueError if the manifest knows neither."""
        packed = f"{name}.xz"
        if packed in self.manifest.files:
            return self.path / packed
        if name not in self.manifest.files:
            raise ValueError(f"{self.path / MANIFEST}: does not list {name}; {REMEDY}")
        return self.path / name

    def array(self, name: str, shape: tuple[int, ...], *types: Any, mapped: bool = False) -> NDArray[Any]:
        """Numbers of this shape and of one of these types, single precision unless given.

        Raises ValueError that names the file if it has others, or some that are not finite. Those of a mapped one are
        not looked at, for then all would be read: that they are as they were written is for its checksum to say.
        """
        path = self.file(f"{name}.npy")
        array = load_array(path, shape, *(types or (np.float32,)), remedy=REMEDY, mapped=mapped)
        if not mapped and not np.isfinite(array).all():
            raise ValueError(f"{path}: holds numbers that are not finite; {REMEDY}")
        return array

    def verify(self, again: bool = True) -> None:
        """Compare every file with its checksum. Raises ValueError that names the first that differs.

        again: even if they were, and have not changed since
        """
        sums = {name: checksum for name, (_, checksum) in self.manifest.files.items()}
        (check_sums if again else check_sums_once)(self.path, sums, REMEDY)


def is_export(folder: Path) -> bool:
    """Whether a folder is meant to be one: it may be damaged."""
    return os.path.lexists(folder / MANIFEST)


@contextmanager
def new_export(folder: Path, manifest: RuntimeManifest) -> Iterator[Path]:
    """A folder to fill that takes the place of `folder` at the end of the block, with a manifest of all its files."""
    check_place(folder)
    with atomic_folder(folder) as new:
        yield new
        files = {path.name: (path.stat().st_size, sha256(path)) for path in sorted(new.iterdir())}
        manifest.model_copy(update={"files": files}).save_json(new / MANIFEST, indent=1)
        check_place(folder)  # in the meantime others may have put files there


def check_place(folder: Path) -> None:
    """Raises ValueError or OSError if no export can be written here.

    Only an earlier export with nothing else in it, or an empty folder, is replaced; of a link, what it leads to.
    """
    if folder.is_symlink() and not folder.exists():
        raise ValueError(f"{folder}: is a link that leads nowhere; remove it, or choose another folder")
    if folder.exists() and not _is_ours(folder):
        raise ValueError(f"{folder}: is there already and holds other files; choose another folder")
    _check_name(resolved(folder))
    check_writable(resolved(folder).parent)


def _check_name(folder: Path) -> None:
    """Raises ValueError unless ONNX can be told where the folder is."""
    try:
        str(folder).encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{folder}: its name is no UTF-8, which ONNX needs; choose another name") from error


def _is_ours(folder: Path) -> bool:
    """Whether a folder is empty or holds files that the manifest of an export names, whole or damaged, alone."""
    if not folder.is_dir() or any(path.is_symlink() or not path.is_file() for path in folder.iterdir()):
        return False
    names = {path.name for path in folder.iterdir()}
    if not names:
        return True
    try:
        manifest = read_json(folder / MANIFEST, WHAT, REMEDY)  # of any version
        return manifest["format"] == FORMAT and names <= {MANIFEST, *manifest["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return False

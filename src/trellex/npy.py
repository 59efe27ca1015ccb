"""Arrays in .npy files: read only if they are what they should be, and written piece by piece."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import DTypeLike, NDArray

from trellex.files import check_file
from trellex.memory import is_out_of_memory

VERSION = (1, 0)  # of the format, which is enough for plain arrays


def load_array(
    path: Path, shape: tuple[int, ...], *kinds: DTypeLike, remedy: str, mapped: bool = False
) -> NDArray[Any]:
    """The numbers of a file; they stay on disk if `mapped`. No memory is taken for others than expected.

    Raises ValueError that names the file unless it has this shape and one of these types, and nothing else.
    """
    check_file(path, remedy)
    try:
        with path.open("rb") as file:
            if np.lib.format.read_magic(file) != VERSION:
                raise ValueError("of another version")  # whose header may claim gigabytes for itself
        array = np.lib.format.open_memmap(path, mode="r")
    except Exception as error:  # numpy has many ways to fail on what is not its own
        if is_out_of_memory(error):
            raise
        raise ValueError(f"{path}: not an array ({str(error) or type(error).__name__}); {remedy}") from error
    expected = [np.dtype(kind).newbyteorder("<") for kind in kinds]
    if array.dtype not in expected or array.shape != shape:
        names = " or ".join(kind.name for kind in expected)
        raise ValueError(f"{path}: not an array of {' × '.join(map('{:,}'.format, shape))} {names}; {remedy}")
    if array.offset + array.nbytes != path.stat().st_size:
        raise ValueError(f"{path}: more than its array, or its header was changed; {remedy}")
    view = array.view(np.ndarray)  # still mapped, but indexed faster
    return view if mapped else view.copy()


def write_header(file: BinaryIO, kind: DTypeLike, shape: tuple[int, ...]) -> None:
    """That of an array whose numbers are written after it, a piece at a time, lowest byte first."""
    header = {"descr": np.dtype(kind).newbyteorder("<").str, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)

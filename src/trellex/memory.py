"""Memory: whether there was too little of it, and weights that it has no room for."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import nn

# how libraries say so without MemoryError: torch, CUDA, ONNX Runtime, and the system where files are mapped
_SIGNS = re.compile("n[o']t allocate|failed to allocate|out of memory|bad_alloc|bad allocation", re.IGNORECASE)


class NoRoomError(ValueError):
    """Weights are more than there is room for."""


def is_out_of_memory(error: Exception) -> bool:
    """Whether there was too little memory, of the machine or of a GPU."""
    return isinstance(error, MemoryError) or _SIGNS.search(str(error)) is not None


@contextmanager
def weights_named(what: str) -> Iterator[None]:
    """Raises ValueError that names what was asked for where there is no memory for it, or no number so large."""
    try:
        yield
    except (MemoryError, OverflowError, RuntimeError, TypeError) as error:
        is_overflow = isinstance(error, OverflowError) or "overflow" in str(error).lower()  # as torch tells of it
        if not is_overflow and not is_out_of_memory(error):
            raise
        raise ValueError(f"{what}: too large for any memory; choose smaller sizes") from error


def check_weights(model: nn.Module, what: str, room: int | None = None) -> None:
    """Raises NoRoomError if the weights of a model, which may be on the device meta, are more than there is room for.

    room: in bytes; unless given, what this machine holds, though to train takes four times as much
    """
    needed = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    if room is None:
        room = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else needed
    if needed > room:
        problem = f"the weights take {needed:,} bytes, there is room for {room:,}"
        raise NoRoomError(f"{what}: {problem}; choose smaller sizes")

"""Memory for weights: what does not fit is told by what was asked for, before anything is taken if that can be."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

_NO_ROOM = re.compile("alloc|overflow|out of memory", re.IGNORECASE)  # how torch tells of it


@contextmanager
def weights_named(what: str) -> Iterator[None]:
    """Raises ValueError that names what was asked for where there is no memory for it, or no number so large."""
    try:
        yield
    except (MemoryError, OverflowError, RuntimeError, TypeError) as error:
        if isinstance(error, RuntimeError | TypeError) and not _NO_ROOM.search(str(error)):
            raise
        raise ValueError(f"{what}: too large for any memory; choose smaller sizes") from error


def check_weights(model: nn.Module, what: str) -> None:
    """Raises ValueError if the weights of a model, which may be on the device meta, are more than this machine holds.

    To train takes four times as much.
    """
    needed = sum(parameter.numel() * parameter.element_size() for parameter in model.parameters())
    has = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else needed
    if needed > has:
        raise ValueError(
            f"{what}: the weights take {needed / 1e9:,.0f} GB, this machine has {has / 1e9:,.0f} GB of memory; "
            "choose smaller sizes"
        )

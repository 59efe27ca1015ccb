"""Compilation of kernels by numba, which keeps what it compiled on disk, where there is a place for it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from numba import njit
from numba.core.caching import FunctionCache


def compiled_with(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """A decorator for kernels. options: numba's"""

    def compiled(function: Callable[..., Any]) -> Any:
        kernel = njit(**options)(function)
        if not _tell_once.cache_info().currsize:  # where one finds no place, no other does
            try:
                kernel._cache = _Cache(function)  # type: ignore[no-untyped-call]
            except RuntimeError:  # no folder that it may write to
                _tell_once()
        return kernel

    return compiled


class _Cache(FunctionCache):  # type: ignore[misc]
    """Numba's own. What cannot be kept, on a full disk say, is used all the same."""

    def save_overload(self, sig: Any, data: Any) -> None:
        try:
            super().save_overload(sig, data)  # type: ignore[no-untyped-call]
        except OSError:
            _tell_once()


@cache
def _tell_once() -> None:
    if sys.stderr is not None:
        print(
            "trellex: compiled code cannot be kept and is made anew each time, which takes a while; "
            "set NUMBA_CACHE_DIR to a folder that can be written",
            file=sys.stderr,
        )

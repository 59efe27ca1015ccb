"""Trellex: neural machine translation with an output layer that costs O(log V)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trellex.translator import load as load

__version__ = "0.1.0"
__all__ = ["__version__", "load"]


def __getattr__(name: str) -> Any:
    """`trellex.load`, imported when first asked for."""
    if name != "load":
        raise AttributeError(f"module 'trellex' has no attribute {name!r}")
    from trellex.translator import load

    return load

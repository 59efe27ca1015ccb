"""Trellex: neural machine translation with an output layer that costs O(log V)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trellex.translator import Translation as Translation
    from trellex.translator import Translator as Translator
    from trellex.translator import load as load

__version__ = "0.1.0"
__all__ = ["Translation", "Translator", "__version__", "load"]


def __getattr__(name: str) -> Any:
    """`trellex.load` and what it gives, imported when first asked for."""
    if name not in __all__:
        raise AttributeError(f"module 'trellex' has no attribute {name!r}")
    from trellex import translator

    return getattr(translator, name)

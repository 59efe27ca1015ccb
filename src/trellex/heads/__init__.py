"""Output layers: softmax, binary codes and the hybrids of both, behind one protocol.

What needs torch is imported when first asked for: the descriptions of heads and the reading of words do not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# isort: off
# all are known by name from then on, and tables have them in this order
import trellex.heads.softmax_spec
import trellex.heads.code_spec
import trellex.heads.shelves_spec
import trellex.heads.free_spec
import trellex.heads.rival_spec  # noqa: F401
# isort: on

from trellex.heads.spec import HeadSpec

if TYPE_CHECKING:
    from trellex.heads.binary import BinaryHead
    from trellex.heads.build import build_head
    from trellex.heads.head import Cost, Head
    from trellex.heads.hybrid import HybridHead
    from trellex.heads.softmax import SoftmaxHead

__all__ = ["BinaryHead", "Cost", "Head", "HeadSpec", "HybridHead", "SoftmaxHead", "build_head"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from trellex.heads import build, head

    return getattr(build, name, None) or getattr(head, name)

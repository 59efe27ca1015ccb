"""The names of methods: their order in tables, and what of a name is the output layer and what a variant."""

from __future__ import annotations

import re
from typing import NamedTuple

_KINDS = ("softmax", "binary", "hybrid")
_NAME = re.compile(r"(?P<base>softmax|binary|hybrid-(?P<size>\d+))(?P<ec>-ec)?(?: \((?P<variant>.*)\))?")


class MethodName(NamedTuple):
    """A name such as hybrid-512-ec (trellis), taken apart.

    Attributes:
        base: without error correction and variant, such as hybrid-512
        size: N of a hybrid, otherwise 0
        corrected: whether bits are corrected
        variant: what stands in brackets, the empty string for the method of the paper
    """

    base: str
    size: int
    corrected: bool
    variant: str

    @classmethod
    def parse(cls, name: str) -> MethodName:
        """A name of another form is a base of its own."""
        found = _NAME.fullmatch(name)
        if found is None:
            return cls(name, 0, False, "")
        return cls(found["base"], int(found["size"] or 0), bool(found["ec"]), found["variant"] or "")


def method_order(name: str) -> tuple[object, ...]:
    """A key to sort by: softmax, binary, hybrids by N, the same with error correction; variants follow their method."""
    method = MethodName.parse(name)
    kind = method.base.split("-")[0]
    if _NAME.fullmatch(name) is None:
        return (True, name)
    return (False, method.corrected, _KINDS.index(kind), method.size, method.variant)

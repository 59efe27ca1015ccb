"""Memory: whether an error says that there was too little of it."""

from __future__ import annotations

import re

# how libraries say so without MemoryError: torch, CUDA, ONNX Runtime, and the system where files are mapped
_SIGNS = re.compile("n[o']t allocate|failed to allocate|out of memory|bad_alloc|bad allocation", re.IGNORECASE)


def is_out_of_memory(error: Exception) -> bool:
    """Whether there was too little memory, of the machine or of a GPU."""
    return isinstance(error, MemoryError) or _SIGNS.search(str(error)) is not None

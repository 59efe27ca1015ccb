"""Search: from a model's three calls, `start`, `step` and `topk`, to translations. Knows no torch."""

from trellex.search.greedy import greedy, length_limit

__all__ = ["greedy", "length_limit"]

"""Attention: which source words a model looked at as it wrote each word of a translation."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray


class Attention(NamedTuple):
    """Where a model looked as it wrote.

    Attributes:
        source: the tokens it read, as they stand in the line  [S]
        shares: how much each of them counted for each token it wrote; rows sum to 1  [T, S]
    """

    source: list[str]
    shares: NDArray[Any]

    def alignment(self) -> list[tuple[int, int]]:
        """The place of the source token that counted most for each token, and that of the token, both from 0."""
        return [(int(row.argmax()), place) for place, row in enumerate(self.shares)]

    def pharaoh(self) -> str:
        """The alignment as aligners write it, source-target: "0-0 2-1"."""
        return " ".join(f"{source}-{target}" for source, target in self.alignment())

    def facts(self) -> dict[str, Any]:
        """What JSON tells of it."""
        shares = [[round(float(share), 4) for share in row] for row in self.shares]
        return {"source": self.source, "alignment": self.alignment(), "attention": shares}

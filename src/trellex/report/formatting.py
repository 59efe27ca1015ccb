"""How numbers are written in tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

ABSENT = "–"


def spread(values: Sequence[float], digits: int = 2) -> str:
    """The mean of all seeds and, of several, ± half their range."""
    if not values:
        return ABSENT
    mean = f"{sum(values) / len(values):,.{digits}f}"
    return mean if len(values) == 1 else f"{mean} ± {(max(values) - min(values)) / 2:,.{digits}f}"


def significant(value: float | None) -> str:
    """Three digits, but all those before the point."""
    if value is None:
        return ABSENT
    digits = 2 if value == 0 else max(0, 2 - math.floor(math.log10(abs(value))))
    return f"{value:,.{digits}f}"


def times(value: float | None) -> str:
    """How many times, such as 12.6 ×."""
    return ABSENT if value is None else f"{significant(value)} ×"


def one_in(value: float | None) -> str:
    """A share as one part of so many, of three digits as in the paper."""
    return ABSENT if value is None else f"1/{float(f'{value:.3g}'):,g}"


def share(times_less: float | None) -> str:
    """A share of something that is so many times larger; if it is smaller, how many times that."""
    return one_in(times_less) if times_less is None or times_less >= 1 else times(1 / times_less)


def signed(value: float) -> str:
    """With + or −, and + for what rounds to 0."""
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")


def mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def ratio(value: float | None, base: float | None) -> float | None:
    return None if value is None or not base else value / base

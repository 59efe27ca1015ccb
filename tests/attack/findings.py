"""Findings: a file of the input for each, and beside it what went wrong and how to see it again."""

from __future__ import annotations

import hashlib
import re
import time
from pathlib import Path

from attempt import Finding, attempt
from targets import Target


def save(found: Path, target: Target, data: bytes, finding: Finding) -> None:
    """Keep an input; of those of one kind and place, the shortest."""
    digest = hashlib.sha256(f"{finding.kind} {finding.place}".encode()).hexdigest()[:6]
    words = re.findall("[A-Za-z0-9]+", f"{finding.kind} {finding.place}")
    path = found / target.name / f"{'-'.join(words)[:80]}-{digest}{target.suffix}"
    if path.exists() and path.stat().st_size <= len(data):
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    shown = repr(data if len(data) <= 500 else data[:500] + b"...")
    again = f"python tests/attack/fuzz.py --repeat {path}"
    path.with_suffix(".report").write_text(
        f"{target.name}: {finding.kind} at {finding.place or 'no known place'}\n\nagain: {again}\n\n"
        f"input, {len(data)} bytes: {shown}\n\n{finding.report}\n",
        encoding="utf-8",
    )


def inputs(found: Path, name: str) -> list[Path]:
    """The inputs that were kept for a target, or for another folder of cases."""
    return sorted(path for path in (found / name).glob("*") if path.suffix != ".report")


def shortened(target: Target, data: bytes, finding: Finding) -> bytes:
    """The input without what is not needed for a finding of this kind at this place, as far as a minute goes."""
    end = time.monotonic() + 60

    def is_same(candidate: bytes) -> bool:
        outcome = attempt(target.read, candidate)
        return isinstance(outcome, Finding) and (outcome.kind, outcome.place) == (finding.kind, finding.place)

    size = len(data) // 2
    while size:
        start = 0
        while start < len(data) and time.monotonic() < end:
            candidate = data[:start] + data[start + size :]
            if is_same(candidate):
                data = candidate
            else:
                start += size
        size //= 2
    return data

"""A line of output: the best translation, or all that is known as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trellex.translator import Translation


def output_line(translations: Sequence[Translation], tokens: bool, with_scores: bool, problem: str | None) -> str:
    """A line of output: the best translation, or as JSON all of them and the problem, if there is one."""
    texts = [" ".join(each.tokens) if tokens else each.text for each in translations]
    best = texts[0] if texts else ""
    if not with_scores:
        return best
    details = [
        {"translation": text, "score": round(each.score, 6)} | each.scores()
        for each, text in zip(translations, texts, strict=True)
    ]
    error = {"error": problem} if problem else {}
    return json.dumps({"translation": best, "nbest": details} | error, ensure_ascii=False)

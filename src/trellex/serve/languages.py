"""The languages that are served: what is translated into what, and which of them a text is in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.exceptions import HTTPException

from trellex.serve.batcher import Batcher, Pair
from trellex.text.languages import language_name
from trellex.text.vocabulary import UNK
from trellex.translator import Translator

AUTO = "auto"
LOOKED_AT = 1000  # characters of a text by which its language is told


class Languages:
    """Pairs of languages, as clients ask for them.

    Args:
        pairs: that are served
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self.pairs = list(pairs)
        self.sources = list(dict.fromkeys(pair.source for pair in pairs))

    def pair(self, source: str, target: str) -> Pair:
        """Raises HTTPException of 400 that tells what is served instead."""
        pair = Pair(source, target)
        if pair not in self.pairs:
            served = ", ".join(f"{each.source} to {each.target}" for each in self.pairs)
            raise HTTPException(
                400, f"source, target: {source!r} to {target!r} is not translated here; served: {served}"
            )
        return pair

    def facts(self) -> list[dict[str, Any]]:
        """All languages, sources first, with what each is translated into."""
        codes = dict.fromkeys([*self.sources, *(pair.target for pair in self.pairs)])
        return [
            {
                "code": code,
                "name": language_name(code),
                "targets": [pair.target for pair in self.pairs if pair.source == code],
            }
            for code in codes
        ]

    async def detect(self, text: str, batcher: Batcher, target: str | None = None) -> list[dict[str, Any]]:
        """The source languages with confidences in percent, best first; those that lead to a target, if one is given.

        A single one is certain: there is nothing else that the text could be translated from. Of several, the
        confidence is the share of the text's words that the model of that language knows.
        """
        first = {
            pair.source: pair for pair in reversed(self.pairs) if target is None or pair.target == target
        }  # a pair of each language, the first
        if len(first) == 1:
            return [{"confidence": 100, "language": language} for language in first]
        found = [
            {
                "confidence": await batcher.call(pair, lambda translator: known_percent(translator, text)),
                "language": language,
            }
            for language, pair in reversed(first.items())
        ]
        return sorted(found, key=lambda each: each["confidence"], reverse=True)


def known_percent(translator: Translator, text: str) -> int:
    """How many of a text's first words a model knows; 0 of no words."""
    ids = translator.source_ids(text[:LOOKED_AT])
    return round(100 * float((ids != UNK).mean())) if len(ids) else 0

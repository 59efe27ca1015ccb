"""The languages that are served: what is translated into what, and which of them a text is in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.exceptions import HTTPException

from trellex.serve.batcher import Batcher, Pair
from trellex.text.languages import language_name
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
        self.codes = list(dict.fromkeys([*self.sources, *(pair.target for pair in pairs)]))

    def pair(self, source: str, target: str) -> Pair:
        """A pair that a model translates. Raises HTTPException of 400 that tells what is served instead."""
        pair = Pair(source, target)
        if pair not in self.pairs:
            served = ", ".join(f"{each.source} to {each.target}" for each in self.pairs)
            raise HTTPException(
                400, f"source, target: {source!r} to {target!r} is not translated here; served: {served}"
            )
        return pair

    def pair_or_same(self, source: str, target: str) -> Pair:
        """The same, or a language with itself, which needs no model. Raises HTTPException of 400."""
        return Pair(source, target) if source == target and source in self.codes else self.pair(source, target)

    def facts(self) -> list[dict[str, Any]]:
        """All languages, sources first, with what each is translated into, itself at last."""
        return [
            {
                "code": code,
                "name": language_name(code),
                "targets": [*(pair.target for pair in self.pairs if pair.source == code), code],
            }
            for code in self.codes
        ]

    async def detect(self, texts: Sequence[str], batcher: Batcher) -> list[list[dict[str, Any]]]:
        """Of each text the source languages with confidences in percent, best first.

        A single one is certain: there is nothing else that the text could be translated from. Of several, the
        confidence is the share of the text's words that the model of that language knows.

        Args:
            texts: of which the first characters are looked at
            batcher: whose translators know words
        """
        pairs = {pair.source: pair for pair in self.pairs[::-1]}  # the first of each
        if len(pairs) == 1:
            return [[{"confidence": 100, "language": language} for language in pairs] for _ in texts]
        known = {
            language: await batcher.call(pair, lambda translator: [known_percent(translator, text) for text in texts])
            for language, pair in reversed(pairs.items())
        }
        found = [
            [{"confidence": percents[place], "language": language} for language, percents in known.items()]
            for place in range(len(texts))
        ]
        return [sorted(each, key=lambda one: one["confidence"], reverse=True) for each in found]


def known_percent(translator: Translator, text: str) -> int:
    """How many of a text's first words a model knows; 0 of no words."""
    ids = translator.source_ids(text[:LOOKED_AT])
    return round(100 * float((~translator.are_unknown(ids)).mean())) if len(ids) else 0

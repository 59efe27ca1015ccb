"""Slots: a template such as "i ate {food} at {clock} ." is filled from the lexicon, alike in both languages."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate
from random import Random

from trellex.phrasebook.inflection import ENGLISH, Entry

_SLOT = re.compile(r"\{([a-z]+)(\d?)(?:\.([a-z]+))?\}")  # list, which of several from it, form


class Filler:
    """Draws words for slots. A word's probability is ∝ 1 / (rank + 2) in its list, so that counts look like Zipf's.

    `{city}` is the word in the language of the template, `{goods.plural}` another form of it. `{city2}` is a second
    word of the list, never the same as the first. Words may have slots of their own, filled once for all their forms.

    Args:
        lexicon: the lists of words, the most frequent first
        random: only its `random()` is used, which is the same in all versions of Python
    """

    def __init__(self, lexicon: Mapping[str, Sequence[Entry]], random: Random) -> None:
        self._lexicon = lexicon
        self._random = random

    def rank(self, size: int) -> int:
        """A rank from 0 to size − 1, low ones more often."""
        sums = _cumulative_weights(size)
        return min(bisect(sums, self._random.random() * sums[-1]), size - 1)

    def fill(self, template: Entry) -> Entry:
        """All forms of a template, with one choice of words."""
        chosen: dict[tuple[str, str], Entry] = {}
        for text in template.values():
            for name, which, _ in _SLOT.findall(text):
                if (name, which) not in chosen:
                    rivals = [entry for (other, _), entry in chosen.items() if other == name]
                    chosen[name, which] = self._draw(name, rivals)

        def words(text: str, language: str) -> str:
            return _SLOT.sub(lambda slot: chosen[slot[1], slot[2]][slot[3] or language], text)

        return {form: words(text, "en" if form in ENGLISH else "ja") for form, text in template.items()}

    def _draw(self, name: str, rivals: Sequence[Entry]) -> Entry:
        words = self._lexicon[name]
        while True:
            entry = self.fill(words[self.rank(len(words))])
            if all(entry["en"] != rival["en"] and entry["ja"] != rival["ja"] for rival in rivals):
                return entry


def check(text: str, lexicon: Mapping[str, Sequence[Entry]]) -> None:
    """Refuse a template with a slot that is misspelled, or whose list or form the lexicon does not have."""
    if set("{}") & set(_SLOT.sub("", text)):
        raise ValueError(f"expected slots such as {{city}}, {{city2}} or {{goods.plural}}, got {text!r}")
    for slot in _SLOT.finditer(text):
        name, form = slot[1], slot[3] or "en"
        if not lexicon.get(name) or any(form not in entry for entry in lexicon[name]):
            raise ValueError(f"{slot[0]}: the lexicon has no list {name!r} with a form {form!r} of every word")


@cache
def _cumulative_weights(size: int) -> list[float]:
    return list(accumulate(1 / (rank + 2) for rank in range(size)))

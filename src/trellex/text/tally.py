"""The tally: what is counted while a split is cut into tokens, for vocabularies and for the manifest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Set
from dataclasses import dataclass, field

import numpy as np

from trellex.text.manifest import SIDES, SideFacts, SplitFacts
from trellex.text.vocabulary import UNK, Vocabulary

_UNCUT = re.compile(
    r"""[^\W\d_][,.;:!?،؟।。、！？…]+["'”’»)」]*$"""  # punctuation behind a letter
    "|[\u0e00-\u0eff\u0f00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]{12}"  # a long run of a script without spaces
)


@dataclass
class Tally:
    """What was counted in a split.

    Attributes:
        ratio: a pair is lopsided if a side has more than so many times the tokens of the other
        watched: the hashes of pairs to look out for, or None for all
        hashes: those of the pairs that were seen, as far as they are watched
        words, lengths: how often each word and each length of a sentence occurs, by side
    """

    ratio: float
    watched: Set[int] | None = None
    hashes: list[int] = field(default_factory=list)
    pairs: int = 0
    short: int = 0
    long: int = 0
    same: int = 0
    lopsided: int = 0
    words: dict[str, Counter[str]] = field(default_factory=lambda: {side: Counter() for side in SIDES})
    lengths: dict[str, Counter[int]] = field(default_factory=lambda: {side: Counter() for side in SIDES})

    def add(self, lines: tuple[str, str], tokens: list[list[str]]) -> None:
        """Count a pair: its two lines, and the tokens of each."""
        self.pairs += 1
        self.same += lines[0].split() == lines[1].split() != []
        few, many = sorted(map(len, tokens))
        self.lopsided += many > self.ratio * max(few, 1)
        for side, words in zip(SIDES, tokens, strict=True):
            self.words[side].update(words)
            self.lengths[side][len(words)] += 1
        pair = hash(tuple(map(tuple, tokens)))
        if self.watched is None or pair in self.watched:
            self.hashes.append(pair)

    def facts(self, vocabularies: dict[str, Vocabulary], train: Tally) -> SplitFacts:
        """What the manifest tells of the split."""
        in_train = set(train.hashes)
        return SplitFacts(
            pairs=self.pairs,
            dropped_short=self.short,
            dropped_long=self.long,
            same_text=self.same,
            lopsided=self.lopsided,
            in_train=None if self is train else sum(pair in in_train for pair in self.hashes),
            source=self._side_facts("source", vocabularies["source"], vocabularies["target"]),
            target=self._side_facts("target", vocabularies["target"], vocabularies["source"]),
        )

    def _side_facts(self, side: str, own: Vocabulary, other: Vocabulary) -> SideFacts:
        words, lengths = self.words[side], self.lengths[side]
        counts = np.fromiter(words.values(), np.int64, len(words))
        tokens, unknown = words.total(), int(counts[own.ids(words) == UNK].sum())
        ends = np.cumsum([lengths[length] for length in sorted(lengths)])
        return SideFacts(
            tokens=tokens,
            unknown_tokens=unknown,
            unknown_rate=unknown / max(tokens, 1),
            unknown_to_other_side=int(counts[other.ids(words) == UNK].sum()) / max(tokens, 1),
            types=len(words),
            uncut_rate=sum(count for word, count in words.items() if _UNCUT.search(word)) / max(tokens, 1),
            mean_length=tokens / self.pairs,
            length_95=sorted(lengths)[int(np.searchsorted(ends, 0.95 * self.pairs))],
            max_length=max(lengths),
        )

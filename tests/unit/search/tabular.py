"""A model in numpy whose translations can all be enumerated, and searches over it in plain Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from trellex.text.vocabulary import EOS


@dataclass
class Prefixes:
    """Of every row its source and the words so far."""

    rows: list[tuple[tuple[int, ...], tuple[int, ...]]]

    def select(self, rows):
        return Prefixes([self.rows[row] for row in rows])


class Table:
    """Random probabilities of the next word, different after every source and every beginning.

    Args:
        seed: of the table
        size: number of words, EOS included
        end: added to the logit of EOS
        last: after so many words only EOS can follow
        impossible: the share of words, EOS aside, that have probability 0
        scale: of the logits
    """

    def __init__(self, seed, size=4, *, end=0.0, last=None, impossible=0.0, scale=1.5):
        self.seed, self.size, self.end, self.last = seed, size, end, last
        self.impossible, self.scale = impossible, scale
        self.steps = 0
        self.rows_read = 0
        self._rows = {}

    def log_probs(self, source, words):
        """[V]"""
        source, words = tuple(int(x) for x in source), tuple(int(x) for x in words)
        if (source, words) not in self._rows:
            random = np.random.default_rng([self.seed, len(source), len(words), *source, *words])
            logits = self.scale * random.normal(size=self.size)
            logits[EOS] += self.end
            is_possible = random.random(self.size) >= self.impossible
            if self.last is not None and len(words) >= self.last:
                is_possible[:] = False
            is_possible[EOS] = True
            logits[~is_possible] = -np.inf
            self._rows[source, words] = logits - np.logaddexp.reduce(logits)
        return self._rows[source, words]

    def start(self, sources):
        return Prefixes([(tuple(source.tolist()), ()) for source in sources])

    def step(self, state, words):
        assert len(words) == len(state.rows)
        assert all(0 <= word < self.size and word != EOS for word in words)
        self.steps += 1
        self.rows_read += len(words)
        return Prefixes([(source, (*said, int(word))) for (source, said), word in zip(state.rows, words, strict=True)])

    def best(self, state):
        return self._table(state).argmax(-1)

    def topk(self, state, k):
        words, log_probs = np.full((len(state.rows), k), -1), np.full((len(state.rows), k), -np.inf)
        for row, values in enumerate(self._table(state)):
            best = [word for word in np.argsort(-values) if values[word] > -np.inf][:k]
            words[row, : len(best)], log_probs[row, : len(best)] = best, values[best]
        return words, log_probs

    def log_prob(self, state, words):
        return self._table(state)[np.arange(len(words)), words]

    def sample(self, state, temperature, random):
        table = self._table(state)
        return (table / temperature + random.gumbel(size=table.shape)).argmax(-1)

    def _table(self, state):
        """[N, V]"""
        return np.array([self.log_probs(*row) for row in state.rows])


class Found(NamedTuple):
    """A translation: words without EOS, log P of each and of EOS, unless it was cut off."""

    words: tuple[int, ...]
    log_probs: tuple[float, ...]

    def score(self, length_penalty):
        return sum(self.log_probs) / len(self.log_probs) ** length_penalty

    @property
    def is_finished(self):
        return len(self.log_probs) > len(self.words)


def continuations(model, source, found):
    """All that may come of a beginning with one more word."""
    for word, log_prob in enumerate(model.log_probs(source, found.words)):
        if log_prob > -np.inf:
            yield Found(found.words if word == EOS else (*found.words, word), (*found.log_probs, float(log_prob)))


def every_translation(model, source, limit):
    """All that may be said in so many words, EOS included: finished and cut off."""
    beginnings, found = [Found((), ())], []
    for length in range(1, limit + 1):
        longer = [new for old in beginnings for new in continuations(model, source, old)]
        found += [new for new in longer if new.is_finished or length == limit]
        beginnings = [new for new in longer if not new.is_finished]
    return found


def ranked(found, length_penalty):
    """The best first, but those cut off last."""
    return sorted(found, key=lambda one: (not one.is_finished, -one.score(length_penalty)))


def plain_beam(model, source, width, length_penalty, limit):
    """A beam that goes on until every hypothesis is finished or cut off -> those, ranked; steps; rows read"""
    beginnings, found, steps, rows = [Found((), ())], [], -1, -1
    for length in range(1, limit + 1):
        if not beginnings:
            break
        steps, rows = steps + 1, rows + len(beginnings)
        candidates = [new for old in beginnings for new in continuations(model, source, old)]
        best = sorted(candidates, key=lambda one: -sum(one.log_probs))[: width - len(found)]
        found += [new for new in best if new.is_finished or length == limit]
        beginnings = [new for new in best if not new.is_finished]
    return ranked(found, length_penalty), steps, rows


def plain_greedy(model, source, limit):
    """The best next word, again and again."""
    found = Found((), ())
    while not found.is_finished and len(found.words) < limit:
        found = max(continuations(model, source, found), key=lambda one: one.log_probs[-1])
    return found


def as_found(hypotheses):
    """What a search returned, for comparison."""
    return [Found(tuple(one.words), tuple(one.log_probs)) for one in hypotheses]

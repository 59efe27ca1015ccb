"""The decoder loop: grow the open hypotheses of all sentences word by word, side by side in one batch."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from trellex.text.vocabulary import EOS

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Found = TypeVar("Found")


class State(Protocol):
    """Sentences being translated, a row each; the rest is the model's own."""

    @property
    def attention(self) -> NDArray[Any] | None:
        """How much each source word counts for the next word, 0 on padding; None if not asked for. [N, S]"""

    def select(self, rows: Ints) -> Self:
        """The same with these rows, in this order, possibly repeated."""


class Reader(Protocol):
    """What the loop asks of a model."""

    def start(self, sources: Sequence[NDArray[Any]], attention: bool = False) -> State: ...

    def step(self, state: Any, words: Ints) -> Any: ...


class Model(Reader, Protocol):
    """What search asks of a model, be it in torch or in the runtime."""

    def inference(self) -> AbstractContextManager[None]: ...

    def best(self, state: Any) -> Ints: ...

    def topk(self, state: Any, k: int) -> tuple[Ints, NDArray[Any]]: ...

    def log_prob(self, state: Any, words: Ints) -> NDArray[Any]: ...

    def sample(self, state: Any, temperature: float, random: np.random.Generator) -> Ints: ...


@runtime_checkable
class GreedyModel(Protocol):
    """A model that also finds greedy translations by itself, without coming back at every word: say, on a GPU."""

    def greedy(self, sources: Sequence[NDArray[Any]], limits: Sequence[int]) -> Sequence[Sequence[int] | None]:
        """The best words again and again, of each source at most so many, up to EOS where that was reached.

        None where it cannot tell: the common search finds those.
        """


Following: TypeAlias = Callable[[Ints], tuple[Ints, Ints, NDArray[Any]]]


@runtime_checkable
class BeamModel(Protocol):
    """A model that also chooses by itself what beams go on with, without coming back at every word: say, on a GPU."""

    def beams(
        self,
        sources: Sequence[NDArray[Any]],
        limits: Sequence[int],
        width: int,
        search: Callable[[range, Following], Sequence[Found]],
    ) -> Sequence[Found | None]:
        """What a search finds for every source, of at most so many words; None where the common search must find it.

        The search is given places of sources, and what tells it, step by step, how those that go on do so. They are
        given by their places among these, rising [n]; of each it tells the hypotheses that are kept, best first: which
        of the open ones, in their order, goes on; with which word, −1 after the last; and log P. [n, width] each
        """


class Hypothesis(NamedTuple):
    """A translation and what the model thinks of it.

    Attributes:
        words: ids without EOS  [T]
        log_probs: log P of every word and, if the end was reached, of EOS  [T + 1], else [T]; NaN if not asked for
        score: what hypotheses are ranked by: the sum of log_probs, divided by a power of their number
        attention: if asked for, how much each source word counted for every word, and for EOS  [T + 1, S], else [T, S]
    """

    words: list[int]
    log_probs: list[float]
    score: float
    attention: NDArray[Any] | None = None

    @property
    def log_prob(self) -> float:
        return float(sum(self.log_probs))

    @property
    def is_finished(self) -> bool:
        """Whether the model ended it, rather than the limit of length."""
        return len(self.log_probs) > len(self.words)


class Open(NamedTuple):
    """The hypotheses that may grow, a row each: those of one sentence together, sentences in their order."""

    state: Any
    sentence: Ints  # [R]
    total: Floats  # the sum of log-probabilities  [R]
    node: Ints  # the last word in the history, −1 before the first  [R]
    length: int  # words so far, the same for all rows
    room: Ints  # how many more hypotheses each sentence may finish  [N]


class Choice(NamedTuple):
    """Words that go on from open hypotheses, by sentence and best first."""

    row: Ints | None  # the open hypothesis a word follows  [C]; None: one word follows each, in their order
    word: Ints  # [C]
    log_prob: NDArray[Any]  # [C]


class History:
    """All words chosen so far, each with a link to the one before it: hypotheses share their beginnings."""

    def __init__(self) -> None:
        self._steps: list[tuple[Ints, Ints, NDArray[Any]]] = []  # parent, word, log_prob of every step's nodes
        self._first: list[int] = []  # the number of every step's first node
        self._count = 0
        self.attention: list[NDArray[Any]] = []  # of every step's nodes, if it is asked for

    def add(self, parent: Ints, word: Ints, log_prob: NDArray[Any]) -> Ints:
        """Append a step's words after their parent nodes; returns their nodes. [C] -> [C]"""
        self._steps.append((parent, word, log_prob))
        self._first.append(self._count)
        self._count += len(word)
        return np.arange(self._first[-1], self._count)

    def hypothesis(self, node: int, score: float, source_length: int) -> Hypothesis:
        """The words that lead to a node, with their log-probabilities and attention."""
        words: list[int] = []
        log_probs: list[float] = []
        attention: list[NDArray[Any]] = []
        step = bisect_right(self._first, node) - 1
        while node >= 0:
            parent, word, log_prob = self._steps[step]
            place = node - self._first[step]
            words.append(int(word[place]))
            log_probs.append(float(log_prob[place]))
            if self.attention:
                attention.append(self.attention[step][place, :source_length])
            node, step = int(parent[place]), step - 1
        if words[0] == EOS:
            del words[0]
        shares = np.array(attention[::-1]) if attention else None
        return Hypothesis(words[::-1], log_probs[::-1], float(score), shares)


def length_limit(source_length: int) -> int:
    """The most words a translation may have: generous, so that only a runaway meets it."""
    return 2 * source_length + 10


def grow(
    model: Reader,
    sources: Sequence[NDArray[Any]],
    choose: Callable[[Open], Choice],
    *,
    limits: Sequence[int],
    width: int = 1,
    copies: int = 1,
    nbest: int = 1,
    length_penalty: float = 0.0,
    attention: bool = False,
) -> list[list[Hypothesis]]:
    """The hypotheses of every sentence, best first, at most nbest of each, those cut off by the limit last.

    Args:
        choose: which words go on from the open hypotheses; for a sentence at most as many as it has room for
        limits: the most words of each sentence's hypotheses
        width: hypotheses a sentence may have, open and finished; a sentence is done when all are finished
        copies: how many hypotheses of each sentence to start with
        nbest: a sentence is done, too, when no open hypothesis can enter its nbest best any more
        length_penalty: α; hypotheses are ranked by log P / words^α, EOS included
        attention: whether hypotheses shall have it
    """
    if not sources:
        return []
    limit = np.array(limits)
    shortest = limit.min()
    divisors = np.maximum(np.arange(limit.max() + 1), 1) ** length_penalty
    history = History()
    done: list[list[tuple[bool, float, int]]] = [[] for _ in sources]  # whether cut off, −score, last node; best first
    some_are_done = False
    bar = np.full(len(sources), -np.inf)  # the score that a hypothesis must reach to enter the nbest best
    sentence = np.repeat(np.arange(len(sources)), copies)
    state = model.start(sources, attention=True) if attention else model.start(sources)
    rows = Open(
        state=state if copies == 1 else state.select(sentence),
        sentence=sentence,
        total=np.zeros(len(sentence)),
        node=np.full(len(sentence), -1),
        length=0,
        room=np.full(len(sources), width),
    )
    while True:
        row, word, log_prob = choose(rows)
        state, sentence, total, parent, length, room = rows
        open_sentences = _runs(sentence)
        if row is not None:
            sentence, total, parent = sentence[row], total[row], parent[row]
        if _runs(sentence) < open_sentences or word.min() < 0:
            raise ValueError("no word can follow: the model's probabilities are NaN, so its weights are damaged")
        length, total = length + 1, total + log_prob
        node = history.add(parent, word, log_prob)
        if attention:
            history.attention.append(state.attention if row is None else state.attention[row])
        ended = word == EOS
        stopped = ended if length < shortest else ended | (length >= limit[sentence])
        some_are_done = some_are_done or bool(stopped.any())
        if some_are_done:
            for place in np.flatnonzero(stopped):
                of_sentence = done[sentence[place]]
                insort(of_sentence, (not ended[place], -total[place] / divisors[length], int(node[place])))
                room[sentence[place]] -= 1
                if len(of_sentence) >= nbest:
                    bar[sentence[place]] = -of_sentence[nbest - 1][1]
            # A hypothesis is at its best if all words to come are certain and as many as the limit allows.
            hopeful = ~stopped & ~(total < bar[sentence] * divisors[limit[sentence]])
            goes_on = np.zeros(len(sources), bool)
            goes_on[sentence[hopeful]] = True
            going = np.flatnonzero(~stopped & goes_on[sentence])
            if len(going) == 0:
                return [
                    [history.hypothesis(last, -score, len(source)) for _, score, last in best[:nbest]]
                    for best, source in zip(done, sources, strict=True)
                ]
            row = going if row is None else row[going]
            word, sentence, total, node = word[going], sentence[going], total[going], node[going]
        if row is not None:
            state = state.select(row)
        rows = Open(model.step(state, word), sentence, total, node, length, room)


def _runs(sentence: Ints) -> int:
    """How many sentences rows are of, those of one standing together. [N]"""
    return int(np.count_nonzero(np.diff(sentence, prepend=-1)))

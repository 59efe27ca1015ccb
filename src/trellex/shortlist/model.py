"""A model that chooses its words from a shortlist, as search asks for it, be it in torch or in the runtime."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trellex.heads.selection import Selection
from trellex.heads.softmax_spec import SoftmaxSpec
from trellex.heads.spec import HeadSpec
from trellex.loaded import LoadedModel
from trellex.search.loop import Ints
from trellex.shortlist.shortlist import Shortlist
from trellex.text.vocabulary import BOS


def check_head(head: HeadSpec) -> None:
    """Raises ValueError if words cannot be chosen from a list by such an output layer."""
    if not isinstance(head, SoftmaxSpec):
        raise ValueError(
            f"shortlist: it chooses rows of one matrix with a row for every word, which a softmax has and {head.type} "
            "has not; leave the shortlist out, or take a model whose head is softmax, plain or tied"
        )


class ListedState(NamedTuple):
    """Sentences being translated, and their lists."""

    inner: Any
    selection: Selection

    @property
    def hidden(self) -> Any:
        return self.inner.hidden

    @property
    def attention(self) -> NDArray[Any] | None:
        return self.inner.attention

    def select(self, rows: Ints) -> ListedState:
        """The same with these rows, in this order, possibly repeated."""
        return ListedState(self.inner.select(rows), self.selection.select(rows))


class ListedModel:
    """A model whose words are those of a list, one for every sentence; probabilities are those given the list.

    Args:
        loaded: a softmax model; an exported one was loaded row by row
        shortlist: which words to choose from
    """

    def __init__(self, loaded: LoadedModel[Any], shortlist: Shortlist) -> None:
        check_head(loaded.head)
        shortlist.check_vocabularies(loaded.source_vocabulary, loaded.target_vocabulary)
        if not hasattr(loaded.model.layer, "selection"):
            raise ValueError("shortlist: an exported model must be loaded for it; use trellex.load(…, shortlist=…)")
        self.model, self.shortlist = loaded.model, shortlist

    def inference(self) -> AbstractContextManager[None]:
        return self.model.inference()

    def start(self, sources: Sequence[NDArray[Any]], attention: bool = False) -> ListedState:
        """Read source sentences and the first BOS. sources: ids of each -> state of N rows, with attention if asked"""
        return self.step(self.encode(sources, attention), np.full(len(sources), BOS))

    def encode(self, sources: Sequence[NDArray[Any]], attention: bool = False) -> ListedState:
        """Read source sentences, and gather what their lists need: what `start` does before the first word."""
        selection = self.model.layer.selection([self.shortlist.words_for(source) for source in sources])
        return ListedState(self.model.encode(sources, attention), selection)

    def step(self, state: ListedState, words: Ints) -> ListedState:
        """Read the next target words [N]."""
        return ListedState(self.model.step(state.inner, words), state.selection)

    def best(self, state: ListedState) -> Ints:
        """The best next word of every row. -> [N]"""
        return state.selection.best(state.hidden)

    def topk(self, state: ListedState, k: int) -> tuple[Ints, NDArray[Any]]:
        """The k best next words of every row, −1 where a list has no more. -> words, log_probs [N, k]"""
        return state.selection.topk(state.hidden, k)

    def log_prob(self, state: ListedState, words: Ints) -> NDArray[Any]:
        """log P of a next word for every row, −inf of one that is not in the list. words [N] -> [N]"""
        return state.selection.log_prob(state.hidden, words)

    def sample(self, state: ListedState, temperature: float, random: np.random.Generator) -> Ints:
        """A next word drawn for every row. -> [N]"""
        return state.selection.sample(state.hidden, temperature, random)

"""The translation model: a network and an output layer, for training and for search."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from trellex.codes import Code
from trellex.heads import Head
from trellex.nmt.network import Network, NetworkState
from trellex.nmt.recorded_beam import Following, RecordedBeam
from trellex.nmt.recorded_greedy import RecordedGreedy
from trellex.nmt.recorded_search import RecordedSearch
from trellex.text.batches import as_rows, pad
from trellex.text.vocabulary import BOS, EOS

PADDING = -100  # in targets; heads ignore it

Found = TypeVar("Found")
Search = TypeVar("Search", bound=RecordedSearch)


class SearchState(NamedTuple):
    """Sentences being translated: rows can be chosen with `select`."""

    network: NetworkState
    hidden: Tensor  # what the head reads next  [N, H]
    sentence: NDArray[np.int64]  # of a row  [N]
    attention: NDArray[Any] | None = None  # where the network looked for it, if that was asked for  [N, S]

    def select(self, rows: NDArray[np.int64]) -> SearchState:
        """The same with these rows, in this order, possibly repeated."""
        index, sentence = torch.from_numpy(rows).to(self.hidden.device), self.sentence[rows]
        attention = None if self.attention is None else self.attention[rows]
        stays = np.array_equal(sentence, self.sentence)  # as beams of the same sentences change places
        return SearchState(self.network.select(index, with_sources=not stays), self.hidden[index], sentence, attention)


class TranslationModel(nn.Module):
    """A network and a head."""

    def __init__(self, network: Network, head: Head) -> None:
        super().__init__()
        if head.reduction != "none" or head.ignore_index != PADDING:
            raise ValueError(
                f"head: a translation model needs reduction 'none' and ignore_index {PADDING}, "
                f"got {head.reduction!r} and {head.ignore_index}; leave both out"
            )
        self.network, self.head = network, head
        self._process = os.getpid()
        self._recorded: dict[type[RecordedSearch], Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Recordings stay where they are."""
        return {**self.__dict__, "_recorded": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Unpickled, it belongs to this process."""
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._process = os.getpid()

    def renumber(self, code: Code) -> None:
        """Give the words of the head other numbers. What was recorded with the old ones is dropped."""
        self.head.renumber(code)
        self._recorded = {}

    def forward(self, source: Tensor, lengths: Tensor, target_in: Tensor, target_out: Tensor) -> Tensor:
        """The loss of every target word, 0 on padding.

        source [N, S], lengths [N], target_in [N, T] from BOS on, target_out [N, T] up to EOS -> [N, T]
        """
        hidden = self.network(source, lengths, target_in)
        return self.head.loss(hidden.flatten(0, 1), target_out.flatten()).view(target_out.shape)

    @contextmanager
    def inference(self) -> Iterator[None]:
        """Without dropout and gradients: what search should run in.

        Raises RuntimeError after a fork, where torch would wait forever for threads that the parent alone has.
        """
        if self._process != os.getpid() and torch.get_num_threads() > 1:
            raise RuntimeError(
                "this model was made before the process was forked, and torch's threads do not live on: load it in the "
                "child, or start that by spawn; or load with threads=1; or take an exported model, which may be forked"
            )
        training, _ = self.training, self.eval()
        try:
            with torch.inference_mode():
                yield
        finally:
            self.train(training)

    def greedy(self, sources: Sequence[NDArray[Any]], limits: Sequence[int]) -> list[list[int] | None]:
        """On a GPU, the best words of each source, at most so many; None of what the common search must find."""
        search = self._recorded_search(RecordedGreedy)
        return search(sources, limits) if search else [None] * len(sources)

    def beams(
        self,
        sources: Sequence[NDArray[Any]],
        limits: Sequence[int],
        width: int,
        search: Callable[[range, Following], Sequence[Found]],
    ) -> list[Found | None]:
        """On a GPU, what a search finds that is told which hypotheses go on: see `RecordedBeam`."""
        recorded = self._recorded_search(RecordedBeam)
        return recorded(sources, limits, width, search) if recorded else [None] * len(sources)

    def _recorded_search(self, kind: type[Search]) -> Search | None:
        if self.device.type != "cuda" or self.training:
            return None
        if kind not in self._recorded:
            self._recorded[kind] = kind(self.network, self.head)
        return self._recorded[kind]

    def start(self, sources: Sequence[NDArray[Any]], attention: bool = False) -> SearchState:
        """Read source sentences and the first BOS. sources: ids of each -> state of N rows, with attention if asked"""
        return self.step(self.encode(sources, attention), np.full(len(sources), BOS))

    def encode(self, sources: Sequence[NDArray[Any]], attention: bool = False) -> SearchState:
        """Read source sentences: what `start` does before the first word."""
        lengths = torch.tensor([len(source) for source in sources])
        words = torch.from_numpy(pad(list(sources), EOS)).to(self.device)
        nothing_yet, shares = next(self.parameters()).new_empty(0), np.empty(0) if attention else None
        return SearchState(self.network.start(words, lengths), nothing_yet, np.arange(len(sources)), shares)

    def step(self, state: SearchState, words: NDArray[np.int64]) -> SearchState:
        """Read the next target words [N]."""
        hidden, network = self.network.step(state.network, torch.from_numpy(words).to(self.device))
        attention = None if state.attention is None else self.network.attention(network).float().cpu().numpy()
        return SearchState(network, hidden, state.sentence, attention)

    @property
    def layer(self) -> Head:
        """The head, as an exported model calls its output layer."""
        return self.head

    def best(self, state: SearchState) -> NDArray[np.int64]:
        """The best next word of every row. -> [N]"""
        return self.head.best(state.hidden).cpu().numpy()

    def topk(self, state: SearchState, k: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The k best next words of every row. -> words, log_probs [N, k]"""
        words, log_probs = self.head.topk(state.hidden, k)
        return words.cpu().numpy(), log_probs.float().cpu().numpy()

    def log_prob(self, state: SearchState, words: NDArray[np.int64]) -> NDArray[Any]:
        """log P of a next word for every row. words [N] -> [N]"""
        log_probs = self.head.log_prob(state.hidden, torch.from_numpy(words).to(self.device))
        return log_probs.float().cpu().numpy()

    def sample(self, state: SearchState, temperature: float, random: np.random.Generator) -> NDArray[np.int64]:
        """A next word drawn for every row. -> [N]"""
        generator = torch.Generator(self.device).manual_seed(int(random.integers(1 << 62)))
        return self.head.sample(state.hidden, temperature, generator).cpu().numpy()

    @property
    def source_code(self) -> Code | None:
        """That of source words, if an unknown one may be V + the number of its code instead of UNK."""
        codes = self.network.word_codes
        return codes.source if codes is not None and self.network.settings.embeddings.reads_unknown else None

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device


def target_pair(ids: NDArray[Any], lengths: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What the decoder reads, from BOS on, and what it must predict, up to EOS.

    ids of sentences one after another [tokens], how many each has [N] -> [N, T] twice
    """
    ends = lengths.cumsum()
    read = as_rows(np.insert(ids, ends - lengths, BOS), lengths + 1, EOS)
    predict = as_rows(np.insert(ids, ends, EOS), lengths + 1, PADDING)
    return read, predict

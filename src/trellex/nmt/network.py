"""What every network is: source and target words go in, and what an output layer reads comes out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Protocol, Self

from torch import Tensor, nn

from trellex.nmt.composed_embedding import ComposedEmbedding
from trellex.nmt.settings import ModelSettings
from trellex.nmt.word_codes import WordCodes


class NetworkState(Protocol):
    """What a network carries from word to word: tensors with a row for every sentence."""

    def __iter__(self) -> Iterator[Tensor]: ...

    def select(self, rows: Tensor, with_sources: bool = True) -> Self:
        """The same with these rows, in this order, possibly repeated.

        with_sources: whether what is known of the sources moves, too; not if each row takes that of its own sentence
        """


class Network(nn.Module, ABC):
    """An encoder and a decoder.

    Args:
        settings: its sizes
        source_size, target_size: vocabulary sizes
        embedding: the vectors of target words, which an output layer may share; new ones unless given
        source_embedding: those of source words, likewise
    """

    settings: ModelSettings
    embedding: nn.Embedding
    source_embedding: nn.Embedding

    @abstractmethod
    def __init__(
        self,
        settings: Any,
        source_size: int,
        target_size: int,
        embedding: nn.Embedding | None = None,
        source_embedding: nn.Embedding | None = None,
    ) -> None:
        super().__init__()

    @property
    def word_codes(self) -> WordCodes | None:
        """Those that its word vectors are composed from, if they are."""
        both = self.source_embedding, self.embedding
        codes = [each.code for each in both if isinstance(each, ComposedEmbedding)]
        return WordCodes(*codes) if codes else None

    @abstractmethod
    def forward(self, source: Tensor, lengths: Tensor, words: Tensor) -> Tensor:
        """What the output layer reads after each target word, all of which are given.

        source [N, S], lengths [N], words [N, T] -> [N, T, H]
        """

    @abstractmethod
    def start(self, source: Tensor, lengths: Tensor) -> Any:
        """Read source sentences. source [N, S], lengths [N] -> the state before the first word"""

    @abstractmethod
    def step(self, state: Any, words: Tensor) -> tuple[Tensor, Any]:
        """Read a target word in every row. words [N] -> what the output layer reads [N, H], and the next state"""

    @abstractmethod
    def attention(self, state: Any) -> Tensor:
        """How much the last step, without dropout, looked at each source word; 0 on padding. -> [N, S]"""

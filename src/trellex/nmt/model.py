"""The translation model: encoder, decoder and an output layer, for training and for search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor, nn

from trellex.heads import Head
from trellex.nmt.decoder import Decoder, DecoderState, Memory
from trellex.nmt.encoder import Encoder
from trellex.text.batches import as_rows, pad
from trellex.text.vocabulary import BOS, EOS

PADDING = -100  # in targets; heads ignore it


class ModelSettings(BaseModel):
    """The sizes of the network. The defaults are the paper's."""

    model_config = ConfigDict(extra="forbid")

    embedding_size: int = Field(512, ge=1, description="size of the word vectors, source and target")
    hidden_size: int = Field(512, ge=1, description="size of LSTM states (in either direction) and hidden layers")
    dropout: float = Field(0.3, ge=0, lt=1, description="dropout on the inputs and outputs of the LSTMs")
    input_feeding: bool = Field(False, description="feed the attentional vector to the next step; much slower")


class SearchState(NamedTuple):
    """Sentences being translated: rows can be chosen with `select`."""

    memory: Memory
    decoder: DecoderState
    hidden: Tensor  # what the head reads next  [N, H]

    def select(self, rows: NDArray[np.int64]) -> SearchState:
        """The same with these rows, in this order, possibly repeated."""
        index = torch.from_numpy(rows).to(self.hidden.device)
        return SearchState(
            Memory(*(x[index] for x in self.memory)),
            DecoderState(*(x[index] for x in self.decoder)),
            self.hidden[index],
        )


class TranslationModel(nn.Module):
    """Encoder, decoder and head.

    Args:
        settings: sizes
        source_size, target_size: vocabulary sizes
        head: the output layer, over `target_size` words
    """

    def __init__(self, settings: ModelSettings, source_size: int, target_size: int, head: Head) -> None:
        super().__init__()
        if head.reduction != "none" or head.ignore_index != PADDING:
            raise ValueError(
                f"head: a translation model needs reduction 'none' and ignore_index {PADDING}, "
                f"got {head.reduction!r} and {head.ignore_index}; leave both out"
            )
        sizes = settings.embedding_size, settings.hidden_size
        self.encoder = Encoder(source_size, *sizes, settings.dropout)
        self.decoder = Decoder(target_size, *sizes, 2 * settings.hidden_size, settings.dropout, settings.input_feeding)
        self.head = head

    def forward(self, source: Tensor, lengths: Tensor, target_in: Tensor, target_out: Tensor) -> Tensor:
        """The loss of every target word, 0 on padding.

        source [N, S], lengths [N] on the CPU, target_in [N, T] from BOS on, target_out [N, T] up to EOS -> [N, T]
        """
        memory, state = self._encode(source, lengths)
        hidden, _ = self.decoder(target_in, state, memory)
        return self.head.loss(hidden.flatten(0, 1), target_out.flatten()).view(target_out.shape)

    @contextmanager
    def inference(self) -> Iterator[None]:
        """Without dropout and gradients: what search should run in."""
        training, _ = self.training, self.eval()
        try:
            with torch.inference_mode():
                yield
        finally:
            self.train(training)

    def start(self, sources: Sequence[NDArray[Any]]) -> SearchState:
        """Read source sentences and the first BOS. sources: ids of each -> state of N rows"""
        lengths = torch.tensor([len(source) for source in sources])
        words = torch.from_numpy(pad(list(sources), EOS)).to(self.device)
        memory, state = self._encode(words, lengths)
        hidden = memory.states.new_zeros(len(sources), state.h.shape[-1])
        return self.step(SearchState(memory, state, hidden), np.full(len(sources), BOS))

    def step(self, state: SearchState, words: NDArray[np.int64]) -> SearchState:
        """Read the next target words [N]."""
        inputs = torch.from_numpy(words).to(self.device)[:, None]
        hidden, decoder = self.decoder(inputs, state.decoder, state.memory)
        return SearchState(state.memory, decoder, hidden[:, -1])

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

    def _encode(self, source: Tensor, lengths: Tensor) -> tuple[Memory, DecoderState]:
        states, summary = self.encoder(source, lengths)
        mask = torch.arange(source.shape[1], device=source.device) < lengths.to(source.device)[:, None]
        return Memory(states, self.decoder.attention.keys(states), mask), self.decoder.start(summary)

    @property
    def device(self) -> torch.device:
        return self.encoder.embedding.weight.device


def target_pair(ids: NDArray[Any], lengths: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What the decoder reads, from BOS on, and what it must predict, up to EOS.

    ids of sentences one after another [tokens], how many each has [N] -> [N, T] twice
    """
    ends = lengths.cumsum()
    read = as_rows(np.insert(ids, ends - lengths, BOS), lengths + 1, EOS)
    predict = as_rows(np.insert(ids, ends, EOS), lengths + 1, PADDING)
    return read, predict

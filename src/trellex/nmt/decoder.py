"""The decoder: an LSTM over the target words with attention, in the style of Luong et al. (2015)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from trellex.nmt.attention import ConcatAttention
from trellex.nmt.lstm import LSTM


class Memory(NamedTuple):
    """What the decoder looks at: the encoded source sentences."""

    states: Tensor  # [N, S, C]
    keys: Tensor  # [N, S, H]
    mask: Tensor  # [N, S]


class DecoderState(NamedTuple):
    """What the decoder carries from word to word."""

    h: Tensor  # [N, H]
    c: Tensor  # [N, H]
    output: Tensor  # the last attentional vector, for input feeding  [N, H]


class Decoder(nn.Module):
    """One layer of LSTM, attention over the encoder's states, and h~ = tanh(W [context; h]), which the head reads.

    Without input feeding no step waits for the attention of the one before, so the LSTM runs over a whole sentence
    at once.
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        hidden_size: int,
        memory_size: int,
        dropout: float,
        input_feeding: bool,
    ) -> None:
        super().__init__()
        self.input_feeding = input_feeding
        self.embedding = nn.Embedding(vocab_size, embedding_size)
        self.start_h = nn.Linear(memory_size, hidden_size)
        self.start_c = nn.Linear(memory_size, hidden_size)
        self.lstm = LSTM(embedding_size + (hidden_size if input_feeding else 0), hidden_size, batch_first=True)
        self.attention = ConcatAttention(hidden_size, memory_size, hidden_size)
        self.combine = nn.Linear(memory_size + hidden_size, hidden_size)
        self.dropout = nn.Dropout(dropout)

    def start(self, summary: tuple[Tensor, Tensor]) -> DecoderState:
        """The state before the first word. summary: the encoder's last h and c [N, C] each"""
        h, c = torch.tanh(self.start_h(summary[0])), self.start_c(summary[1])
        return DecoderState(h, c, torch.zeros_like(h))

    def forward(self, words: Tensor, state: DecoderState, memory: Memory) -> tuple[Tensor, DecoderState]:
        """Read words [N, T]; return what the head reads after each [N, T, H], and the state after the last."""
        embedded = self.dropout(self.embedding(words))
        if not self.input_feeding:
            return self._run(embedded, state, memory)
        outputs = []
        for step in range(words.shape[1]):
            fed = torch.cat([embedded[:, step], self.dropout(state.output).to(embedded.dtype)], -1)[:, None]
            output, state = self._run(fed, state, memory)
            outputs.append(output)
        return torch.cat(outputs, 1), state

    def _run(self, inputs: Tensor, state: DecoderState, memory: Memory) -> tuple[Tensor, DecoderState]:
        """inputs [N, T, E] -> outputs [N, T, H]"""
        hidden, (h, c) = self.lstm(inputs, (state.h[None].contiguous(), state.c[None].contiguous()))
        hidden = self.dropout(hidden)
        context = self.attention(hidden, memory.keys, memory.states, memory.mask)
        output = torch.tanh(self.combine(torch.cat([context, hidden], -1)))
        return output, DecoderState(h[0], c[0], output[:, -1])

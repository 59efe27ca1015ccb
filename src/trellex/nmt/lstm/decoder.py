"""The decoder: an LSTM over the target words with attention, in the style of Luong et al. (2015)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from trellex.arrays import is_inspectable
from trellex.nmt.lstm.attention import ConcatAttention
from trellex.nmt.lstm.layer import LSTM


class DecoderState(NamedTuple):
    """What the decoder carries from word to word, and the encoded source sentences that it looks at."""

    h: Tensor  # [N, H]
    c: Tensor  # [N, H]
    output: Tensor  # the last attentional vector, for input feeding  [N, H]
    states: Tensor  # of the encoder  [N, S, C]
    keys: Tensor  # [N, S, H]
    mask: Tensor  # true on real words  [N, S]

    def select(self, rows: Tensor, with_sources: bool = True) -> DecoderState:
        """The same with these rows, in this order, possibly repeated; the encoded sources as they are, if asked for."""
        own, sources = self[:3], self[3:]
        return DecoderState(*(each[rows] for each in own), *(each[rows] if with_sources else each for each in sources))


class Decoder(nn.Module):
    """One layer of LSTM, attention over the encoder's states, and h~ = tanh(W [context; h]), which the head reads.

    Without input feeding no step waits for the attention of the one before, so the LSTM runs over a whole sentence
    at once.
    """

    def __init__(
        self, embedding: nn.Embedding, hidden_size: int, memory_size: int, dropout: float, input_feeding: bool
    ) -> None:
        super().__init__()
        self.input_feeding = input_feeding
        self.embedding = embedding
        self.start_h = nn.Linear(memory_size, hidden_size)
        self.start_c = nn.Linear(memory_size, hidden_size)
        inputs = embedding.embedding_dim + (hidden_size if input_feeding else 0)
        self.lstm = LSTM(inputs, hidden_size, batch_first=True)
        self.attention = ConcatAttention(hidden_size, memory_size, hidden_size)
        self.combine = nn.Linear(memory_size + hidden_size, hidden_size)
        self.dropout = nn.Dropout(dropout)

    def start(self, states: Tensor, mask: Tensor, summary: tuple[Tensor, Tensor]) -> DecoderState:
        """The state before the first word. states [N, S, C], mask [N, S], summary: the encoder's last h and c [N, C]"""
        keys = self.attention.keys(states)
        h, c = torch.tanh(self.start_h(summary[0])), self.start_c(summary[1])
        return DecoderState(h, c, torch.zeros_like(h), states, keys, mask)

    def forward(self, words: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Read words [N, T]; return what the head reads after each [N, T, H], and the state after the last."""
        embedded = self.dropout(self.embedding(words))
        if not self.input_feeding:
            return self._run(embedded, state)
        outputs = []
        for step in range(words.shape[1]):
            output, state = self._run(self._fed(embedded[:, step], state)[:, None], state)
            outputs.append(output)
        return torch.cat(outputs, 1), state

    def step(self, words: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """Read a word in every row [N]; return what the head reads after it [N, H], and the next state."""
        embedded = self.dropout(self.embedding(words))
        h, c = self.lstm.cell(self._fed(embedded, state) if self.input_feeding else embedded, state.h, state.c)
        output = self._attentional(self.dropout(h)[:, None], state)[:, 0]
        return output, state._replace(h=h, c=c, output=output)

    def _fed(self, embedded: Tensor, state: DecoderState) -> Tensor:
        """What the LSTM reads with input feeding. embedded [N, E] -> [N, E + H]"""
        return torch.cat([embedded, self.dropout(state.output).to(embedded.dtype)], -1)

    def _run(self, inputs: Tensor, state: DecoderState) -> tuple[Tensor, DecoderState]:
        """inputs [N, T, E] -> outputs [N, T, H]"""
        start = state.h[None].contiguous(), state.c[None].contiguous()
        hidden, (h, c) = self.lstm(inputs, start) if is_inspectable(inputs) else self.lstm.whole(inputs, start=start)
        output = self._attentional(self.dropout(hidden), state)
        return output, state._replace(h=h[0], c=c[0], output=output[:, -1])

    def _attentional(self, hidden: Tensor, state: DecoderState) -> Tensor:
        """hidden [N, T, H] -> h~ [N, T, H]"""
        context = self.attention(hidden, state.keys, state.states, state.mask)
        return torch.tanh(self.combine(torch.cat([context, hidden], -1)))

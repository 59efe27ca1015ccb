"""The encoder: a bidirectional LSTM over the source words."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from trellex.arrays import is_inspectable
from trellex.nmt.lstm.layer import LSTM


class Encoder(nn.Module):
    """One layer of bidirectional LSTM, `hidden_size` in either direction.

    Shape:
        words [N, S], lengths [N], at least 1 -> states [N, S, 2H], summary (h, c) [N, 2H] each
    """

    def __init__(self, embedding: nn.Embedding, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self.embedding = embedding
        self.lstm = LSTM(embedding.embedding_dim, hidden_size, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(dropout)

    def forward(self, words: Tensor, lengths: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        embedded = self.dropout(self.embedding(words))
        if is_inspectable(words):
            packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
            packed_states, (h, c) = self.lstm(packed)
            states, _ = pad_packed_sequence(packed_states, batch_first=True, total_length=words.shape[1])
        else:
            states, (h, c) = self.lstm.whole(embedded, lengths.to(words.device))
        return self.dropout(states), (torch.cat([h[0], h[1]], -1), torch.cat([c[0], c[1]], -1))

"""Encoder and decoder together, as models ask for them."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from trellex.nmt.lstm.decoder import Decoder, DecoderState
from trellex.nmt.lstm.encoder import Encoder
from trellex.nmt.network import Network
from trellex.nmt.settings import LSTMSettings


class LSTMNetwork(Network):
    """The network of the paper."""

    settings: LSTMSettings

    def __init__(
        self,
        settings: LSTMSettings,
        source_size: int,
        target_size: int,
        embedding: nn.Embedding | None = None,
        source_embedding: nn.Embedding | None = None,
    ) -> None:
        super().__init__(settings, source_size, target_size)
        self.settings = settings
        size, dropout = settings.hidden_size, settings.dropout
        source_embedding = source_embedding or nn.Embedding(source_size, settings.embedding_size)
        self.encoder = Encoder(source_embedding, size, dropout)
        embedding = embedding or nn.Embedding(target_size, settings.embedding_size)
        self.decoder = Decoder(embedding, size, 2 * size, dropout, settings.input_feeding)

    @property
    def embedding(self) -> nn.Embedding:  # type: ignore[override]
        return self.decoder.embedding

    @property
    def source_embedding(self) -> nn.Embedding:  # type: ignore[override]
        return self.encoder.embedding

    def forward(self, source: Tensor, lengths: Tensor, words: Tensor) -> Tensor:
        return self.decoder(words, self.start(source, lengths))[0]

    def start(self, source: Tensor, lengths: Tensor) -> DecoderState:
        states, summary = self.encoder(source, lengths)
        mask = torch.arange(source.shape[1], device=source.device) < lengths.to(source.device)[:, None]
        return self.decoder.start(states, mask, summary)

    def step(self, state: DecoderState, words: Tensor) -> tuple[Tensor, DecoderState]:
        return self.decoder.step(words, state)

    def attention(self, state: DecoderState) -> Tensor:
        return self.decoder.attention.shares(state.h[:, None], state.keys, state.mask)[:, 0]

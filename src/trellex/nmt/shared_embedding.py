"""Word vectors for both ends of a decoder: what it reads, and what an output layer is built on."""

from __future__ import annotations

from torch import Tensor, nn


class SharedEmbedding(nn.Embedding):
    """Vectors as short as the rows of an output layer are, which the decoder reads √size times as long.

    Of one length for both, they would be too long for scores or too short to be read; and Adam, whose steps are of one
    size, would change long vectors too slowly for an output layer.
    """

    def __init__(self, words: int, size: int) -> None:
        super().__init__(words, size)
        nn.init.normal_(self.weight, std=size**-0.5)

    def forward(self, words: Tensor) -> Tensor:
        return super().forward(words) * self.embedding_dim**0.5

"""Word vectors composed from codes: few vectors for many words."""

from __future__ import annotations

from typing import Self

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, embedding_bag, linear

from trellex.codes import Code
from trellex.nmt.settings import EmbeddingSettings
from trellex.trellis.windows import Windows


class ComposedEmbedding(nn.Embedding):
    """E[w] = Σ_t table[window of w's code at t] / √2B + P · residual[w], in place of a table of vectors.

    Windows are those of a complete trellis: words whose codes begin alike share most of them, and what a word has for
    itself is its residual. Either part begins with half of the variance. The sum is divided, rather than its B terms
    made small, because Adam's steps are of one size: B of them that agree move a vector √B / √2 times as far as one
    moves a vector of a table, B that do not agree less than that.

    Args:
        settings: memory and size of the residual
        code: of all V words, whose numbers have no gaps
        size: E
        is_shared: with an output layer; vectors are then as short, and read as long, as those of `SharedEmbedding`
    """

    padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse = None, None, 2.0, False, False

    def __init__(self, settings: EmbeddingSettings, code: Code, size: int, is_shared: bool = False) -> None:
        nn.Module.__init__(self)
        self.code, self.windows = code, Windows(code.num_bits, settings.memory)
        self.num_embeddings, self.embedding_dim = code.vocab_size, size
        self.length = size**0.5 if is_shared else 1.0  # how many times as long vectors are read
        self.table = nn.Parameter(torch.empty(self.windows.count, size))
        self.residual = nn.Parameter(torch.empty(code.vocab_size, settings.residual))
        self.project = nn.Parameter(torch.empty(size, settings.residual))
        nn.init.normal_(self.table, std=1 / self.length)
        nn.init.normal_(self.residual, std=settings.residual**-0.5)
        nn.init.normal_(self.project, std=0.5**0.5 / self.length)
        self._kept: Tensor | None = None  # the vectors of all words
        self._state: object = None  # of the weights that they are of

    def forward(self, words: Tensor) -> Tensor:
        """words [..] -> vectors [.., E]"""
        return self.composed(self.code.numbers(words), embedding(words, self.residual))

    def composed(self, numbers: Tensor, residuals: Tensor) -> Tensor:
        """Vectors of words by the numbers of their codes and their residuals. [..], [.., R] -> [.., E]"""
        windows = self.windows.of(numbers).view(numbers.numel(), self.windows.num_bits)
        sums = embedding_bag(windows, self.parts()[0], mode="sum").view(*numbers.shape, self.embedding_dim)
        return (sums + linear(residuals, self.project)) * self.length

    def parts(self) -> tuple[Tensor, Tensor, Tensor]:
        """What adds up to the vectors: that of every window [W, E]; and residuals [V, R], to be multiplied by [E, R]"""
        return self.table * (2 * self.windows.num_bits) ** -0.5, self.residual, self.project

    @property
    def weight(self) -> Tensor:  # type: ignore[override]
        """The vectors of all words, for an output layer that scores by them: composed once for every use.

        Without gradients, in evaluation mode, they are kept until weights or the mode change, and then composed anew in
        the same place, where recordings look for them. [V, E]
        """
        if self.training or torch.is_grad_enabled():
            return self._all_vectors()
        state = [(each.data_ptr(), None if each.is_inference() else each._version) for each in self.parameters()]
        if self._kept is None or self._state != state:
            precise = torch.autocast(self.table.device.type, enabled=False)
            with torch.inference_mode(False), torch.no_grad(), precise:  # inference tensors do not change outside
                vectors = self._all_vectors()
                place = self._kept
                if place is None or (place.device, place.dtype) != (vectors.device, vectors.dtype):
                    place = torch.empty_like(vectors)
                self._kept = place.copy_(vectors)
            self._state = state
        return self._kept

    def _all_vectors(self) -> Tensor:
        table, residual, project = self.parts()
        numbers = self.code.numbers(torch.arange(self.num_embeddings, device=table.device))
        return self.windows.sums(table).index_select(0, numbers) + linear(residual, project)

    def train(self, mode: bool = True) -> Self:
        """A recorded step changes weights without a trace: what was kept before training is of other ones."""
        if mode or self.training:
            self._state = None
        return super().train(mode)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}, windows={self.windows.count}"

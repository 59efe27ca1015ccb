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
    """E[w] = Σ_t table[window of w's code at t] / √2B + P · residual[w] + own[w], in place of a table of vectors.

    Windows are those of a complete trellis: words whose codes begin alike share most of them, and what a word has for
    itself is its residual. Either begins with half of the variance. The F words of lowest ids, the markers and the most
    frequent words, also have a vector of their own, which begins at 0. The sum over windows is divided, rather than its
    B terms made small, because Adam's steps are of one size: B of them that agree move a vector √B / √2 times as far as
    one moves a vector of a table, B that do not agree less than that.

    Args:
        settings: memory, size of the residual, and F
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
        frequent = min(settings.frequent, code.vocab_size)  # F
        self.own = nn.Parameter(torch.zeros(frequent, size)) if frequent else None
        nn.init.normal_(self.table, std=1 / self.length)
        nn.init.normal_(self.residual, std=settings.residual**-0.5)
        nn.init.normal_(self.project, std=0.5**0.5 / self.length)
        self._kept: Tensor | None = None  # the vectors of all words
        self._state: object = None  # of the weights that they are of

    def forward(self, words: Tensor) -> Tensor:
        """words [..] -> vectors [.., E]"""
        return self.composed(self.code.numbers(words), embedding(words, self.residual)) + self.own_of(words)

    def own_of(self, words: Tensor) -> Tensor | float:
        """What words have beside windows and residuals, 0 for all but frequent ones. [..] -> [.., E]"""
        if self.own is None:
            return 0.0
        last = len(self.own) - 1
        return embedding(words.clamp(max=last), self.own) * (words <= last)[..., None] * self.length

    def composed(self, numbers: Tensor, residuals: Tensor) -> Tensor:
        """Vectors of words by the numbers of their codes and their residuals. [..], [.., R] -> [.., E]"""
        windows = self.windows.of(numbers).view(numbers.numel(), self.windows.num_bits)
        sums = embedding_bag(windows, self.parts()["table"], mode="sum").view(*numbers.shape, self.embedding_dim)
        return (sums + linear(residuals, self.project)) * self.length

    def parts(self) -> dict[str, Tensor]:
        """What adds up to the vectors.

        table: of every window [W, E]; residual [V, R] and project [E, R], to be multiplied; own [F, E]
        """
        return {
            "table": self.table * (2 * self.windows.num_bits) ** -0.5,
            "residual": self.residual,
            "project": self.project,
            "own": self.table[:0] if self.own is None else self.own,
        }

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
        table, residual, project, own = self.parts().values()
        numbers = self.code.numbers(torch.arange(self.num_embeddings, device=table.device))
        vectors = self.windows.sums(table).index_select(0, numbers) + linear(residual, project)
        return torch.cat([vectors[: len(own)] + own, vectors[len(own) :]]) if len(own) else vectors

    def train(self, mode: bool = True) -> Self:
        """A recorded step changes weights without a trace: what was kept before training is of other ones."""
        if mode or self.training:
            self._state = None
        return super().train(mode)

    def extra_repr(self) -> str:
        return f"{self.num_embeddings}, {self.embedding_dim}, windows={self.windows.count}"

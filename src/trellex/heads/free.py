"""Free codes: words have binary codes that are learned end to end, and are scored by them."""

from __future__ import annotations

from typing import Any

from trellex.heads.free_spec import FreeSpec
from trellex.heads.free_words import FreeWords
from trellex.heads.head import Cost
from trellex.heads.proposals import LogUniform
from trellex.heads.scored import ScoredHead


class FreeHead(ScoredHead):
    """A softmax over all V words by the products of B numbers with the signs of a word. O((H + V) B) time."""

    spec: FreeSpec
    linear: FreeWords

    def __init__(self, spec: FreeSpec, hidden_size: int, vocab: Any, _: Any = None) -> None:
        super().__init__(spec, hidden_size, vocab)
        self.linear = FreeWords(hidden_size, self.vocab_size, spec.bits)
        self.proposal = None if spec.loss == "full" else LogUniform(self.vocab_size)

    def cost(self) -> Cost:
        """That of reading words in torch.

        Parameters are those of training, with a latent number for every bit of every word; an export holds V · B bits
        and V biases beside z, and reads a word by V · B / 8 look-ups in place of V · B multiply-adds.
        """
        return self.linear.cost(self.vocab_size)

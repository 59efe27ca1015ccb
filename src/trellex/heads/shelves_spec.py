"""What shelves are, without computing them."""

from __future__ import annotations

from typing import Any, Self

from pydantic import Field, model_validator

from trellex.codes import Code
from trellex.heads.coded_spec import AnyCode, CodedSpec
from trellex.heads.spec import size_of


class ShelvesSpec(CodedSpec):
    """The first bits of a word's code find a shelf of words, the decoder's word vectors one of them."""

    code: AnyCode = Field("clusters", description="which words share a shelf, as above, but no Huffman code")
    words: int = Field(64, ge=2, le=4096, strict=True, description="on a shelf, at most; a power of 2")
    visit: int = Field(16, ge=1, strict=True, description="how many of the most probable shelves share one softmax")
    memory: int = Field(7, ge=3, le=10, strict=True, description="of the complete trellis that finds shelves")
    shelf_weight: float = Field(1.0, ge=0, allow_inf_nan=False, description="of −log P(shelf) in the loss")
    label_smoothing: float = Field(
        0.0, ge=0, lt=1, description="the share of the loss that is the mean over all visited words, and all shelves"
    )

    forms, is_apart = ("shelves",), True

    @property
    def uses_embedding(self) -> bool:
        return True

    @model_validator(mode="after")
    def _words_fit(self) -> Self:
        if self.words & (self.words - 1):
            raise ValueError(f"words: expected a power of 2, such as 64, got {self.words}")
        return self

    def build_code(self, vocab: Any, vectors: Any = None, order: Any = None) -> Code:
        return self.check_code(super().build_code(vocab, vectors, order), size_of(vocab))

    def check_code(self, code: Code, vocab_size: int) -> Code:
        """Its numbers have no gaps, so that shelves are full."""
        if code.automaton is not None:
            raise ValueError(
                f"code: shelves need numbers without gaps, got {code}; use clusters, brown, frequency or random"
            )
        return super().check_code(code, vocab_size)

    def shelf_bits(self, num_bits: int) -> int:
        """How many of the B bits of a code find the shelf; there are at least two."""
        return max(1, num_bits - (self.words.bit_length() - 1))

"""What heads are that predict the bits of words, all of them or the rare ones, without computing it."""

from __future__ import annotations

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from trellex.codes import Code, FrequencyCode
from trellex.heads.coded_spec import CodedSpec
from trellex.heads.spec import size_of
from trellex.records import brief
from trellex.trellis import CompleteCode, ConvolutionalCode, IdentityCode

MEMORY = 8  # of complete trellises


def _as_generators(generators: Any) -> tuple[str, ...] | str | None:
    if generators is None or generators == "complete":
        return generators
    if isinstance(generators, list | tuple) and all(isinstance(each, str) for each in generators):
        return tuple(generators)
    raise ValueError(f"expected a list of generators, such as ['101', '111'], or complete, got {brief(generators)}")


class CodeSpec(CodedSpec):
    """What all heads have that predict the bits of words."""

    loss: Literal["squared", "cross_entropy", "trellis"] | None = Field(
        None, description="squared, as in the paper, cross_entropy of the bits, or trellis: −log P"
    )
    decoding: Literal["exact", "paper"] = Field(
        "exact", description="exact, the most probable word, or paper, in which bits may spell no word, hence UNK"
    )
    generators: Annotated[Any, BeforeValidator(_as_generators)] = Field(
        None, description="of the error-correcting code: a list, or complete, every function of the newest bits"
    )
    memory: int | None = Field(
        None,
        ge=3,
        le=10,
        strict=True,
        description=f"of a complete trellis: how many earlier bits, {MEMORY} unless given",
    )
    mixtures: int = Field(1, ge=1, strict=True, description="sets of bits; their loss is trellis")
    hidden_layer: int | None = Field(None, ge=1, strict=True, description="the size of a layer before the bits, if any")

    @model_validator(mode="after")
    def _options_agree(self) -> Self:
        if self.generators is not None and not self.is_corrected:
            raise ValueError(f"generators: {self.type} has no error-correcting code; add -ec to its type")
        if self.memory is not None and not self.is_complete:
            raise ValueError("memory: is of a complete trellis; add generators: complete, or leave it out")
        if self.is_complete and self.loss not in (None, "trellis"):
            raise ValueError(f"loss: a complete trellis needs the loss 'trellis', got {self.loss!r}; leave it out")
        if self.is_complete and self.decoding == "paper":
            raise ValueError("decoding: the paper's is not defined for a complete trellis; use 'exact'")
        self.error_correction()
        if self.mixtures > 1 and self.loss not in (None, "trellis"):
            raise ValueError(
                f"loss: a mixture needs the loss 'trellis', got {self.loss!r}; leave it out, or set mixtures 1"
            )
        if self.mixtures > 1 and self.decoding == "paper":
            raise ValueError("decoding: the paper's is not defined for a mixture; use 'exact', or set mixtures 1")
        if self.mixtures > 1 and self.label_smoothing:
            raise ValueError(
                "label_smoothing: a mixture's mean over all words is not in its mean code word; set it to 0"
            )
        return self

    @property
    def is_complete(self) -> bool:
        """Whether bits are read by a complete trellis."""
        return self.generators == "complete"

    @property
    def can_renumber(self) -> bool:
        return self.loss_name == "trellis" and self.mixtures == 1 and self.code != "huffman"

    @property
    def loss_name(self) -> str:
        return self.loss or ("trellis" if self.is_complete or self.mixtures > 1 else "squared")

    def _peculiarities(self, *as_usual: str) -> list[str]:
        is_mixed = "mixtures" in self.model_fields_set
        has_the_papers_loss = self.loss in (None, "squared") and not is_mixed and not self.is_complete
        tells_no_loss = has_the_papers_loss or self.loss is None or self.is_complete
        trellis = ["complete", f"memory {self.memory or MEMORY}"] if self.is_complete else []
        told = ["decoding", *(["loss"] if tells_no_loss else []), *(["generators", "memory"] if trellis else [])]
        found = [*trellis, *super()._peculiarities(*told)]
        is_as_expected = self.decoding == ("paper" if has_the_papers_loss else "exact")
        return found if is_as_expected else [*found, f"{self.decoding} decoding"]

    def error_correction(self) -> ConvolutionalCode:
        """The code that adds redundant bits, or none."""
        if not self.is_corrected:
            return IdentityCode()
        if self.is_complete:
            return CompleteCode(self.memory or MEMORY)
        return ConvolutionalCode() if self.generators is None else ConvolutionalCode(self.generators)


class BinarySpec(CodeSpec):
    """Every word by its code alone."""

    forms = ("binary", "binary-ec")


class HybridSpec(CodeSpec):
    """A softmax over the N − 1 most frequent words and the marker OTHER; codes for the rest."""

    numbering: Literal["paper", "rare"] | None = Field(
        None,
        description="paper, the code spans the whole vocabulary, or rare, the rare words alone; unless given, paper "
        "for the frequency code and the paper's losses, rare otherwise",
    )
    softmax_weight: float = Field(1.0, ge=0, allow_inf_nan=False, description="λ_H, of the softmax's loss")
    bits_weight: float = Field(1.0, ge=0, allow_inf_nan=False, description="λ_B, of the bits' loss")

    forms = ("hybrid-N", "hybrid-N-ec")

    @model_validator(mode="after")
    def _numbering_fits(self) -> Self:
        by_frequency = self.code == "frequency" or isinstance(self.code, FrequencyCode)
        if self.numbering == "paper" and not by_frequency:
            raise ValueError("numbering: the paper's is for the frequency code; use rare, or leave it out")
        return self

    @property
    def can_renumber(self) -> bool:
        return super().can_renumber and self.numbering != "paper"

    @property
    def first_rare(self) -> int:
        """The first rare word's id, and the place of OTHER in the softmax."""
        return self.size - 1

    def _first_coded(self) -> int:
        as_paper = self.code == "frequency" and self.loss_name != "trellis"
        return 0 if (self.numbering or ("paper" if as_paper else "rare")) == "paper" else self.first_rare

    def build_code(self, vocab: Any, vectors: Any = None, order: Any = None) -> Code:
        if not 2 <= self.size < size_of(vocab):
            raise ValueError(
                f"type: N = {self.size} does not fit a vocabulary of {size_of(vocab)} words: "
                "it must be at least 2 and leave at least 2 rare words; choose a smaller N or plain softmax"
            )
        return super().build_code(vocab, vectors, order)

    def check_code(self, code: Code, vocab_size: int) -> Code:
        """A frequency code may also be one of the whole vocabulary, as in the paper."""
        spans_all = isinstance(code, FrequencyCode) and code.vocab_size == vocab_size and self.numbering != "rare"
        return code if spans_all else super().check_code(code, vocab_size)

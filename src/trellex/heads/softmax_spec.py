"""What a softmax is, without computing it."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_validator

from trellex.heads.coded_spec import AnyCode, CodedSpec

SAMPLES = 1024  # words that are drawn for all tokens of a batch


class SoftmaxSpec(CodedSpec):
    """A score for every word. Which loss trains it is no part of what it computes afterwards."""

    code: AnyCode = Field("frequency", description="of the code head that proposes words, as above")
    tied: bool = Field(False, strict=True, description="whether scores are products with the decoder's word vectors")
    loss: Literal["full", "sampled", "nce", "negative"] = Field(
        "full",
        description="full, −log P; or by the scores of drawn words alone: sampled, an estimate of −log P, nce, "
        "noise-contrastive estimation, or negative, negative sampling",
    )
    samples: int | None = Field(
        None,
        ge=1,
        strict=True,
        description="words to draw: 1024 for all tokens of a batch unless given, of the code 64 for each",
    )
    proposal: Literal["log-uniform", "code"] = Field(
        "log-uniform",
        description="which words are drawn: log-uniform, by their frequency alone, or code, by a small code head "
        "that learns beside",
    )
    memory: int | None = Field(
        None, ge=3, le=10, strict=True, description="of the complete trellis of that code head, 6 unless given"
    )

    forms = ("softmax",)

    @model_validator(mode="after")
    def _sampling_fits(self) -> Self:
        check_drawn(self, "samples", "proposal")
        for name in ("memory", "code", "seed"):
            if self.is_unusual(name) and not self.has_code:
                raise ValueError(f"{name}: is of the code that proposes words; add proposal: code, or leave it out")
        if self.has_code and self.loss == "negative":
            raise ValueError(
                "proposal: negative sampling learns how P differs from the proposal, and the code is to differ little; "
                "use log-uniform, or loss: nce"
            )
        return self

    @property
    def uses_embedding(self) -> bool:
        return self.tied

    @property
    def has_code(self) -> bool:
        return self.proposal == "code"

    @property
    def num_samples(self) -> int:
        return self.samples or (64 if self.proposal == "code" else SAMPLES)

    def _peculiarities(self, *as_usual: str) -> list[str]:
        return super()._peculiarities(*as_usual, *(["loss", "proposal"] if self.loss == "full" else []))


def check_drawn(spec: Any, *names: str) -> None:
    """Raises ValueError if options of these names, which drawn words have, or label smoothing do not fit the loss."""
    for name in names:
        if spec.is_unusual(name) and spec.loss == "full":
            raise ValueError(f"{name}: is of a loss by drawn words; add loss: sampled, or leave it out")
    if spec.loss != "full" and spec.label_smoothing:
        raise ValueError(
            "label_smoothing: the mean over all words would take the scores of all; set it to 0, or loss to full"
        )

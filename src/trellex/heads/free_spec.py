"""What a head of free codes is, without computing it."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from trellex.heads.softmax_spec import SAMPLES, check_drawn
from trellex.heads.spec import HeadSpec


class FreeSpec(HeadSpec):
    """Words have codes that learn with the model, and a score for every word is read from those."""

    bits: int = Field(64, ge=8, le=256, strict=True, description="B, of a word's code; a multiple of 8")
    loss: Literal["full", "sampled"] = Field(
        "full", description="full, −log P; or sampled, an estimate of it by the scores of drawn words alone"
    )
    samples: int | None = Field(
        None, ge=1, strict=True, description=f"words to draw for all tokens of a batch: {SAMPLES} unless given"
    )

    forms, is_apart = ("free",), True

    @model_validator(mode="after")
    def _options_fit(self) -> Self:
        if self.bits % 8:
            raise ValueError(f"bits: expected a multiple of 8, such as 64, got {self.bits}")
        check_drawn(self, "samples")
        return self

    @property
    def num_samples(self) -> int:
        return self.samples or SAMPLES

"""Settings of a server: how it searches, and what it takes from its clients."""

from __future__ import annotations

from typing import Self

from pydantic import Field, model_validator

from trellex.records import Record

MAX_ALTERNATIVES = 10  # further translations of a text that a request may ask for


class ServeSettings(Record, frozen=True):
    """What a server is told besides its models and its address."""

    beam: int = Field(1, ge=1, le=100, description="hypotheses a sentence; 1 is greedy search")
    replace_unknown: bool = Field(
        False, description="put the source word that was looked at most in place of an unknown word"
    )
    batch_tokens: int = Field(
        1024, ge=1, description="source words, of whatever requests, that are translated side by side, times the beam"
    )
    max_characters: int = Field(50_000, ge=1, description="the most characters of a request")
    max_sentences: int = Field(1000, ge=1, description="the most sentences of a request, and the most texts")
    max_body: int = Field(1 << 20, ge=1, description="the most bytes of a request")
    max_waiting: int = Field(4000, ge=1, description="sentences that may wait to be translated; more are refused")
    requests_per_minute: int | None = Field(
        None, ge=1, description="requests of one API key, or of one address without; as many as there are unless given"
    )
    timeout: float = Field(60, gt=0, le=3600, description="seconds after which a request is given up")

    @model_validator(mode="after")
    def _a_request_fits(self) -> Self:
        if self.max_waiting < self.max_sentences:
            raise ValueError(
                f"max_waiting: {self.max_waiting:,} sentences have no room for a request of max_sentences, "
                f"{self.max_sentences:,}; raise one or lower the other"
            )
        return self

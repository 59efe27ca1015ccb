"""The sizes of networks, by their type. No torch."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import Field, model_serializer, model_validator

from trellex.codes import Code, FrequencyCode, RandomCode, cluster_code
from trellex.records import Record
from trellex.trellis.complete import MAX_MEMORY, MIN_MEMORY


class EmbeddingSettings(Record, frozen=True):
    """Where word vectors come from: a table of them, or the codes of words and a small residual of each."""

    type: Literal["table", "composed"] = Field("table", description="a vector for every word, or composed ones")
    code: Literal["frequency", "random", "clusters"] = Field("clusters", description="of both sides' words")
    memory: int = Field(
        6, ge=MIN_MEMORY, le=MAX_MEMORY, strict=True, description="m: a window holds the newest m + 1 bits"
    )
    residual: int = Field(32, ge=1, strict=True, description="numbers that a word has for itself")
    frequent: int = Field(0, ge=0, strict=True, description="words, the most frequent, that have a vector besides")

    @model_validator(mode="after")
    def _a_table_has_no_options(self) -> Self:
        for name in self.model_fields_set - {"type"} if self.type == "table" else ():
            raise ValueError(
                f"{name}: is of composed vectors; add type: composed, or leave it out, as by embeddings={{type: table}}"
            )
        return self

    @model_serializer
    def _as_it_counts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in (type(self).model_fields if self.is_composed else ("type",))}

    @property
    def is_composed(self) -> bool:
        return self.type == "composed"

    @property
    def reads_unknown(self) -> bool:
        """Whether the code of an unknown word can be told from words like it, which share bits in clusters alone."""
        return self.is_composed and self.code == "clusters"

    def build_code(self, vocab_size: int, vectors: Any = None) -> Code:
        """That of so many words. vectors: of the words, for clusters  [V, D]"""
        if self.code == "frequency":
            return FrequencyCode(vocab_size)
        if self.code == "random":
            return RandomCode(vocab_size)
        if vectors is None:
            raise ValueError("embeddings.code: clusters need word vectors; pass word_codes, or use random or frequency")
        return cluster_code(vectors)


class LSTMSettings(Record):
    """The sizes of the paper's network, which are the defaults."""

    type: Literal["lstm"] = Field("lstm", description="the kind of network")
    embedding_size: int = Field(512, ge=1, description="size of the word vectors, source and target")
    embeddings: EmbeddingSettings = Field(
        EmbeddingSettings(),
        description="{type: table}, or {type: composed, residual: 32, frequent: 4096}: vectors from codes",
    )
    hidden_size: int = Field(512, ge=1, description="size of LSTM states (in either direction) and hidden layers")
    dropout: float = Field(0.3, ge=0, lt=1, description="dropout on the inputs and outputs of the LSTMs")
    input_feeding: bool = Field(False, description="feed the attentional vector to the next step; much slower")

    @model_validator(mode="after")
    def _residual_is_small(self) -> Self:
        if self.embeddings.is_composed and self.embeddings.residual >= self.embedding_size:
            raise ValueError(
                f"embeddings.residual: expected less than embedding_size {self.embedding_size}, "
                f"got {self.embeddings.residual}; choose a smaller one, or type: table"
            )
        return self


ModelSettings = LSTMSettings  # of several kinds it will be their union

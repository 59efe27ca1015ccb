"""The sizes of networks, by their type. No torch."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trellex.records import Record


class LSTMSettings(Record):
    """The sizes of the paper's network, which are the defaults."""

    type: Literal["lstm"] = Field("lstm", description="the kind of network")
    embedding_size: int = Field(512, ge=1, description="size of the word vectors, source and target")
    hidden_size: int = Field(512, ge=1, description="size of LSTM states (in either direction) and hidden layers")
    dropout: float = Field(0.3, ge=0, lt=1, description="dropout on the inputs and outputs of the LSTMs")
    input_feeding: bool = Field(False, description="feed the attentional vector to the next step; much slower")


ModelSettings = LSTMSettings  # of several kinds it will be their union

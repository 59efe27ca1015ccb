"""From settings to a model: the one place where networks and output layers are put together."""

from __future__ import annotations

from typing import Any

import torch

from trellex.codes import Code
from trellex.heads import HeadSpec, build_head
from trellex.heads.spec import size_of
from trellex.memory import check_weights, weights_named
from trellex.nmt.lstm.network import LSTMNetwork
from trellex.nmt.model import TranslationModel
from trellex.nmt.network import Network
from trellex.nmt.settings import LSTMSettings, ModelSettings
from trellex.nmt.shared_embedding import SharedEmbedding

NETWORKS: dict[type[ModelSettings], type[Network]] = {LSTMSettings: LSTMNetwork}


def build_model(
    settings: ModelSettings, head: Any, source_size: int, vocab: Any, code: Code | None = None, room: int | None = None
) -> TranslationModel:
    """An untrained model. Raises ValueError, before memory is taken, if there is no room for its weights.

    Args:
        settings: the network
        head: the output layer, as `build_head` takes it
        source_size: the number of source words
        vocab: the number of target words, or their vocabulary with counts
        code: of a model that was trained, or learned from a text, instead of the one that its head would make
        room: bytes for the weights; what this machine holds unless given
    """
    spec = HeadSpec.parse(head)
    what = f"hidden_size {settings.hidden_size}, embedding_size {settings.embedding_size}, head {spec.label}"
    with torch.device("meta"), weights_named(what):
        outline = code or spec.stand_in(vocab)
        check_weights(_build(settings, spec, source_size, vocab, outline), what, room)
    with weights_named(what):
        return _build(settings, spec, source_size, vocab, code)


def _build(
    settings: ModelSettings, spec: HeadSpec, source_size: int, vocab: Any, code: Code | None
) -> TranslationModel:
    target_size = size_of(vocab)
    embedding = SharedEmbedding(target_size, settings.embedding_size) if spec.uses_embedding else None
    described = spec if code is None else spec.with_options(code=code)
    layer = build_head(described, hidden_size=settings.hidden_size, vocab=vocab, embedding=embedding)
    layer.spec = spec
    network = NETWORKS[type(settings)](settings, source_size, target_size, embedding)
    return TranslationModel(network, layer)

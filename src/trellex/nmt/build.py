"""From settings to a model: the one place where networks and output layers are put together."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from trellex.codes import Code
from trellex.heads import HeadSpec, build_head
from trellex.heads.spec import size_of
from trellex.memory import check_weights, weights_named
from trellex.nmt.composed_embedding import ComposedEmbedding
from trellex.nmt.lstm.network import LSTMNetwork
from trellex.nmt.model import TranslationModel
from trellex.nmt.network import Network
from trellex.nmt.open_embedding import OpenEmbedding
from trellex.nmt.settings import LSTMSettings, ModelSettings
from trellex.nmt.shared_embedding import SharedEmbedding
from trellex.nmt.word_codes import WordCodes

NETWORKS: dict[type[ModelSettings], type[Network]] = {LSTMSettings: LSTMNetwork}


def build_model(
    settings: ModelSettings,
    head: Any,
    source_size: int,
    vocab: Any,
    code: Code | None = None,
    room: int | None = None,
    word_codes: WordCodes | None = None,
) -> TranslationModel:
    """An untrained model. Raises ValueError, before memory is taken, if there is no room for its weights.

    Args:
        settings: the network
        head: the output layer, as `build_head` takes it
        source_size: the number of source words
        vocab: the number of target words, or their vocabulary with counts
        code: of a model that was trained, or learned from a text, instead of the one that its head would make
        room: bytes for the weights; what this machine holds unless given
        word_codes: that composed word vectors are made from; as the settings say unless given
    """
    spec = HeadSpec.parse(head)
    what = f"hidden_size {settings.hidden_size}, embedding_size {settings.embedding_size}, head {spec.label}"
    with torch.device("meta"), weights_named(what):
        outline = code or spec.stand_in(vocab)
        codes = word_codes
        if settings.embeddings.is_composed:
            codes = word_codes or WordCodes.stand_in(source_size, size_of(vocab))
        check_weights(_build(settings, spec, source_size, vocab, outline, codes), what, room)
    with weights_named(what):
        return _build(settings, spec, source_size, vocab, code, word_codes)


def _build(
    settings: ModelSettings,
    spec: HeadSpec,
    source_size: int,
    vocab: Any,
    code: Code | None,
    word_codes: WordCodes | None,
) -> TranslationModel:
    target_size, size = size_of(vocab), settings.embedding_size
    embedding: nn.Embedding | None = None
    source_embedding: nn.Embedding | None = None
    if settings.embeddings.is_composed:
        codes = word_codes or WordCodes.of(settings.embeddings, source_size, target_size)
        source_embedding = OpenEmbedding(settings.embeddings, codes.source, size)
        embedding = ComposedEmbedding(settings.embeddings, codes.target, size, spec.uses_embedding)
    elif spec.uses_embedding:
        embedding = SharedEmbedding(target_size, size)
    described = spec if code is None else spec.with_options(code=code)
    layer = build_head(described, hidden_size=settings.hidden_size, vocab=vocab, embedding=embedding)
    layer.spec = spec
    network = NETWORKS[type(settings)](settings, source_size, target_size, embedding, source_embedding)
    return TranslationModel(network, layer)

"""A Transformer of random weights for CTranslate2."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.attention_spec import MultiHeadAttentionSpec
from ctranslate2.specs.common_spec import LayerNormSpec, LinearSpec

from forced import names
from trellex.text.vocabulary import MARKERS


@dataclass(frozen=True)
class TransformerSize:
    """The base model of Vaswani et al. (2017)."""

    layers: int = 6
    width: int = 512
    heads: int = 8
    hidden: int = 2048


class TransformerBuilder:
    """Fills the specification of a Transformer with random weights, float32, scaled to keep the size of activations."""

    def __init__(self, size: TransformerSize, seed: int = 0) -> None:
        self.size, self.random = size, np.random.default_rng(seed)

    def spec(self, source_words: int, target_words: int) -> TransformerSpec:
        spec = TransformerSpec.from_config(self.size.layers, self.size.heads)
        spec.encoder.embeddings[0].weight = self.matrix(source_words, self.size.width)
        spec.decoder.embeddings.weight = self.matrix(target_words, self.size.width)
        for side in (spec.encoder, spec.decoder):
            self.norm(side.layer_norm)
            for layer in side.layer:
                self.layer(layer)
        self.linear(spec.decoder.projection, target_words, self.size.width)
        spec.register_source_vocabulary([*MARKERS, *names(source_words)])
        spec.register_target_vocabulary([*MARKERS, *names(target_words)])
        return spec

    def layer(self, layer: Any) -> None:
        width, hidden = self.size.width, self.size.hidden
        self.attention(layer.self_attention, (3 * width, width))
        if hasattr(layer, "attention"):
            self.attention(layer.attention, (width, 2 * width, width))
        self.norm(layer.ffn.layer_norm)
        self.linear(layer.ffn.linear_0, hidden, width)
        self.linear(layer.ffn.linear_1, width, hidden)

    def attention(self, attention: MultiHeadAttentionSpec, outputs: tuple[int, ...]) -> None:
        self.norm(attention.layer_norm)
        for linear, number in zip(attention.linear, outputs, strict=True):
            self.linear(linear, number, self.size.width)

    def norm(self, norm: LayerNormSpec) -> None:
        norm.gamma, norm.beta = np.ones(self.size.width, np.float32), np.zeros(self.size.width, np.float32)

    def linear(self, linear: LinearSpec, outputs: int, inputs: int) -> None:
        linear.weight, linear.bias = self.matrix(outputs, inputs), np.zeros(outputs, np.float32)

    def matrix(self, rows: int, columns: int) -> np.ndarray:
        return self.random.standard_normal((rows, columns), np.float32) / np.float32(columns**0.5)


def save_transformer(folder: Path, size: TransformerSize, source_words: int, target_words: int) -> int:
    """Write a Transformer with weights of 8 bits. Returns how many parameters it has."""
    spec = TransformerBuilder(size).spec(source_words, target_words)
    spec.validate()
    parameters = sum(int(np.prod(value.shape)) for _, value in spec.variables(ordered=True) if value.shape)
    spec.optimize(quantization="int8")
    folder.mkdir(parents=True, exist_ok=True)
    spec.save(str(folder))
    return parameters

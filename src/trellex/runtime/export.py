"""Export: from a checkpoint to a folder that translates without torch."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from trellex.heads import BinaryHead, Head, HybridHead, SoftmaxHead
from trellex.nmt import TranslationModel
from trellex.runtime.folder import HeadFacts, RuntimeManifest, new_folder, seal
from trellex.runtime.frequent import FrequentLayer
from trellex.runtime.graphs import (
    Linear,
    Weights,
    balanced,
    decoder_graph,
    encoder_graph,
    gates_of_words,
    logits_graph,
    softmax_graph,
)
from trellex.runtime.vectors import GATES, GateVectors, Vectors
from trellex.translator import Translator

PRECISIONS = ("fp32", "int8")


def export(translator: Translator, folder: Path, precision: str = "int8") -> None:
    """Write a model as ONNX graphs, tables and a manifest.

    Args:
        translator: with a model in torch
        folder: where to; an earlier export is replaced
        precision: "fp32", or "int8": weights of 8 bits, target words as what they add to the decoder's gates
    """
    model = translator.model
    assert isinstance(model, TranslationModel)
    if precision not in PRECISIONS:
        raise ValueError(f"precision: expected one of {', '.join(PRECISIONS)}, got {precision!r}")
    is_int8 = precision == "int8"
    weights: Weights = {name: value.detach().float().cpu().numpy() for name, value in model.state_dict().items()}
    for name, value in weights.items():
        if not np.isfinite(value).all():
            raise ValueError(f"the weight {name} is not finite: training diverged; take an earlier checkpoint")
    if is_int8:
        weights = balanced(weights)
    manifest = RuntimeManifest(
        precision=precision,
        text=translator.text,
        head=head_facts(model.head, translator.info["recipe"]["head"]),
        input_feeding=model.decoder.input_feeding,
        hidden_size=model.head.hidden_size,
    )
    with new_folder(folder) as new:
        translator.source_vocabulary.save(new / "vocab.source.txt")
        translator.target_vocabulary.save(new / "vocab.target.txt")
        Vectors.save(new / "source.vectors.npy", weights["encoder.embedding.weight"], is_int8)
        if is_int8:
            sizes = len(translator.target_vocabulary), GATES * manifest.hidden_size
            GateVectors.save(new / "target.vectors.npy", gates_of_words(weights), *sizes)
        else:
            Vectors.save(new / "target.vectors.npy", weights["decoder.embedding.weight"], is_half=False)
        _save(new / "encoder", is_int8, lambda arithmetic: encoder_graph(weights, arithmetic))
        feeds = manifest.input_feeding
        _save(new / "decoder", is_int8, lambda arithmetic: decoder_graph(weights, arithmetic, feeds))
        every, frequent = (_linear(weights, f"head.{name}") for name in ("linear", "softmax"))
        if every is not None:
            _save(new / "softmax", is_int8, lambda arithmetic: softmax_graph(every, arithmetic))
        if frequent is not None:
            _save(new / "softmax", is_int8, lambda arithmetic: logits_graph(frequent, arithmetic))
            FrequentLayer.save(new, *frequent, is_int8)
        for key, value in weights.items():
            if key.startswith("head.bits."):
                np.save(new / f"{key.removeprefix('head.')}.npy", value)
        seal(new, manifest)


def head_facts(head: Head, spec: Any) -> HeadFacts:
    if isinstance(head, SoftmaxHead):
        nothing: dict[str, Any] = {"mixtures": 0, "offset": 0, "first_rare": 0, "code": None, "generators": []}
        nothing["hidden_layer"] = 0
        return HeadFacts(
            spec=spec, vocab_size=head.vocab_size, softmax_size=head.vocab_size, decoding="exact", **nothing
        )
    assert isinstance(head, BinaryHead | HybridHead)
    bits = head.bits
    first_rare = head.other if isinstance(head, HybridHead) else 0
    return HeadFacts(
        spec=spec,
        vocab_size=head.vocab_size,
        softmax_size=first_rare + 1 if first_rare else 0,
        mixtures=bits.mixtures,
        offset=head.offset if isinstance(head, HybridHead) else 0,
        first_rare=first_rare,
        code=bits.spelling.code.to_dict(),
        generators=list(bits.spelling.ecc.generators),
        hidden_layer=0 if bits.hidden is None else bits.hidden.out_features,
        decoding=bits.decoding,
    )


def _linear(weights: Weights, name: str) -> Linear | None:
    """Weight and bias, if there is such a layer."""
    return (weights[f"{name}.weight"], weights[f"{name}.bias"]) if f"{name}.weight" in weights else None


def _save(path: Path, is_int8: bool, build: Callable[[str], onnx.ModelProto]) -> None:
    """Write a graph; one in 8 bits twice, with unsigned weights and with signed ones, for CPUs that prefer them.

    The weights stand in a file of their own because a protobuf can hold only 2 GiB.
    """
    for arithmetic, suffix in (("u8", ""), ("s8", ".signed")) if is_int8 else (("fp32", ""),):
        graph = path.with_name(f"{path.name}{suffix}.onnx")
        weights = graph.with_suffix(".weights").name
        onnx.save_model(build(arithmetic), graph, save_as_external_data=True, location=weights, size_threshold=1024)

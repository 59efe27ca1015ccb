"""Export: from a model in torch to a folder that translates without it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from trellex.heads import SoftmaxHead
from trellex.loaded import LoadedModel
from trellex.nmt.composed_embedding import ComposedEmbedding
from trellex.nmt.model import TranslationModel
from trellex.nmt.word_codes import code_file
from trellex.packed import pack
from trellex.runtime.folder import RuntimeManifest, new_export
from trellex.runtime.layers import layer_of
from trellex.runtime.model import NETWORKS
from trellex.runtime.onnx_graph import Weights
from trellex.text.pieces import pieces_file

PRECISIONS = ("fp32", "int8", "compact")


def export(loaded: LoadedModel[TranslationModel], folder: Path, precision: str = "int8") -> None:
    """Write a model as ONNX graphs, tables, its code and a manifest.

    Args:
        loaded: a model in torch
        folder: where to; an earlier export is replaced
        precision: "fp32"; "int8": weights of 8 bits; or "compact": the same in fewer bytes, but slower
    """
    model = loaded.model
    if precision not in PRECISIONS:
        raise ValueError(f"precision: expected one of {', '.join(PRECISIONS)}, got {precision!r}")
    weights = _weights(model)
    for name, value in weights.items():
        if not np.isfinite(value).all():
            raise ValueError(f"the weight {name} is not finite: training diverged; take an earlier checkpoint")
    manifest = RuntimeManifest(
        precision=precision,
        text=loaded.text,
        model=model.network.settings,
        head=model.head.spec,
        vocab_size=model.head.vocab_size,
    )
    with new_export(folder, manifest) as new:
        loaded.source_vocabulary.save(new / "vocab.source.txt")
        loaded.target_vocabulary.save(new / "vocab.target.txt")
        for side, pieces in loaded.pieces.items():
            pieces.save(new / pieces_file(side))
        if model.head.code is not None and not isinstance(model.head, SoftmaxHead):  # whose code was for training
            model.head.code.save(new / "code.json")
        if manifest.composes and model.network.word_codes is not None:
            for name, code in model.network.word_codes.by_file.items():
                code.save(new / name)
        elif model.source_code is not None:
            model.source_code.save(new / code_file("source"))
        NETWORKS[manifest.model.type].save(new, manifest, weights)
        layer_of(manifest).save(new, manifest, weights)
        if manifest.is_compact:
            for path in (*new.glob("code*.json"), *new.glob("vocab.*.txt")):
                pack(path)


def _weights(model: TranslationModel) -> Weights:
    """All weights of a model by name; composed word vectors as a table, too, and as the parts that add up to it."""
    weights = model.state_dict()
    with torch.no_grad():
        for name, module in model.named_modules():
            if isinstance(module, ComposedEmbedding):
                parts = module.parts() | {"weight": module.weight}
                weights |= {f"{name}.{part}": value for part, value in parts.items()}
    return {name: value.detach().float().cpu().numpy() for name, value in weights.items()}

"""Export: from a model in torch to a folder that translates without it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from trellex.heads import SoftmaxHead
from trellex.loaded import LoadedModel
from trellex.nmt.model import TranslationModel
from trellex.runtime.folder import RuntimeManifest, new_export
from trellex.runtime.layers import LAYERS
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
    weights: Weights = {name: value.detach().float().cpu().numpy() for name, value in model.state_dict().items()}
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
        NETWORKS[manifest.model.type].save(new, manifest, weights)
        LAYERS[type(manifest.head)].save(new, manifest, weights)

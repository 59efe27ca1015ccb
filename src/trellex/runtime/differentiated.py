"""A softmax over all words, each band of which reads its own part of the hidden units, in ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from trellex.heads.rival_spec import DifferentiatedSpec
from trellex.runtime.folder import RuntimeManifest
from trellex.runtime.softmax import SoftmaxLayer


class DifferentiatedLayer(SoftmaxLayer):
    """The same as a softmax but for the graph, which multiplies every band by its own block."""

    @staticmethod
    def save(folder: Path, manifest: RuntimeManifest, weights: Any) -> None:
        from trellex.runtime.onnx_graph import GraphBuilder, write_scores

        spec, width = manifest.head, manifest.model.hidden_size
        assert isinstance(spec, DifferentiatedSpec)
        units = np.array([units for _, units in spec.bands(manifest.vocab_size, width)])

        def scores(builder: GraphBuilder, h: str) -> str:
            blocks = builder.node("Split", h, builder.weight(units), outputs=len(units), axis=-1)
            names = (f"head.bands.{band}" for band in range(len(units)))
            parts = (
                builder.linear(block, weights[f"{name}.weight"], weights[f"{name}.bias"])
                for name, block in zip(names, blocks, strict=True)
            )
            return str(builder.node("Concat", *parts, axis=-1))

        write_scores(folder / "softmax", manifest, scores, width, manifest.vocab_size, finds_best=True)

"""Words that share the decoder's vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.runtime.folder import Export, RuntimeManifest
from trellex.runtime.rows import Rows


def tied_words(weights: Any, name: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Vectors [V, E], what they are multiplied by to be the rows of a linear layer [E, H], and its bias [V].

    weights: arrays of the whole model by name; name: that of the `TiedWords`
    """
    names = "network.decoder.embedding.weight", f"{name}.project.weight", f"{name}.bias"
    vectors, project, bias = (weights[each] for each in names)
    return vectors, project, bias


def save_tied(folder: Path, manifest: RuntimeManifest, weights: Any, name: str) -> None:
    """Write what words have beside their vectors, which are those that the decoder reads, √size times as long."""
    _, project, bias = tied_words(weights, name)
    size, no_bias = manifest.model.hidden_size, np.zeros(len(project), np.float32)
    shorter = (project / len(project) ** 0.5).astype(np.float32)
    Rows.save(folder, "project", [shorter], size, no_bias, is_rounded=True)
    np.save(folder / "words.bias.npy", bias)


def load_tied(export: Export) -> tuple[Rows, NDArray[Any]]:
    """The layer before the words and their bias, as `save_tied` wrote them. -> [E, H], [V]"""
    model = export.manifest.model
    project = Rows.load(export, "project", (model.embedding_size,), model.hidden_size)
    return project, export.array("words.bias", (export.manifest.vocab_size,))

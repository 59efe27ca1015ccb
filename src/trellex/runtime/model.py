"""The translation model of an exported folder, as search asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trellex.codes import Code
from trellex.heads.distribution import Distribution
from trellex.heads.softmax_spec import SoftmaxSpec
from trellex.loaded import LoadedModel
from trellex.runtime.folder import REMEDY, Export
from trellex.runtime.layers import layer_of
from trellex.runtime.lstm import RuntimeLSTM
from trellex.runtime.softmax_rows import SoftmaxRows
from trellex.text.vocabulary import Vocabulary

NETWORKS = {"lstm": RuntimeLSTM}  # by the type of their settings

Ints = NDArray[np.int64]
Floats = NDArray[Any]


class RuntimeNetwork(Protocol):
    """A network without its output layer. A state has what that reads, `hidden` [N, H], and `select(rows)`."""

    @property
    def has_attention(self) -> bool: ...

    @property
    def source_code(self) -> Code | None: ...

    def start(self, sources: Sequence[NDArray[Any]], attention: bool = False) -> Any: ...

    def encode(self, sources: Sequence[NDArray[Any]], attention: bool = False) -> Any: ...

    def step(self, state: Any, words: Ints) -> Any: ...


class RuntimeModel:
    """A network and an output layer."""

    def __init__(self, network: RuntimeNetwork, layer: Distribution) -> None:
        self.network, self.layer, self.has_attention = network, layer, network.has_attention
        self.source_code = network.source_code  # if an unknown source word may be V + the number of its code
        self.start, self.encode, self.step = network.start, network.encode, network.step

    def inference(self) -> AbstractContextManager[None]:
        return nullcontext()

    def best(self, state: Any) -> Ints:
        """The best next word of every row. -> [N]"""
        return self.layer.best(state.hidden)

    def topk(self, state: Any, k: int) -> tuple[Ints, Floats]:
        """The k best next words of every row. -> words, log_probs [N, k]"""
        return self.layer.topk(state.hidden, k)

    def log_prob(self, state: Any, words: Ints) -> Floats:
        """log P of a next word for every row. words [N] -> [N]"""
        return self.layer.log_prob(state.hidden, words)

    def sample(self, state: Any, temperature: float, random: np.random.Generator) -> Ints:
        """A next word drawn for every row. -> [N]"""
        return self.layer.sample(state.hidden, temperature, random)


def load_export(
    folder: Path, threads: int = 1, verify: bool = True, by_rows: bool = False
) -> LoadedModel[RuntimeModel]:
    """The model of a folder that `trellex export` made. Raises ValueError that names what is wrong with it.

    Args:
        folder: that folder
        threads: of ONNX Runtime
        verify: compare every file with its checksum before it is used, unless it was and has not changed since
        by_rows: of a softmax, read weights row by row, as shortlists need them
    """
    export = Export.open(folder)
    if verify:
        export.verify(again=False)
    manifest = export.manifest
    try:
        source, target = (Vocabulary.load(export.file(f"vocab.{side}.txt")) for side in ("source", "target"))
    except (OSError, ValueError) as error:
        raise ValueError(f"{folder}: a vocabulary cannot be read ({error}); {REMEDY}") from error
    if len(target) != manifest.vocab_size:
        raise ValueError(f"{folder}: {len(target):,} words instead of {manifest.vocab_size:,}; {REMEDY}")
    sums = {name: checksum for name, (_, checksum) in manifest.files.items()}
    pieces = manifest.text.load_pieces(folder, sums, REMEDY)
    is_by_rows = by_rows and isinstance(manifest.head, SoftmaxSpec)
    layer = (SoftmaxRows if is_by_rows else layer_of(manifest)).load(export, threads)
    network = NETWORKS[manifest.model.type](export, len(source), threads, layer)
    return LoadedModel(RuntimeModel(network, layer), manifest.text, source, target, manifest.head, pieces=pieces)

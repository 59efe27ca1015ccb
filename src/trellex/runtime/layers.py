"""The output layers of exported models, by the family of their heads."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from trellex.heads.distribution import Distribution
from trellex.heads.rival_spec import AdaptiveSpec, DifferentiatedSpec, HierarchicalSpec
from trellex.heads.spec import (
    BinarySpec,
    HeadSpec,
    HybridSpec,
    ShelvesSpec,
    SoftmaxSpec,
)
from trellex.runtime.adaptive import AdaptiveLayer
from trellex.runtime.code import CodeLayer
from trellex.runtime.differentiated import DifferentiatedLayer
from trellex.runtime.folder import Export, RuntimeManifest
from trellex.runtime.hierarchical import HierarchicalLayer
from trellex.runtime.hybrid import HybridLayer
from trellex.runtime.shelves import ShelvesLayer
from trellex.runtime.softmax import SoftmaxLayer


class Layer(Protocol):
    """How a family of heads is exported and loaded."""

    @classmethod
    def load(cls, export: Export, threads: int) -> Distribution:
        """The layer of an exported model."""

    @staticmethod
    def save(folder: Path, manifest: RuntimeManifest, weights: Any) -> None:
        """Write the files that `load` reads. weights: arrays of the whole model by name, such as head.linear.bias"""


LAYERS: dict[type[HeadSpec], type[Layer]] = {
    SoftmaxSpec: SoftmaxLayer,
    BinarySpec: CodeLayer,
    HybridSpec: HybridLayer,
    ShelvesSpec: ShelvesLayer,
    HierarchicalSpec: HierarchicalLayer,
    AdaptiveSpec: AdaptiveLayer,
    DifferentiatedSpec: DifferentiatedLayer,
}

"""The output layers of exported models, by the family of their heads."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

from trellex.heads.code_spec import BinarySpec, HybridSpec
from trellex.heads.distribution import Distribution
from trellex.heads.free_spec import FreeSpec
from trellex.heads.rival_spec import AdaptiveSpec, DifferentiatedSpec, HierarchicalSpec
from trellex.heads.shelves_spec import ShelvesSpec
from trellex.heads.softmax_spec import SoftmaxSpec
from trellex.heads.spec import HeadSpec
from trellex.runtime.adaptive import AdaptiveLayer
from trellex.runtime.code import CodeLayer
from trellex.runtime.composed_shelves import ComposedShelves
from trellex.runtime.composed_softmax import ComposedSoftmax
from trellex.runtime.differentiated import DifferentiatedLayer
from trellex.runtime.folder import Export, RuntimeManifest
from trellex.runtime.free import FreeLayer
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


def layer_of(manifest: RuntimeManifest) -> type[Layer]:
    """The layer of an exported model, which may be another where word vectors are composed as they are read."""
    kind = type(manifest.head)
    is_composed = manifest.composes and manifest.head.uses_embedding and kind in COMPOSED
    return COMPOSED[kind] if is_composed else LAYERS[kind]


COMPOSED: dict[type[HeadSpec], type[Layer]] = {SoftmaxSpec: ComposedSoftmax, ShelvesSpec: ComposedShelves}
LAYERS: dict[type[HeadSpec], type[Layer]] = {
    SoftmaxSpec: SoftmaxLayer,
    BinarySpec: CodeLayer,
    HybridSpec: HybridLayer,
    ShelvesSpec: ShelvesLayer,
    FreeSpec: FreeLayer,
    HierarchicalSpec: HierarchicalLayer,
    AdaptiveSpec: AdaptiveLayer,
    DifferentiatedSpec: DifferentiatedLayer,
}

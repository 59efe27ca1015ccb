"""From a name or a mapping to an output layer."""

from __future__ import annotations

from typing import Any

from torch import nn

from trellex.arrays import as_count
from trellex.heads.adaptive import AdaptiveHead
from trellex.heads.binary import BinaryHead
from trellex.heads.code_spec import BinarySpec, HybridSpec
from trellex.heads.coded_spec import CodedSpec
from trellex.heads.differentiated import DifferentiatedHead
from trellex.heads.free import FreeHead
from trellex.heads.free_spec import FreeSpec
from trellex.heads.head import Head
from trellex.heads.hierarchical import HierarchicalHead
from trellex.heads.hybrid import HybridHead
from trellex.heads.rival_spec import AdaptiveSpec, DifferentiatedSpec, HierarchicalSpec
from trellex.heads.shelves import ShelvesHead
from trellex.heads.shelves_spec import ShelvesSpec
from trellex.heads.softmax import SoftmaxHead
from trellex.heads.softmax_spec import SoftmaxSpec
from trellex.heads.spec import HeadSpec, size_of
from trellex.memory import weights_named

HEADS: dict[type[HeadSpec], type[Head]] = {
    SoftmaxSpec: SoftmaxHead,
    BinarySpec: BinaryHead,
    HybridSpec: HybridHead,
    ShelvesSpec: ShelvesHead,
    FreeSpec: FreeHead,
    HierarchicalSpec: HierarchicalHead,
    AdaptiveSpec: AdaptiveHead,
    DifferentiatedSpec: DifferentiatedHead,
}


def build_head(spec: Any, *, hidden_size: int, vocab: Any, embedding: nn.Embedding | None = None) -> Head:
    """The output layer that `spec` describes.

    Args:
        spec: "softmax", "binary", "binary-ec", "hybrid-N", "hybrid-N-ec", "shelves", "free", or a rival such as
            "hierarchical";
            or a mapping with that as its "type" and options, such as {"loss": "trellis"}: the fields of the class of
            its family, such as `trellex.heads.code_spec.HybridSpec`
        hidden_size: H
        vocab: the vocabulary's size, or a vocabulary with counts
        embedding: the vectors of these words, for heads that are built on them, which neither copy nor save them, and
            for codes by clusters
    """
    spec = HeadSpec.parse(spec)
    vocab = vocab if hasattr(vocab, "__len__") else as_count(vocab, "vocab")
    if spec.uses_embedding:
        _check_embedding(embedding, spec, size_of(vocab))
    hidden_size = as_count(hidden_size, "hidden_size")
    described = spec
    if isinstance(spec, CodedSpec) and spec.code == "clusters":
        described = spec.with_options(code=spec.build_code(vocab, None if embedding is None else embedding.weight))
    with weights_named(f"hidden_size {hidden_size}, head {spec.label}"):
        head = HEADS[type(spec)](described, hidden_size, vocab, embedding)
    head.spec = spec
    return head


def _check_embedding(embedding: Any, spec: HeadSpec, vocab_size: int) -> None:
    """Raises ValueError unless there is a vector for every word."""
    if not isinstance(embedding, nn.Embedding):
        raise ValueError(
            f"embedding: {spec.label} is built on word vectors; pass those of the decoder, an nn.Embedding"
        )
    if embedding.num_embeddings != vocab_size:
        raise ValueError(
            f"embedding: expected one of {vocab_size} words, got one of {embedding.num_embeddings}; "
            "make it as large as the vocabulary"
        )

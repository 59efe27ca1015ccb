"""From a name or a mapping to an output layer."""

from __future__ import annotations

from typing import Any

from torch import nn

from trellex.arrays import as_count
from trellex.heads.binary import BinaryHead
from trellex.heads.head import Head
from trellex.heads.hybrid import HybridHead
from trellex.heads.softmax import SoftmaxHead
from trellex.heads.spec import BinarySpec, HeadSpec, HybridSpec, SoftmaxSpec

HEADS: dict[type[HeadSpec], type[Head]] = {SoftmaxSpec: SoftmaxHead, BinarySpec: BinaryHead, HybridSpec: HybridHead}


def build_head(spec: Any, *, hidden_size: int, vocab: Any, embedding: nn.Embedding | None = None) -> Head:
    """The output layer that `spec` describes.

    Args:
        spec: "softmax", "binary", "binary-ec", "hybrid-N" or "hybrid-N-ec"; or a mapping with that as its "type" and
            any of these options:
            "loss": squared (as in the paper), cross_entropy, or trellis: −log P, normalised over exactly the words
            "mixtures": K sets of bits instead of one; their loss is trellis
            "hidden_layer": the size of a hidden layer before the bits; none unless given
            "code": frequency, random (with a "seed") or huffman; {"file": …} that `Code.save` wrote; or a `Code`
            "generators" of the error-correcting code
            "decoding": exact, always the most probable word; or paper, in which bits may spell no word, hence UNK
            "numbering", for hybrids: paper, the code spans the whole vocabulary, or rare, the rare words alone;
            paper by default for the frequency code and the paper's losses, rare otherwise
            "softmax_weight" and "bits_weight", for hybrids: λ_H and λ_B
            "label_smoothing", "ignore_index" and "reduction" of the loss
        hidden_size: H
        vocab: the vocabulary's size, or a vocabulary with counts
        embedding: word vectors, for heads that are built on them
    """
    spec = HeadSpec.parse(spec)
    if spec.uses_embedding and embedding is None:
        raise ValueError(f"embedding: {spec.type} is built on word vectors; pass those of the decoder")
    vocab = vocab if hasattr(vocab, "__len__") else as_count(vocab, "vocab")
    head = HEADS[type(spec)].from_spec(spec, as_count(hidden_size, "hidden_size"), vocab, embedding)
    head.spec = spec
    return head

"""From a name or a mapping to an output layer."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping
from typing import Any

from trellex.arrays import as_count
from trellex.codes import Code, FrequencyCode, HuffmanCode, RandomCode
from trellex.heads.binary import BinaryHead
from trellex.heads.bits import BitLayer
from trellex.heads.head import Head
from trellex.heads.hybrid import HybridHead
from trellex.heads.softmax import SoftmaxHead
from trellex.trellis import ConvolutionalCode, IdentityCode, between

CODES = ("frequency", "random", "huffman")
COMMON = ("ignore_index", "reduction", "label_smoothing")
BITS = ("code", "seed", "loss", "decoding", "generators", "mixtures", "hidden_layer")
OPTIONS = {
    "softmax": COMMON,
    "binary": (*COMMON, *BITS),
    "hybrid": (*COMMON, *BITS, "numbering", "softmax_weight", "bits_weight"),
}


def build_head(spec: str | Mapping[str, Any], *, hidden_size: int, vocab: Any) -> Head:
    """The output layer that `spec` describes.

    Args:
        spec: "softmax", "binary", "binary-ec", "hybrid-N" or "hybrid-N-ec"; or a mapping with that as its "type" and
            any of these options:
            "loss": squared (as in the paper), cross_entropy, or trellis: −log P, normalised over exactly the words
            "mixtures": K sets of bits instead of one; their loss is trellis
            "hidden_layer": the size of a hidden layer before the bits; none unless given
            "code": frequency, random (with a "seed") or huffman
            "generators" of the error-correcting code
            "decoding": exact, always the most probable word; or paper, in which bits may spell no word, hence UNK
            "numbering", for hybrids: paper, the code spans the whole vocabulary, or rare, the rare words alone;
            paper by default for the frequency code and the paper's losses, rare otherwise
            "softmax_weight" and "bits_weight", for hybrids: λ_H and λ_B
            "label_smoothing", "ignore_index" and "reduction" of the loss
        hidden_size: H
        vocab: the vocabulary's size, or a vocabulary with counts
    """
    if not isinstance(spec, str | Mapping):
        raise ValueError(f"spec: expected a name or a mapping, got {spec!r}")
    options: dict[str, Any] = {"type": spec} if isinstance(spec, str) else dict(spec)
    hidden_size = as_count(hidden_size, "hidden_size")
    vocab = vocab if hasattr(vocab, "__len__") else as_count(vocab, "vocab")
    name = options.pop("type", None)
    match = re.fullmatch(r"(softmax)|(binary)(-ec)?|(hybrid)-([0-9]+)(-ec)?", name) if isinstance(name, str) else None
    if match is None:
        raise ValueError(f"type: expected softmax, binary, binary-ec, hybrid-N or hybrid-N-ec, got {name!r}")
    family = match[1] or match[2] or match[4]
    for key in options:
        if key not in OPTIONS[family]:
            nearest = difflib.get_close_matches(str(key), OPTIONS[family], 1)
            hint = f"did you mean {nearest[0]!r}?" if nearest else f"there are {', '.join(OPTIONS[family])}"
            raise ValueError(f"{key}: not an option of {name}; {hint}")
    for key in ("softmax_weight", "bits_weight"):
        if not isinstance(options.get(key, 0), (int, float)) or not 0 <= options.get(key, 0) < math.inf:
            raise ValueError(f"{key}: expected a number of at least 0, got {options[key]!r}")
    if not isinstance(options.get("seed", 0), int) or options.get("seed", 0) < 0:
        raise ValueError(f"seed: expected a whole number of at least 0, got {options['seed']!r}")
    vocab_size = vocab if isinstance(vocab, int) else len(vocab)
    if family == "softmax":
        return SoftmaxHead(hidden_size, vocab_size, **options)

    generators = options.pop("generators", None)
    if not (match[3] or match[6]):
        if generators is not None:
            raise ValueError(f"generators: {name} has no error-correcting code; add -ec to its type")
        ecc: ConvolutionalCode = IdentityCode()
    else:
        ecc = ConvolutionalCode() if generators is None else ConvolutionalCode(generators)
    code_name, seed = options.pop("code", "frequency"), options.pop("seed", 0)
    layer = {key: options.pop(key) for key in ("loss", "decoding", "mixtures", "hidden_layer") if key in options}
    if family == "binary":
        return BinaryHead(BitLayer(hidden_size, _code(code_name, vocab, 0, seed), ecc, **layer), **options)

    softmax_size = int(match[5])
    if not 2 <= softmax_size < vocab_size:
        raise ValueError(
            f"type: N = {softmax_size} does not fit a vocabulary of {vocab_size} words: "
            "it must be at least 2 and leave at least 2 rare words; choose a smaller N or plain softmax"
        )
    first_rare = softmax_size - 1
    as_paper = code_name == "frequency" and layer.get("loss") != "trellis" and layer.get("mixtures", 1) == 1
    numbering = options.pop("numbering", "paper" if as_paper else "rare")
    if numbering not in ("paper", "rare") or (numbering == "paper" and code_name != "frequency"):
        raise ValueError(f"numbering: expected rare, or paper with the frequency code, got {numbering!r}")
    code = _code(code_name, vocab, 0 if numbering == "paper" else first_rare, seed)
    rare = between(first_rare, vocab_size, code.num_bits) if numbering == "paper" else None
    bits = BitLayer(hidden_size, code, ecc, automaton=rare, **layer)
    return HybridHead(vocab_size, softmax_size, bits, **options)


def _code(name: str, vocab: Any, first: int, seed: int) -> Code:
    """The code of the words from `first` on, numbered from 0."""
    vocab_size = vocab if isinstance(vocab, int) else len(vocab)
    if name == "frequency":
        return FrequencyCode(vocab_size - first)
    if name == "random":
        return RandomCode(vocab_size - first, seed)
    if name != "huffman":
        raise ValueError(f"code: expected one of {', '.join(CODES)}, got {name!r}")
    if isinstance(vocab, int):
        raise ValueError("code: a Huffman code needs a vocabulary with counts, not only its size")
    return HuffmanCode(vocab.counts[first:])

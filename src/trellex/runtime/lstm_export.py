"""The LSTM network as files: the encoder and one step of the decoder as ONNX graphs, and word vectors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from trellex.heads.shelves_spec import ShelvesSpec
from trellex.runtime.composed import Parts
from trellex.runtime.folder import RuntimeManifest
from trellex.runtime.onnx_graph import MICROSOFT, GraphBuilder, Weights, write_graph
from trellex.runtime.open_vectors import OpenVectors
from trellex.runtime.rows import ZERO, quantized
from trellex.runtime.vectors import GATES, RoundedVectors, Vectors

BLOCK = 8192  # words whose gates are computed at a time, for those of a large vocabulary would fill the memory


def save_lstm(folder: Path, manifest: RuntimeManifest, weights: Weights) -> None:
    """Write the files that `runtime.lstm` reads; in int8, target words as what they add to the decoder's gates."""
    model, is_int8, is_compact = manifest.model, manifest.is_int8, manifest.is_compact
    weights = {name.removeprefix("network."): value for name, value in weights.items()}
    if manifest.head.uses_embedding:  # see SharedEmbedding
        weights["decoder.embedding.weight"] = weights["decoder.embedding.weight"] * model.embedding_size**0.5
    unbalanced, weights = weights, _balanced(weights) if is_int8 else weights
    of_source, of_target = (weights[f"{side}.embedding.weight"] for side in ("encoder", "decoder"))
    source, target = (folder / f"{side}.vectors.npy" for side in ("source", "target"))
    if manifest.composes:
        _save_parts(folder, manifest, unbalanced)
    elif is_compact:
        RoundedVectors.save(source, [of_source], *of_source.shape)
        if not isinstance(manifest.head, ShelvesSpec):  # which have a table that serves both, see ShelvesLayer.vectors
            RoundedVectors.save(target, [of_target], *of_target.shape)
    elif is_int8:
        Vectors.save(source, of_source, is_half=True)
        sizes = manifest.vocab_size, GATES * model.hidden_size
        RoundedVectors.save(target, _gates_of_words(weights), *sizes, parts=GATES)
    else:
        Vectors.save(source, of_source, is_half=False)
        Vectors.save(target, of_target, is_half=False)
    if model.embeddings.reads_unknown and not manifest.composes:
        parts = Parts.of(unbalanced, "encoder.embedding").scaled(1 / _largest(unbalanced) if is_int8 else 1)
        OpenVectors.save(folder, parts.table, is_half=is_int8)
    write_graph(folder / "encoder", manifest, lambda arithmetic: _encoder_graph(weights, arithmetic, not is_compact))
    reads_gates, feeds = is_int8 and not is_compact, model.input_feeding
    write_graph(
        folder / "decoder", manifest, lambda arithmetic: _decoder_graph(weights, arithmetic, reads_gates, feeds)
    )


def _balanced(weights: Weights) -> Weights:
    """The same model with source vectors within ±1 that reach it in each place, for one scale rounds them all."""
    vectors, largest = weights["encoder.embedding.weight"], _largest(weights)
    names = [f"encoder.lstm.weight_ih_l0{suffix}" for suffix in ("", "_reverse")]
    return {
        **weights,
        "encoder.embedding.weight": vectors / largest,
        **{name: weights[name] * largest for name in names},
    }


def _largest(weights: Weights) -> NDArray[np.float32]:
    """Of all source vectors in each place, up or down. -> [E]"""
    return np.maximum(np.abs(weights["encoder.embedding.weight"]).max(0), np.finfo(np.float32).tiny)


def _save_parts(folder: Path, manifest: RuntimeManifest, weights: Weights) -> None:
    """Write what vectors are composed from, those of the source as `_balanced` has them."""
    length = manifest.model.embedding_size**0.5 if manifest.head.uses_embedding else 1
    Parts.of(weights, "decoder.embedding").scaled(length).save(folder, "target")
    Parts.of(weights, "encoder.embedding").scaled(1 / _largest(weights)).save(folder, "source")


def _encoder_graph(weights: Weights, arithmetic: str, starts_exactly: bool) -> onnx.ModelProto:
    """Embedded source words [N, S, E] and lengths [N] -> what the decoder looks at, and its first state.

    Outputs: keys [N, S, H]; values [N, S, H], the states after the context's half of the decoder's last layer, so that
    a step need not multiply by it; recurrent [N, 1, 4H], what the decoder's first h adds to its gates; c [N, 1, H].

    starts_exactly: whether the layers that lead to the first h and c are not rounded
    """
    builder, exact = GraphBuilder(arithmetic), starts_exactly
    size = weights["encoder.lstm.weight_hh_l0"].shape[1]
    embedded = builder.input("embedded", ["N", "S", weights["encoder.lstm.weight_ih_l0"].shape[1]])
    lengths = builder.input("lengths", ["N"], TensorProto.INT32)
    by_step = builder.node("Transpose", embedded, perm=[1, 0, 2])  # [S, N, E]
    states, h, c = _bidirectional_lstm(builder, by_step, lengths, weights, size)
    states = builder.node("Transpose", states, perm=[2, 0, 1, 3])  # [S, 2, N, H] -> [N, S, 2, H]
    states = builder.node("Reshape", states, builder.weight(np.array([0, 0, 2 * size])))
    to_rows = builder.weight(np.array([0, 1, 2 * size]))  # [2, N, H] -> [N, 1, 2H]
    h, c = (builder.node("Reshape", builder.node("Transpose", last, perm=[1, 0, 2]), to_rows) for last in (h, c))
    combine = weights["decoder.combine.weight"]
    keys_and_values = np.concatenate([weights["decoder.attention.key.weight"], combine[:, : 2 * size]])
    both = builder.linear(states, keys_and_values)
    halves = builder.weight(np.array([len(weights["decoder.attention.key.weight"]), len(combine)]))
    keys, values = builder.node("Split", both, halves, outputs=2, axis=-1)
    builder.output(keys, "keys", ["N", "S", "H"])
    builder.output(values, "values", ["N", "S", "H"])
    first_h = builder.linear(h, weights["decoder.start_h.weight"], weights["decoder.start_h.bias"], exact)
    recurrent = builder.linear(builder.node("Tanh", first_h), _decoder_gates(weights).of_h)
    builder.output(recurrent, "recurrent", ["N", 1, "4H"])
    first_c = builder.linear(c, weights["decoder.start_c.weight"], weights["decoder.start_c.bias"], exact)
    builder.output(first_c, "c", ["N", 1, "H"])
    return builder.model()


class Gates(NamedTuple):
    """The weights of the decoder's LSTM, with its gates in the order input, forget, output, cell."""

    of_words: NDArray[np.float32]  # [4H, E]
    of_fed: NDArray[np.float32]  # with input feeding [4H, H], else [4H, 0]
    of_h: NDArray[np.float32]  # [4H, H]
    bias: NDArray[np.float32]  # [4H]


def _decoder_gates(weights: Weights) -> Gates:
    of_inputs, of_h = (weights[f"decoder.lstm.weight_{kind}_l0"] for kind in ("ih", "hh"))
    size, width = of_h.shape[1], weights["decoder.embedding.weight"].shape[1]
    order = np.r_[0:size, size : 2 * size, 3 * size : 4 * size, 2 * size : 3 * size]  # torch has cell before output
    bias = weights["decoder.lstm.bias_ih_l0"] + weights["decoder.lstm.bias_hh_l0"]
    return Gates(of_inputs[order, :width], of_inputs[order, width:], of_h[order], bias[order])


def _gates_of_words(weights: Weights) -> Iterator[NDArray[np.float32]]:
    """What each target word adds to the gates of the decoder's LSTM, with its bias: some words [.., 4H] at a time."""
    gates, vectors = _decoder_gates(weights), weights["decoder.embedding.weight"]
    for start in range(0, len(vectors), BLOCK):
        yield vectors[start : start + BLOCK] @ gates.of_words.T + gates.bias


def _decoder_graph(weights: Weights, arithmetic: str, reads_gates: bool, input_feeding: bool) -> onnx.ModelProto:
    """One step of the decoder.

    Inputs: words, as vectors [N, 1, E] or as what they add to the gates [N, 1, 4H]; with input feeding, the
    last output "fed" [N, 1, H]; recurrent [N, 1, 4H], what the last h adds to the gates; c [N, 1, H]; keys, values
    [N, S, H]; mask [N, S, 1], 0, or −inf on padding. Outputs: next_recurrent [N, 1, 4H], next_c and output [N, 1, H];
    attention [N, S, 1], the shares of source words in the output.

    The new h is multiplied once, by all that it meets in this step and the next.
    """
    builder = GraphBuilder(arithmetic)
    of_words, of_fed, of_h, bias = _decoder_gates(weights)
    size = of_h.shape[1]
    words = builder.input("words", ["N", 1, 4 * size if reads_gates else of_words.shape[1]])
    recurrent, c = builder.input("recurrent", ["N", 1, 4 * size]), builder.input("c", ["N", 1, size])
    keys, values = builder.input("keys", ["N", "S", "H"]), builder.input("values", ["N", "S", "H"])
    mask = builder.input("mask", ["N", "S", 1])

    of_word = words if reads_gates else builder.linear(words, of_words, bias)
    gates = builder.node("Add", of_word, recurrent)
    if input_feeding:
        gates = builder.node("Add", gates, builder.linear(builder.input("fed", ["N", 1, size]), of_fed))
    sizes = builder.weight(np.array([3 * size, size]))
    three, cell = builder.node("Split", gates, sizes, outputs=2, axis=-1)
    thirds = builder.weight(np.array([size] * 3))
    input_gate, forget, output_gate = builder.node("Split", builder.node("Sigmoid", three), thirds, outputs=3, axis=-1)
    kept, added = builder.node("Mul", forget, c), builder.node("Mul", input_gate, builder.node("Tanh", cell))
    next_c = builder.node("Add", kept, added)
    next_h = builder.node("Mul", output_gate, builder.node("Tanh", next_c))

    combine = weights["decoder.combine.weight"]
    parts = [of_h, weights["decoder.attention.query.weight"], combine[:, -size:]]
    biases = [
        np.zeros_like(bias),
        weights["decoder.attention.query.bias"],
        weights["decoder.combine.bias"],
    ]
    product = builder.linear(next_h, np.concatenate(parts), np.concatenate(biases))
    sizes = builder.weight(np.array([len(part) for part in parts]))
    next_recurrent, query, own = builder.node("Split", product, sizes, outputs=3, axis=-1)
    compared = builder.node("Tanh", builder.node("Add", keys, query))  # [N, S, H]
    energies = builder.node("MatMul", compared, builder.weight(weights["decoder.attention.energy.weight"].T))
    shares = builder.node("Softmax", builder.node("Add", energies, mask), axis=1)  # [N, S, 1]
    context = builder.node("FusedMatMul", shares, values, domain=MICROSOFT, transA=1)  # [N, 1, H]
    output = builder.node("Tanh", builder.node("Add", own, context))
    builder.output(next_recurrent, "next_recurrent", ["N", 1, 4 * size])
    builder.output(next_c, "next_c", ["N", 1, size])
    builder.output(output, "output", ["N", 1, size])
    builder.output(shares, "attention", ["N", "S", 1])
    return builder.model()


def _bidirectional_lstm(builder: GraphBuilder, inputs: str, lengths: str, weights: Weights, size: int) -> Any:
    """inputs [S, N, E] -> all states [S, 2, N, H], the last h and c [2, N, H]"""
    order = np.r_[0:size, 3 * size : 4 * size, size : 2 * size, 2 * size : 3 * size]  # in ONNX output comes second
    both = {
        kind: np.stack([weights[f"encoder.lstm.{kind}_l0{suffix}"][order] for suffix in ("", "_reverse")])
        for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    }
    bias = builder.weight(np.concatenate([both["bias_ih"], both["bias_hh"]], 1))
    settings: dict[str, Any] = {"outputs": 3, "hidden_size": size, "direction": "bidirectional"}
    if builder.arithmetic == "fp32":
        parts = builder.weight(both["weight_ih"]), builder.weight(both["weight_hh"]), bias
        return builder.node("LSTM", inputs, *parts, lengths, **settings)
    rounded, scales = [], []
    for kind in ("weight_ih", "weight_hh"):
        pairs = [quantized(weight) for weight in both[kind]]
        rounded.append(builder.bytes(np.stack([weight.T for weight, _ in pairs])))
        scales.append(builder.weight(np.stack([scale for _, scale in pairs])))
        scales.append(builder.bytes(np.full((2, 4 * size), ZERO, np.uint8)))
    quantized_parts = *rounded, bias, lengths, "", "", "", *scales
    return builder.node("DynamicQuantizeLSTM", inputs, *quantized_parts, domain=MICROSOFT, **settings)

"""The encoder and one step of the decoder as ONNX graphs, built from a model's weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Weights = Mapping[str, NDArray[np.float32]]
Linear = tuple[NDArray[np.float32], NDArray[np.float32]]  # weight [O, I] and bias [O]

OPSET = 17
IR_VERSION = 8  # what onnxruntime has read since 1.14
MICROSOFT = "com.microsoft"
BLOCK = 8192  # words whose gates are computed at a time, for those of a large vocabulary would fill the memory
ZERO = 128  # the unsigned byte that stands for 0
# Up to so many weights a hybrid's softmax is not rounded: then it is cheap, and rounding costs most.
SMALL = 1 << 18
MAX_BYTES = 1 << 31  # of one weight: protobuf counts no further


class GraphBuilder:
    """Nodes and weights of a graph in the making; every method adds what it is named for and returns its output.

    Args:
        arithmetic: "fp32"; or "u8" or "s8" for weights of 8 bits, unsigned or signed, with the inputs rounded to 8 bits
            on the way
    """

    def __init__(self, arithmetic: str) -> None:
        self.arithmetic = arithmetic
        self._nodes: list[onnx.NodeProto] = []
        self._weights: list[onnx.TensorProto] = []
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []

    def input(self, name: str, shape: list[str | int], kind: int = TensorProto.FLOAT) -> str:
        self._inputs.append(helper.make_tensor_value_info(name, kind, shape))
        return name

    def output(self, value: str, name: str, shape: list[str | int], kind: int = TensorProto.FLOAT) -> None:
        """Give a value a name by which it leaves the graph."""
        for node in self._nodes:
            for names in (node.input, node.output):
                names[:] = [name if each == value else each for each in names]
        self._outputs.append(helper.make_tensor_value_info(name, kind, shape))

    def weight(self, values: Any) -> str:
        if values.nbytes >= MAX_BYTES:
            raise ValueError(
                f"precision: {values.nbytes:,} bytes of weights are more than an ONNX graph holds; "
                "export int8, or train a head other than softmax"
            )
        name = f"weight_{len(self._weights)}"
        self._weights.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def node(self, operator: str, *inputs: str, domain: str = "", outputs: int = 1, **attributes: Any) -> Any:
        """A node of one output, or of several, whose names are returned."""
        names = [f"{operator}_{len(self._nodes)}_{place}" for place in range(outputs)]
        self._nodes.append(helper.make_node(operator, list(inputs), names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def bytes(self, values: NDArray[np.uint8]) -> str:
        """Weights that are bytes around 128, as they are, or as signed bytes around 0."""
        return self.weight(values if self.arithmetic == "u8" else (values ^ ZERO).view(np.int8))

    def linear(
        self, value: str, weight: NDArray[np.float32], bias: NDArray[np.float32] | None = None, exact: bool = False
    ) -> str:
        """value [.., I] times weight [O, I], as torch keeps it, plus bias [O] -> [.., O]; if exact, not in 8 bits"""
        if self.arithmetic == "fp32" or exact:
            product = self.node("MatMul", value, self.weight(weight.T))
            return product if bias is None else self.node("Add", product, self.weight(bias))
        rounded, scale = quantized(weight)
        zeros = self.bytes(np.full(len(scale), ZERO, np.uint8))
        inputs = [
            value,
            self.bytes(rounded.T),
            self.weight(scale),
            zeros,
            *([] if bias is None else [self.weight(bias)]),
        ]
        return self.node("DynamicQuantizeMatMul", *inputs, domain=MICROSOFT)

    def model(self) -> onnx.ModelProto:
        graph = helper.make_graph(self._nodes, "trellex", self._inputs, self._outputs, self._weights)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="trellex")


def quantized(weight: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Rows as bytes around 128 with a scale each. Unsigned, so that no product saturates on CPUs without VNNI.

    weight [O, I] -> [O, I], [O]
    """
    scale = np.maximum(np.abs(weight).max(1), np.finfo(np.float32).tiny) / 127
    return (np.rint(weight / scale[:, None]) + ZERO).astype(np.uint8), scale.astype(np.float32)


def balanced(weights: Weights) -> Weights:
    """The same model with source vectors within ±1 that reach it in each place, for one scale rounds them all."""
    vectors = weights["encoder.embedding.weight"]
    largest = np.maximum(np.abs(vectors).max(0), np.finfo(np.float32).tiny)
    names = [f"encoder.lstm.weight_ih_l0{suffix}" for suffix in ("", "_reverse")]
    return {
        **weights,
        "encoder.embedding.weight": vectors / largest,
        **{name: weights[name] * largest for name in names},
    }


def encoder_graph(weights: Weights, arithmetic: str) -> onnx.ModelProto:
    """Embedded source words [N, S, E] and lengths [N] -> what the decoder looks at, and its first state.

    Outputs: keys [N, S, H]; values [N, S, H], the states after the context's half of the decoder's last layer, so that
    a step need not multiply by it; recurrent [N, 1, 4H], what the decoder's first h adds to its gates; c [N, 1, H].
    """
    builder = GraphBuilder(arithmetic)
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
    first_h = builder.linear(h, weights["decoder.start_h.weight"], weights["decoder.start_h.bias"], exact=True)
    recurrent = builder.linear(builder.node("Tanh", first_h), decoder_gates(weights).of_h)
    builder.output(recurrent, "recurrent", ["N", 1, "4H"])
    first_c = builder.linear(c, weights["decoder.start_c.weight"], weights["decoder.start_c.bias"], exact=True)
    builder.output(first_c, "c", ["N", 1, "H"])
    return builder.model()


class Gates(NamedTuple):
    """The weights of the decoder's LSTM, with its gates in the order in, forget, out, new."""

    of_words: NDArray[np.float32]  # [4H, E]
    of_fed: NDArray[np.float32]  # with input feeding [4H, H], else [4H, 0]
    of_h: NDArray[np.float32]  # [4H, H]
    bias: NDArray[np.float32]  # [4H]


def decoder_gates(weights: Weights) -> Gates:
    of_inputs, of_h = (weights[f"decoder.lstm.weight_{kind}_l0"] for kind in ("ih", "hh"))
    size, width = of_h.shape[1], weights["decoder.embedding.weight"].shape[1]
    order = np.r_[0:size, size : 2 * size, 3 * size : 4 * size, 2 * size : 3 * size]  # torch has new before out
    bias = weights["decoder.lstm.bias_ih_l0"] + weights["decoder.lstm.bias_hh_l0"]
    return Gates(of_inputs[order, :width], of_inputs[order, width:], of_h[order], bias[order])


def gates_of_words(weights: Weights) -> Iterator[NDArray[np.float32]]:
    """What each target word adds to the gates of the decoder's LSTM, with its bias: some words [.., 4H] at a time."""
    gates, vectors = decoder_gates(weights), weights["decoder.embedding.weight"]
    for start in range(0, len(vectors), BLOCK):
        yield vectors[start : start + BLOCK] @ gates.of_words.T + gates.bias


def decoder_graph(weights: Weights, arithmetic: str, input_feeding: bool) -> onnx.ModelProto:
    """One step of the decoder.

    Inputs: words, as vectors [N, 1, E] or, in 8 bits, as what they add to the gates [N, 1, 4H]; with input feeding, the
    last output "fed" [N, 1, H]; recurrent [N, 1, 4H], what the last h adds to the gates; c [N, 1, H]; keys, values
    [N, S, H]; mask [N, S, 1], 0, or −inf on padding. Outputs: next_recurrent [N, 1, 4H], next_c and output [N, 1, H].

    The new h is multiplied once, by all that it meets in this step and the next.
    """
    builder = GraphBuilder(arithmetic)
    of_words, of_fed, of_h, bias = decoder_gates(weights)
    size = of_h.shape[1]
    words = builder.input("words", ["N", 1, of_words.shape[1] if arithmetic == "fp32" else 4 * size])
    recurrent, c = builder.input("recurrent", ["N", 1, 4 * size]), builder.input("c", ["N", 1, size])
    keys, values = builder.input("keys", ["N", "S", "H"]), builder.input("values", ["N", "S", "H"])
    mask = builder.input("mask", ["N", "S", 1])

    of_word = builder.linear(words, of_words, bias) if arithmetic == "fp32" else words
    gates = builder.node("Add", of_word, recurrent)
    if input_feeding:
        gates = builder.node("Add", gates, builder.linear(builder.input("fed", ["N", 1, size]), of_fed))
    sizes = builder.weight(np.array([3 * size, size]))
    three, new = builder.node("Split", gates, sizes, outputs=2, axis=-1)
    thirds = builder.weight(np.array([size] * 3))
    enter, forget, leave = builder.node("Split", builder.node("Sigmoid", three), thirds, outputs=3, axis=-1)
    kept, added = builder.node("Mul", forget, c), builder.node("Mul", enter, builder.node("Tanh", new))
    next_c = builder.node("Add", kept, added)
    next_h = builder.node("Mul", leave, builder.node("Tanh", next_c))

    combine = weights["decoder.combine.weight"]
    parts = [of_h, weights["decoder.attention.query.weight"], combine[:, -size:]]
    biases = [np.zeros_like(bias), weights["decoder.attention.query.bias"], weights["decoder.combine.bias"]]
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
    return builder.model()


def softmax_graph(softmax: Linear, arithmetic: str) -> onnx.ModelProto:
    """The k best words of a softmax over the vocabulary.

    Inputs: output [N, H], k [1]. Outputs: words, log_probs [N, k]; log-probabilities of "all" [N, V].
    """
    builder = GraphBuilder(arithmetic)
    size, width = softmax[0].shape
    output, k = builder.input("output", ["N", width]), builder.input("k", [1], TensorProto.INT64)
    logits = builder.linear(output, *softmax)
    log_sum = builder.node("ReduceLogSumExp", logits, axes=[-1], keepdims=1)
    builder.output(builder.node("Sub", logits, log_sum), "all", ["N", size])
    best, words = builder.node("TopK", logits, k, outputs=2, axis=-1)
    builder.output(builder.node("Sub", best, log_sum), "log_probs", ["N", "k"])
    builder.output(words, "words", ["N", "k"], TensorProto.INT64)
    return builder.model()


def logits_graph(softmax: Linear, arithmetic: str) -> onnx.ModelProto:
    """The logits of a softmax over some of the words. Input: output [N, H]. Output: logits [N, W]."""
    builder = GraphBuilder(arithmetic)
    size, width = softmax[0].shape
    logits = builder.linear(builder.input("output", ["N", width]), *softmax, exact=size * width <= SMALL)
    builder.output(logits, "logits", ["N", size])
    return builder.model()


def _bidirectional_lstm(builder: GraphBuilder, inputs: str, lengths: str, weights: Weights, size: int) -> Any:
    """inputs [S, N, E] -> all states [S, 2, N, H], the last h and c [2, N, H]"""
    order = np.r_[0:size, 3 * size : 4 * size, size : 2 * size, 2 * size : 3 * size]  # ONNX has in, out, forget, new
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

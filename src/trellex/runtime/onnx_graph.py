"""ONNX graphs: built node by node from a model's weights, and written. Only the export needs the package onnx."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from trellex.runtime.folder import RuntimeManifest
from trellex.runtime.rows import ZERO, quantized

Weights = Mapping[str, NDArray[np.float32]]  # of a model, by name

OPSET = 17
IR_VERSION = 8  # what onnxruntime has read since 1.14
MICROSOFT = "com.microsoft"
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
        added = () if bias is None else (self.weight(bias),)
        inputs = value, self.bytes(rounded.T), self.weight(scale), zeros, *added
        return self.node("DynamicQuantizeMatMul", *inputs, domain=MICROSOFT)

    def model(self) -> onnx.ModelProto:
        graph = helper.make_graph(self._nodes, "trellex", self._inputs, self._outputs, self._weights)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="trellex")


def write_graph(path: Path, manifest: RuntimeManifest, build: Callable[[str], onnx.ModelProto]) -> None:
    """Write a graph in all its variants; build: from the arithmetic to a graph.

    The weights stand in a file of their own because a protobuf can hold only 2 GiB.
    """
    for variant, arithmetic in manifest.variants.items():
        graph = path.with_name(f"{path.name}{variant}.onnx")
        weights = graph.with_suffix(".weights").name
        onnx.save_model(build(arithmetic), graph, save_as_external_data=True, location=weights, size_threshold=1024)


def write_softmax(
    path: Path, manifest: RuntimeManifest, weights: Weights, name: str, small: int = 0, finds_best: bool = False
) -> None:
    """The logits of a linear layer, as `write_scores` writes them. Up to so many weights as `small` are not rounded."""
    weight, bias = weights[f"{name}.weight"], weights[f"{name}.bias"]
    size, width = weight.shape

    def scores(builder: GraphBuilder, h: str) -> str:
        return builder.linear(h, weight, bias, exact=weight.size <= small)

    write_scores(path, manifest, scores, width, size, finds_best)


def write_scores(
    path: Path,
    manifest: RuntimeManifest,
    scores: Callable[[GraphBuilder, str], str],
    width: int,
    size: int,
    finds_best: bool,
) -> None:
    """Logits and, if asked for, the k best of them with their log-probabilities.

    Inputs: output [N, H]; k [1]. Outputs: logits [N, W]; words, log_probs [N, k].

    scores: adds what makes logits of the hidden states
    width, size: H, W
    """

    def build(arithmetic: str) -> onnx.ModelProto:
        builder = GraphBuilder(arithmetic)
        logits = scores(builder, builder.input("output", ["N", width]))
        if finds_best:
            log_sum = builder.node("ReduceLogSumExp", logits, axes=[-1], keepdims=1)
            k = builder.input("k", [1], TensorProto.INT64)
            best, words = builder.node("TopK", logits, k, outputs=2, axis=-1)
            builder.output(builder.node("Sub", best, log_sum), "log_probs", ["N", "k"])
            builder.output(words, "words", ["N", "k"], TensorProto.INT64)
        builder.output(logits, "logits", ["N", size])
        return builder.model()

    write_graph(path, manifest, build)

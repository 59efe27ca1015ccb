"""The LSTM network of an exported model in ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trellex.codes import Code
from trellex.heads.distribution import Distribution
from trellex.runtime.composed import ComposedVectors
from trellex.runtime.composed_shelves import ComposedShelves
from trellex.runtime.composed_softmax import ComposedSoftmax
from trellex.runtime.folder import REMEDY, Export, RuntimeManifest
from trellex.runtime.open_vectors import OpenVectors
from trellex.runtime.session import Session
from trellex.runtime.shelves import ShelvesLayer
from trellex.runtime.vectors import GATES, RoundedVectors, Vectors
from trellex.text.batches import pad
from trellex.text.vocabulary import BOS, EOS

OUTPUTS = ("next_recurrent", "next_c", "output")  # of a step
SHARES = "attention"  # an output that older exports lack

Ints = NDArray[np.int64]
Floats = NDArray[Any]


class LSTMState(NamedTuple):
    """Sentences being translated, a row each."""

    keys: Floats  # [N, S, H]
    values: Floats  # [N, S, H]
    mask: Floats  # 0, or −inf on padding  [N, S, 1]
    sentence: Ints  # whose keys and values a row has  [N]
    recurrent: Floats  # what the last h adds to the gates  [N, 1, 4H]
    c: Floats  # [N, 1, H]
    output: Floats  # [N, 1, H]
    shares: Floats | None = None  # of source words in the output, if they were asked for  [N, S, 1]

    @property
    def hidden(self) -> Floats:
        """What the output layer reads. [N, H]"""
        return self.output[:, 0]

    @property
    def attention(self) -> Floats | None:
        """Where the network looked for `hidden`, if that was asked for. [N, S]"""
        return None if self.shares is None else self.shares[..., 0]

    def select(self, rows: Ints) -> LSTMState:
        """The same with these rows, in this order, possibly repeated."""
        shares = None if self.shares is None else self.shares[rows]
        own = self.recurrent[rows], self.c[rows], self.output[rows], shares
        sentence = self.sentence[rows]
        if np.array_equal(sentence, self.sentence):  # as beams of the same sentences change places
            return LSTMState(self.keys, self.values, self.mask, sentence, *own)
        return LSTMState(self.keys[rows], self.values[rows], self.mask[rows], sentence, *own)


class RuntimeLSTM:
    """Encoder and decoder.

    Args:
        export: made by `trellex export`
        source_size: the number of source words
        threads: of ONNX Runtime
        layer: the output layer, whose vectors the decoder may share
    """

    def __init__(self, export: Export, source_size: int, threads: int, layer: Distribution) -> None:
        manifest = export.manifest
        size, self.input_feeding = manifest.model.hidden_size, manifest.model.input_feeding
        fed = {"fed": size} if self.input_feeding else {}
        states = {"keys": None, "values": None, "recurrent": 4 * size, "c": None}
        self.encoder = Session(export, "encoder", threads).check(
            embedded=None, lengths=None, keys=None, values=None, recurrent=None, c=None
        )
        self.decoder = Session(export, "decoder", threads).check(words=None, output=size, **states, **fed)
        width, vocab_size = self.decoder.width("words"), manifest.vocab_size
        source_width = self.encoder.width("embedded")
        self.source_vectors: Callable[[Ints], Floats]
        self.target_vectors: Callable[[Ints], Floats]
        if manifest.composes:
            self.source_vectors = ComposedVectors.load(export, "source", source_size, source_width)
        else:
            sources = RoundedVectors if manifest.is_compact else Vectors
            self.source_vectors = sources.load(export, "source.vectors", source_size, source_width)
        self.source_code: Code | None = None
        if manifest.reads_unknown:
            self.source_vectors = OpenVectors.load(export, self.source_vectors, source_size, source_width)
            self.source_code = self.source_vectors.code
        if manifest.is_compact and isinstance(layer, ShelvesLayer | ComposedShelves | ComposedSoftmax):
            self.decoder.check(words=manifest.model.embedding_size)
            self.target_vectors = layer.vectors
        elif manifest.composes:
            self.target_vectors = ComposedVectors.load(export, "target", vocab_size, width)
        elif manifest.is_int8:
            parts = 1 if manifest.is_compact else GATES
            self.target_vectors = RoundedVectors.load(export, "target.vectors", vocab_size, width, parts)
        else:
            self.target_vectors = Vectors.load(export, "target.vectors", vocab_size, width)
        self.hidden_size = size

    @property
    def has_attention(self) -> bool:
        """Whether it can tell where it looked."""
        return self.decoder.has(SHARES)

    @staticmethod
    def save(folder: Path, manifest: RuntimeManifest, weights: Any) -> None:
        """Write the files that this reads from the weights of the whole model by name."""
        from trellex.runtime.lstm_export import save_lstm  # needs the package onnx

        save_lstm(folder, manifest, weights)

    def start(self, sources: Sequence[NDArray[Any]], attention: bool = False) -> LSTMState:
        """Read source sentences and the first BOS. sources: ids of each -> state of N rows, with attention if asked"""
        return self.step(self.encode(sources, attention), np.full(len(sources), BOS))

    def encode(self, sources: Sequence[NDArray[Any]], attention: bool = False) -> LSTMState:
        """Read source sentences: what `start` does before the first word."""
        if attention and not self.has_attention:
            raise ValueError(f"{self.decoder.path.parent}: this export has no attention; {REMEDY}")
        lengths = np.array([len(source) for source in sources], np.int32)
        embedded = self.source_vectors(pad(list(sources), EOS))
        inputs = {"embedded": embedded, "lengths": lengths}
        keys, values, recurrent, c = self.encoder.run(["keys", "values", "recurrent", "c"], inputs)
        mask = np.where(np.arange(keys.shape[1]) < lengths[:, None], 0, -np.inf).astype(np.float32)[..., None]
        shares = mask if attention else None  # not None: the next step is to tell them
        return LSTMState(keys, values, mask, np.arange(len(sources)), recurrent, c, np.zeros_like(c), shares)

    def step(self, state: LSTMState, words: Ints) -> LSTMState:
        """Read the next target words [N]."""
        keys, values, mask, sentence, recurrent, c, output, shares = state
        inputs = {"words": self.target_vectors(words[:, None]), "recurrent": recurrent, "c": c}
        inputs |= {"keys": keys, "values": values, "mask": mask}
        if self.input_feeding:
            inputs["fed"] = output
        if shares is None:
            recurrent, c, output = self.decoder.run(OUTPUTS, inputs)
        else:
            recurrent, c, output, shares = self.decoder.run((*OUTPUTS, SHARES), inputs)
        if output.shape != (len(words), 1, self.hidden_size):  # compiled code relies on it
            raise ValueError(f"{self.decoder.path}: gives outputs of shape {output.shape}; {REMEDY}")
        return LSTMState(keys, values, mask, sentence, recurrent, c, output, shares)

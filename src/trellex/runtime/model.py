"""The translation model of an exported folder, as search asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trellex.runtime.folder import REMEDY, RuntimeManifest
from trellex.runtime.session import Session
from trellex.runtime.vectors import GateVectors, Vectors
from trellex.runtime.words import load_words
from trellex.text.batches import pad
from trellex.text.vocabulary import BOS, EOS

OUTPUTS = ("next_recurrent", "next_c", "output")  # of a step

Ints = NDArray[np.int64]
Floats = NDArray[Any]


class RuntimeState(NamedTuple):
    """Sentences being translated, a row each."""

    keys: Floats  # [N, S, H]
    values: Floats  # [N, S, H]
    mask: Floats  # 0, or −inf on padding  [N, S, 1]
    sentence: Ints  # whose keys and values a row has  [N]
    recurrent: Floats  # what the last h adds to the gates  [N, 1, 4H]
    c: Floats  # [N, 1, H]
    output: Floats  # [N, 1, H]

    def select(self, rows: Ints) -> RuntimeState:
        """The same with these rows, in this order, possibly repeated."""
        own = self.recurrent[rows], self.c[rows], self.output[rows]
        sentence = self.sentence[rows]
        if np.array_equal(sentence, self.sentence):  # as beams of the same sentences change places
            return RuntimeState(self.keys, self.values, self.mask, sentence, *own)
        return RuntimeState(self.keys[rows], self.values[rows], self.mask[rows], sentence, *own)


class RuntimeModel:
    """Encoder, decoder and output layer of an exported folder.

    Args:
        folder: made by `trellex export`
        manifest: its manifest
        source_size, target_size: the sizes of the vocabularies
        threads: of ONNX Runtime
    """

    def __init__(
        self, folder: Path, manifest: RuntimeManifest, source_size: int, target_size: int, threads: int = 1
    ) -> None:
        size = manifest.hidden_size
        fed = {"fed": size} if manifest.input_feeding else {}
        states = {"keys": None, "values": None, "recurrent": 4 * size, "c": None}
        self.encoder = Session(folder, "encoder", threads).check(
            embedded=None, lengths=None, keys=None, values=None, recurrent=None, c=None
        )
        self.decoder = Session(folder, "decoder", threads).check(words=None, output=size, **states, **fed)
        self.source_vectors = Vectors.load(folder / "source.vectors.npy", source_size, self.encoder.width("embedded"))
        of_target = folder / "target.vectors.npy", target_size, self.decoder.width("words")
        self.target_vectors = GateVectors.load(*of_target) if manifest.precision == "int8" else Vectors.load(*of_target)
        self.words = load_words(folder, manifest, threads)
        self.hidden_size, self.input_feeding = size, manifest.input_feeding

    def inference(self) -> AbstractContextManager[None]:
        return nullcontext()

    def start(self, sources: Sequence[NDArray[Any]]) -> RuntimeState:
        """Read source sentences and the first BOS. sources: ids of each -> state of N rows"""
        lengths = np.array([len(source) for source in sources], np.int32)
        embedded = self.source_vectors(pad(list(sources), EOS))
        inputs = {"embedded": embedded, "lengths": lengths}
        keys, values, recurrent, c = self.encoder.run(["keys", "values", "recurrent", "c"], inputs)
        mask = np.where(np.arange(keys.shape[1]) < lengths[:, None], 0, -np.inf).astype(np.float32)[..., None]
        state = RuntimeState(keys, values, mask, np.arange(len(sources)), recurrent, c, np.zeros_like(c))
        return self.step(state, np.full(len(sources), BOS))

    def step(self, state: RuntimeState, words: Ints) -> RuntimeState:
        """Read the next target words [N]."""
        keys, values, mask, sentence, recurrent, c, output = state
        inputs = {"words": self.target_vectors(words[:, None]), "recurrent": recurrent, "c": c}
        inputs |= {"keys": keys, "values": values, "mask": mask}
        if self.input_feeding:
            inputs["fed"] = output
        recurrent, c, output = self.decoder.run(OUTPUTS, inputs)
        if output.shape != (len(words), 1, self.hidden_size):  # compiled code relies on it
            raise ValueError(f"{self.decoder.path}: gives outputs of shape {output.shape}; {REMEDY}")
        return RuntimeState(keys, values, mask, sentence, recurrent, c, output)

    def best(self, state: RuntimeState) -> Ints:
        """The best next word of every row. -> [N]"""
        return self.words.best(state.output[:, 0])

    def topk(self, state: RuntimeState, k: int) -> tuple[Ints, Floats]:
        """The k best next words of every row. -> words, log_probs [N, k]"""
        return self.words.topk(state.output[:, 0], k)

    def log_prob(self, state: RuntimeState, words: Ints) -> Floats:
        """log P of a next word for every row. words [N] -> [N]"""
        return self.words.log_prob(state.output[:, 0], words)

    def sample(self, state: RuntimeState, temperature: float, random: np.random.Generator) -> Ints:
        """A next word drawn for every row. -> [N]"""
        return self.words.sample(state.output[:, 0], temperature, random)

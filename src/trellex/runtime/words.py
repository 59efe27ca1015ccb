"""From the decoder's output to words, for every kind of output layer, in numpy and ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from trellex.arrays import best_of
from trellex.codes import code_from_dict
from trellex.runtime.folder import MANIFEST, REMEDY, HeadFacts, RuntimeManifest, load_array
from trellex.runtime.session import Session
from trellex.spelling import Spelling
from trellex.text.vocabulary import UNK
from trellex.trellis import ConvolutionalCode, IdentityCode, between

Ints = NDArray[np.int64]
Floats = NDArray[Any]


class Words(Protocol):
    """What an output layer is to the runtime. h: what the decoder puts out after a word  [N, H]"""

    def best(self, h: Floats) -> Ints:
        """The best words. -> [N]"""

    def topk(self, h: Floats, k: int) -> tuple[Ints, Floats]:
        """The k best words, −1 and −inf where there are fewer. -> words, log_probs [N, k]"""

    def log_prob(self, h: Floats, words: Ints) -> Floats:
        """words [N] -> [N]"""

    def sample(self, h: Floats, temperature: float, random: np.random.Generator) -> Ints:
        """Words drawn with probabilities in proportion to P^(1 / temperature). -> [N]"""


def load_words(folder: Path, manifest: RuntimeManifest, threads: int) -> Words:
    """The output layer of an exported model."""
    facts = manifest.head
    if not facts.mixtures:
        return SoftmaxWords(facts, folder, threads)
    bits = BitWords(facts, folder, manifest.hidden_size)
    return HybridWords(bits, folder, manifest, threads) if facts.first_rare else bits


class SoftmaxWords:
    """All words by softmax; ONNX Runtime finds the best."""

    def __init__(self, facts: HeadFacts, folder: Path, threads: int) -> None:
        self.vocab_size = facts.vocab_size
        self.session = Session(folder, "softmax", threads).check(k=None, words=None, all=facts.vocab_size)

    def best(self, h: Floats) -> Ints:
        return self.run(h, 1, "words")[0][:, 0]

    def topk(self, h: Floats, k: int) -> tuple[Ints, Floats]:
        words, log_probs = self.run(h, min(k, self.vocab_size), "words", "log_probs")
        return best_of(log_probs, words, k)

    def log_prob(self, h: Floats, words: Ints) -> Floats:
        return _at(self.run(h, 1, "all")[0], words)

    def sample(self, h: Floats, temperature: float, random: np.random.Generator) -> Ints:
        return _draw(self.run(h, 1, "all")[0] / temperature, random)

    def run(self, h: Floats, k: int, *names: str) -> list[Floats]:
        """These outputs of the graph."""
        return self.session.run(names, {"output": h, "k": np.array([k])})


class BitWords:
    """All words by their code."""

    def __init__(self, facts: HeadFacts, folder: Path, hidden_size: int) -> None:
        self.is_paper, self.offset, self.mixtures = facts.decoding == "paper", facts.offset, facts.mixtures
        self.spelling = _spelling(facts, folder / MANIFEST)
        from trellex.runtime.reader import Reader  # loads numba, which a softmax does not need

        inputs, layer = hidden_size, facts.hidden_layer
        self.hidden = _load_linear(folder, "bits.hidden", inputs, layer) if layer else None
        inputs = layer or inputs
        self.linear = _load_linear(folder, "bits.linear", inputs, facts.mixtures * self.spelling.length)
        self.weights = _load_linear(folder, "bits.weights", inputs, facts.mixtures) if facts.mixtures > 1 else None
        self.reader = Reader(self.spelling, *self.linear) if facts.mixtures == 1 else None

    def best(self, h: Floats) -> Ints:
        if self.reader is None:
            return self._to_vocabulary(self.spelling.best(*self._outputs(h)))
        if self.is_paper:
            logits = self._logits(self._inputs(h))
            return np.maximum(self._to_vocabulary(self.spelling.decode(logits)), UNK)
        words = self.reader.best(self._inputs(h))
        return words + self.offset if self.offset else words

    def topk(self, h: Floats, k: int) -> tuple[Ints, Floats]:
        if self.is_paper and k == 1:
            words = self.best(h)
            return words[:, None], self.log_prob(h, words)[:, None]
        if k == 1:
            words, log_probs = self.best_with_log_prob(h)
            return words[:, None], log_probs[:, None]
        words, log_probs = self.spelling.topk(*self._outputs(h), k)
        return self._to_vocabulary(words), log_probs

    def best_with_log_prob(self, h: Floats) -> tuple[Ints, Floats]:
        """The most probable words, whatever the decoding. -> words, log_probs [N]"""
        if self.reader is None:
            words, log_probs = self.spelling.topk(*self._outputs(h), 1)
            return self._to_vocabulary(words[:, 0]), log_probs[:, 0]
        words, log_probs = self.reader.best_with_log_prob(self._inputs(h))
        return words + self.offset, log_probs

    def log_prob(self, h: Floats, words: Ints) -> Floats:
        return self.spelling.log_prob(*self._outputs(h), words - self.offset)

    def sample(self, h: Floats, temperature: float, random: np.random.Generator) -> Ints:
        logits, log_weights = self._outputs(h)
        if self.mixtures > 1:
            part = _draw(self.spelling.log_masses(logits, log_weights, temperature), random)
            logits = np.take_along_axis(logits, part[:, None, None], 1)
        return self._to_vocabulary(self.spelling.sample(logits[:, 0] / temperature, random))

    def log_mass(self, h: Floats, temperature: float) -> Floats:
        """log Σ (π_k P_k(w))^(1 / temperature) over parts and words. -> [N]"""
        return np.logaddexp.reduce(self.spelling.log_masses(*self._outputs(h), temperature), -1)

    def _outputs(self, h: Floats) -> tuple[Floats, Floats]:
        """Logits of the bits and log π. -> [N, K, L], [N, K]"""
        inputs = self._inputs(h)
        logits = self._logits(inputs).reshape(len(inputs), self.mixtures, self.spelling.length)
        if self.weights is None:
            return logits, np.zeros((len(inputs), 1))
        weights = (inputs @ self.weights[0].T + self.weights[1]).astype(np.float64)
        return logits, weights - np.logaddexp.reduce(weights, -1)[:, None]

    def _logits(self, inputs: Floats) -> Floats:
        """[N, I] -> [N, K · L]"""
        return (inputs @ self.linear[0].T + self.linear[1]).astype(np.float64)

    def _inputs(self, h: Floats) -> Floats:
        """What the last layers see. -> [N, I]"""
        return h if self.hidden is None else np.maximum(h @ self.hidden[0].T + self.hidden[1], 0)

    def _to_vocabulary(self, words: Ints) -> Ints:
        """From the code's numbering to that of the vocabulary; −1 stays."""
        return words if self.offset == 0 else np.where(words >= 0, words + self.offset, -1)


class HybridWords:
    """Frequent words by softmax, the others by their code. `best` reads bits only where they can matter."""

    def __init__(self, bits: BitWords, folder: Path, manifest: RuntimeManifest, threads: int) -> None:
        from trellex.runtime.frequent import FrequentLayer

        facts = manifest.head
        self.bits, self.first_rare = bits, facts.first_rare
        self.session = Session(folder, "softmax", threads).check(output=manifest.hidden_size, logits=facts.softmax_size)
        sizes = facts.softmax_size, manifest.hidden_size
        self.layer = FrequentLayer.load(folder, *sizes, manifest.precision == "int8")  # the same, for few hidden states

    def best(self, h: Floats) -> Ints:
        words, leads, some_are_rare = self._best_frequent(h)
        if not some_are_rare:  # a rare word is at most as probable as OTHER
            return words
        rows = slice(None) if len(h) == 1 else np.flatnonzero(leads > 0)
        if self.bits.is_paper:
            words[rows] = self.bits.best(h[rows])
            return words
        rare, rare_log_probs = self.bits.best_with_log_prob(h[rows])
        words[rows] = np.where(leads[rows] + rare_log_probs > 0, rare, words[rows])
        return words

    def topk(self, h: Floats, k: int) -> tuple[Ints, Floats]:
        if self.bits.is_paper and k == 1:
            best = self.best(h)
            return best[:, None], self.log_prob(h, best)[:, None]
        log_probs = _log_softmax(self._logits(h))
        frequent = _k_largest(log_probs[:, : self.first_rare], k)
        rare, rare_log_probs = self.bits.topk(h, k)
        other = log_probs[:, self.first_rare, None]
        scores = np.concatenate([np.take_along_axis(log_probs, frequent, -1), other + rare_log_probs], -1)
        return best_of(scores, np.concatenate([frequent, rare], -1), k)

    def log_prob(self, h: Floats, words: Ints) -> Floats:
        log_probs = _at(_log_softmax(self._logits(h)), np.minimum(words, self.first_rare)).astype(np.float64)
        rows = np.flatnonzero(words >= self.first_rare)
        if len(rows):
            log_probs[rows] += self.bits.log_prob(h[rows], words[rows])
        return log_probs

    def sample(self, h: Floats, temperature: float, random: np.random.Generator) -> Ints:
        scores = _log_softmax(self._logits(h)) / temperature
        scores[:, self.first_rare] += self.bits.log_mass(h, temperature)  # OTHER stands for all rare words
        words = _draw(scores, random)
        rows = np.flatnonzero(words == self.first_rare)
        if len(rows):
            words[rows] = self.bits.sample(h[rows], temperature, random)
        return words

    def _best_frequent(self, h: Floats) -> tuple[Ints, Floats, bool]:
        """The best frequent words; by how much OTHER exceeds them, in logits; whether it does anywhere. -> [N], [N]"""
        if len(h) <= self.layer.few:
            return self.layer.best(h)
        logits = self._logits(h)
        words = logits[:, : self.first_rare].argmax(-1)
        leads = logits[:, self.first_rare] - _at(logits, words).astype(np.float64)
        return words, leads, bool((leads > 0).any())

    def _logits(self, h: Floats) -> Floats:
        """Of frequent words and OTHER. -> [N, W]"""
        return self.layer.logits(h) if len(h) <= self.layer.few else self.session.run(["logits"], {"output": h})[0]


def _spelling(facts: HeadFacts, path: Path) -> Spelling:
    try:
        code = code_from_dict(facts.code or {})
        ecc = IdentityCode() if facts.generators == ["1"] else ConvolutionalCode(facts.generators)
    except ValueError as error:
        raise ValueError(f"{path}: the code: {error}; {REMEDY}") from error
    if code.vocab_size + facts.offset != facts.vocab_size:
        raise ValueError(f"{path}: the code has not {facts.vocab_size - facts.offset:,} words; {REMEDY}")
    skips = facts.first_rare > facts.offset
    return Spelling(code, ecc, between(facts.first_rare, facts.vocab_size, code.num_bits) if skips else None)


def _load_linear(folder: Path, name: str, inputs: int, outputs: int) -> tuple[Floats, Floats]:
    """Weight [O, I] and bias [O]."""
    weight = load_array(folder / f"{name}.weight.npy", (outputs, inputs), np.float32)
    return np.ascontiguousarray(weight), load_array(folder / f"{name}.bias.npy", (outputs,), np.float32)


def _log_softmax(logits: Floats) -> Floats:
    """[N, W] -> [N, W]"""
    shifted = logits - logits.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


def _k_largest(values: Floats, k: int) -> Ints:
    """The places of the k largest of each row, or of all where there are fewer, lowest first. [N, W] -> [N, k]"""
    width = values.shape[-1]
    if k >= width:
        return np.broadcast_to(np.arange(width), values.shape)
    return np.sort(np.argpartition(values, width - k, -1)[:, width - k :], -1)


def _at(values: Floats, words: Ints) -> Floats:
    """values [N, V], words [N] -> [N]"""
    return values[np.arange(len(words)), words]


def _draw(scores: Floats, random: np.random.Generator) -> Ints:
    """Places drawn with probabilities in proportion to exp(score). [N, C] -> [N]"""
    gumbels = random.gumbel(size=scores.shape)
    return np.argmax(scores + gumbels, -1)

"""Evidence: what an output layer says of one word, so that people can see how it was read from bits."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trellex.arrays import Array, is_tensor, log_softmax, number_to_bits, sigmoid
from trellex.heads.code_distribution import CodeDistribution
from trellex.heads.distribution import Distribution
from trellex.heads.hybrid_distribution import HybridDistribution
from trellex.heads.shelf_distribution import ShelfDistribution
from trellex.trellis import CompleteCode, ConvolutionalCode

WORDS_OF_A_SHELF = 4  # that are told

Floats = NDArray[np.float64]


class Candidate(NamedTuple):
    """One of the k best words."""

    word: int
    log_prob: float
    states: list[int] | None  # its way through the trellis, as in `Reading`, if bits spell it


class Reading(NamedTuple):
    """How a trellis read a number from bits: that of a word's code, or of its shelf.

    A complete trellis has no code word whose bits could be wrong: `code_word` and `said` are empty, and `posterior` is
    that of the number's own bits.

    Attributes:
        number: what was read
        bits: its own bits, the lowest first  [B]
        code_word: the same with redundancy  [L]
        said: how probable a 1 is in each place of it, by the network alone  [L]
        posterior: the same once the trellis has weighed all words  [L], of a complete trellis [B]
        states: the trellis' states from before the first bit to the end  [T + 1]
        num_states: how many there are
        part, weight: which set of bits of a mixture says most for the word, and its share in the word's probability
    """

    number: int
    bits: list[int]
    code_word: list[int]
    said: list[float]
    posterior: list[float]
    states: list[int]
    num_states: int
    part: int = 0
    weight: float = 1.0

    @property
    def decided(self) -> list[int]:
        """What the network alone would have read in each place of the code word. [L]"""
        return [int(probability > 0.5) for probability in self.said]

    @property
    def corrected(self) -> list[int]:
        """The places where that differs from the code word."""
        return [place for place, bit in enumerate(self.decided) if bit != self.code_word[place]]


class Shelf(NamedTuple):
    """A shelf and the most probable words on it."""

    number: int
    log_prob: float
    words: list[tuple[int, float]]  # with log P, best first


class Evidence(NamedTuple):
    """What an output layer says of a word that follows.

    Attributes:
        layer: which part of it has the word: softmax, bits or shelf
        best: the k best words, best first
        reading: of the bits, or of the shelf; None for a word of a softmax
        shelves: the k most probable ones
        others: of a hybrid, the probability of all words that have bits
    """

    layer: str
    best: list[Candidate]
    reading: Reading | None = None
    shelves: list[Shelf] | None = None
    others: float | None = None


def evidence_of(layer: Distribution, h: Array, word: int, k: int) -> Evidence:
    """What a layer says of one word and of the k best. h [1, H]"""
    words, log_probs = (_fetched(found)[0] for found in layer.topk(h, k))
    best = [(int(each), float(log_prob)) for each, log_prob in zip(words, log_probs, strict=True) if each >= 0]
    bits = layer.bits if isinstance(layer, HybridDistribution) else layer
    first = layer.first_rare if isinstance(layer, HybridDistribution) else 0
    states_of = _states_of(bits, first)
    candidates = [Candidate(each, log_prob, states_of(each)) for each, log_prob in best]
    if isinstance(layer, ShelfDistribution):
        return Evidence("shelf", candidates, _shelf_reading(layer, h, word), _best_shelves(layer, h, k))
    if not isinstance(bits, CodeDistribution):
        return Evidence("softmax", candidates)
    others = None
    if isinstance(layer, HybridDistribution):
        others = float(np.exp(_fetched(layer.log_prob_of_rare(h))[0]))
    if word < first:
        return Evidence("softmax", candidates, others=others)
    return Evidence("bits", candidates, _bits_reading(bits, h, word), others=others)


def outline(layer: Distribution) -> dict[str, Any]:
    """The sizes of a layer: its words, and how many outputs it computes instead of a score for each."""
    if isinstance(layer, ShelfDistribution):
        return {
            "words": layer.vocab_size,
            "outputs": layer.length + layer.visit * layer.width,
            "bits": layer.shelf_bits,
            "states": 1 << layer.ecc.memory,
            "shelves": layer.num_shelves,
            "visited": layer.visit,
            "words on a shelf": layer.width,
        }
    bits = layer.bits if isinstance(layer, HybridDistribution) else layer
    if not isinstance(bits, CodeDistribution):
        return {"words": layer.vocab_size, "outputs": layer.num_outputs}
    frequent = layer.first_rare if isinstance(layer, HybridDistribution) else 0
    parts = getattr(getattr(bits, "bits", bits), "mixtures", 1)  # a head in torch keeps them in its layer
    facts = {
        "words": layer.vocab_size,
        "outputs": (frequent + 1 if frequent else 0) + parts * bits.length + (parts if parts > 1 else 0),
        "bits": bits.code.num_bits,
        "states": 1 << bits.ecc.memory,
    }
    if not isinstance(bits.ecc, CompleteCode):
        facts["redundant bits"] = bits.length
    if parts > 1:
        facts["mixtures"] = parts
    return facts | ({"frequent words": frequent} if frequent else {})


def _bits_reading(layer: CodeDistribution, h: Array, word: int) -> Reading:
    """Of several sets of bits, those of the one that says most for the word."""
    logits, log_weights = (_fetched(found) for found in layer.outputs(h))
    words = np.array([word])
    shares = log_weights[0] + (layer.scores(logits, words) - layer.log_partition(logits))[0]
    part = int(shares.argmax())
    weight = float(np.exp(log_softmax(shares[None]))[0, part])
    own = logits[0, part]
    reading = _reading(layer.ecc, int(layer.code.numbers(words - layer.offset)[0]), layer.code.num_bits)
    posterior = layer.posterior(own)
    if isinstance(layer.ecc, CompleteCode):
        return reading._replace(posterior=_by_step(layer.ecc, posterior), part=part, weight=weight)
    code_word = layer.redundant_bits(words)[0].tolist()
    return reading._replace(
        code_word=code_word, said=sigmoid(own).tolist(), posterior=posterior.tolist(), part=part, weight=weight
    )


def _shelf_reading(layer: ShelfDistribution, h: Array, word: int) -> Reading:
    logits, (shelf, _) = _fetched(layer.shelf_logits(h))[0], layer.place_of(np.array(word))
    posterior = layer.ecc.posterior(logits, layer.num_shelves)
    return _reading(layer.ecc, int(shelf), layer.shelf_bits)._replace(posterior=_by_step(layer.ecc, posterior))


def _best_shelves(layer: ShelfDistribution, h: Array, count: int) -> list[Shelf]:
    shelves, log_shelves, words, log_probs = (_fetched(found)[0] for found in layer.best_shelves(h, count))
    found = []
    for number, log_shelf, own, own_log_probs in zip(shelves, log_shelves, words, log_probs, strict=True):
        order = [place for place in np.argsort(-own_log_probs, kind="stable") if own[place] >= 0]
        told = [(int(own[place]), float(own_log_probs[place])) for place in order[:WORDS_OF_A_SHELF]]
        found.append(Shelf(int(number), float(log_shelf), told))
    return found


def _reading(ecc: ConvolutionalCode, number: int, num_bits: int) -> Reading:
    """All of it that follows from the number."""
    bits = number_to_bits(np.array(number), num_bits)
    states = [int(state) for state in ecc.register.states(bits)]
    return Reading(number, bits.tolist(), [], [], [], states, 1 << ecc.memory)


def _states_of(layer: Distribution, first: int) -> Callable[[int], list[int] | None]:
    """The way through the trellis of words, None of those that bits do not spell."""

    def states_of(word: int) -> list[int] | None:
        if isinstance(layer, ShelfDistribution):
            return _reading(layer.ecc, int(layer.place_of(np.array(word))[0]), layer.shelf_bits).states
        if not isinstance(layer, CodeDistribution) or word < first:
            return None
        return _reading(layer.ecc, int(layer.code.numbers(np.array(word - layer.offset))), layer.code.num_bits).states

    return states_of


def _by_step(ecc: CompleteCode, posterior: Floats) -> list[float]:
    """How probable a 1 is at each step: the sum over its states. [L] -> B values"""
    num_bits = ecc.num_bits(len(posterior))
    ends = [ecc.register.first_output(step) for step in range(num_bits + 1)]
    return [float(posterior[begin:end].sum()) for begin, end in pairwise(ends)]


def _fetched(values: Array) -> NDArray[Any]:
    """In main memory, real numbers in double precision."""
    found = values.detach().cpu().numpy() if is_tensor(values) else values
    return found if found.dtype.kind != "f" else found.astype(np.float64)

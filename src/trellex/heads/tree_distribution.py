"""P(word | h) by a tree: at every node on the way to a word, the probability of the turn that leads there."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from trellex.arrays import (
    Array,
    best_of,
    doubled,
    draw,
    is_inspectable,
    is_tensor,
    log_sigmoid,
    namespace,
    portions,
    sigmoid,
    uniforms,
)
from trellex.codes import Code, CodeTree
from trellex.heads.distribution import Distribution

TOGETHER = 4  # open prefixes of a row to follow at a time, unless more words are sought
MOST_PRODUCTS = 1 << 24  # numbers to gather at a time, unless those of `TOGETHER` prefixes are more
MOST_SCORES = 1 << 22  # of all words, to hold at a time, unless those of one row are more
MOST_ON_DEVICE = 1 << 26  # the same on an accelerator


class TreeDistribution(Distribution):
    """Words as leaves of the tree of a code. A node's logit says how probable the bit 1 is, if the way leads there.

    P(w) is the product over the nodes on the way to w, so it sums to 1, and no word is more probable than a node
    above it.

    Args:
        code: word ↔ bits

    Attributes:
        tree: its V − 1 nodes
    """

    def __init__(self, code: Code) -> None:
        self.code, self.vocab_size, self.tree = code, code.vocab_size, CodeTree(code)

    @property
    def num_outputs(self) -> int:
        """The nodes of the longest path."""
        return self.tree.depth

    @abstractmethod
    def node_logits(self, h: Array, nodes: Array) -> Array:
        """Those of some nodes. h [T, H], nodes [T, C] -> [T, C]"""

    @abstractmethod
    def all_logits(self, h: Array) -> Array:
        """Those of all nodes. h [T, H] -> [T, V − 1]"""

    def path_log_prob(self, h: Array, words: Array, exact: bool = True) -> Array:
        """log P, in double precision if exact, otherwise in that of the logits. h [T, H], words [T] -> [T]"""
        turns = self.tree.turns(words)
        logits = self.node_logits(h, turns.clip(0) >> 1)
        logits = doubled(logits) if exact else logits
        library = namespace(logits)
        signed = library.where((turns & 1) == 1, logits, -logits)
        return library.where(turns >= 0, log_sigmoid(signed), 0.0).sum(-1)

    def _log_prob(self, h: Array, words: Array) -> Array:
        return self.path_log_prob(h, words)

    def _topk(self, h: Array, k: int) -> tuple[Array, Array]:
        """Best prefixes first, some of each row at a time, until no open one is more probable than the k-th word."""
        if not is_inspectable(h):
            return self._topk_of_all(h, k)
        library, width = namespace(h), max(1, len(h) * self.hidden_size)
        together = min(max(TOGETHER, k), max(TOGETHER, MOST_PRODUCTS // width))
        scores = doubled(h[:, :1] * 0)  # log P of open prefixes [T, C]
        nodes = scores.long() if is_tensor(h) else scores.astype(np.int64)
        words, log_probs = best_of(scores[:, :0], k, nodes[:, :0])
        rows = np.arange(len(h))
        while len(rows):
            followed, rest = nodes[:, :together], nodes[:, together:]
            turns = self._turn_scores(h[rows], followed.clip(0), scores[:, :together])
            children = self.tree.children(followed.clip(0)).reshape(turns.shape)
            found = library.where(children < 0, turns, -float("inf"))
            words[rows], log_probs[rows] = best_of(
                library.concatenate([log_probs[rows], found], -1), k, library.concatenate([words[rows], ~children], -1)
            )
            scores = library.concatenate([scores[:, together:], turns], -1)
            nodes = library.concatenate([rest, children], -1)
            is_open = (nodes >= 0) & (scores > log_probs[rows][:, -1:])
            counts = is_open.sum(-1)
            counts = counts.cpu().numpy() if is_tensor(counts) else counts
            left = np.flatnonzero(counts)
            scores = library.where(is_open, scores, -float("inf"))[left]
            nodes, scores = best_of(scores, int(counts.max(initial=0)), nodes[left])
            rows = rows[left]
        return words, log_probs

    def _topk_of_all(self, h: Array, k: int) -> tuple[Array, Array]:
        """The same by all words, some rows at a time: an accelerator would be waited for in every round of a search."""
        found, at_a_time = [], max(1, MOST_ON_DEVICE // self.vocab_size)
        for rows in portions(h, at_a_time):
            words, log_probs = self._every_log_prob(rows)
            found.append(best_of(log_probs, k, words.expand(log_probs.shape)))
        words, log_probs = (namespace(h).concatenate(parts) for parts in zip(*found, strict=True))
        return words, log_probs

    def _turn_scores(self, h: Array, nodes: Array, scores: Array) -> Array:
        """log P of the prefixes that follow by a 0 and by a 1. nodes, scores [T, C] -> [T, 2 C]"""
        logits = doubled(self.node_logits(h, nodes))
        turns = log_sigmoid(namespace(h).stack([-logits, logits], -1)) + scores[..., None]
        return turns.reshape(len(h), 2 * nodes.shape[1])

    def _sample(self, h: Array, temperature: float, generator: Any) -> Array:
        """At temperature 1, turn by turn down the tree.

        At any other, what a tempered subtree weighs is known once all its words are: all of them are looked at, those
        of some rows at a time.
        """
        random = generator if is_tensor(h) else np.random.default_rng(generator)
        if temperature == 1:
            return self._walk(h, random)
        at_a_time = max(1, MOST_SCORES // self.vocab_size)
        parts = [self._drawn_from_all(rows, temperature, random) for rows in portions(h, at_a_time)]
        return namespace(h).concatenate(parts)

    def _walk(self, h: Array, random: Any) -> Array:
        """h [T, H] -> words [T]"""
        library = namespace(h)
        places = library.zeros(len(h), dtype=library.int64, device=h.device)  # nodes, and words as −1 − word
        for _ in range(self.tree.depth):
            nodes = places.clip(0)
            ones = sigmoid(doubled(self.node_logits(h, nodes[:, None]))[:, 0])
            children = self.tree.children(nodes)
            following = library.where(uniforms(ones, random) < ones, children[:, 1], children[:, 0])
            places = library.where(places < 0, places, following)
        return ~places

    def _drawn_from_all(self, h: Array, temperature: float, random: Any) -> Array:
        """h [T, H] -> words [T]"""
        words, log_probs = self._every_log_prob(h)
        return words[draw(log_probs / temperature, random)]

    def _every_log_prob(self, h: Array) -> tuple[Array, Array]:
        """All words in the order of their levels, and log P. h [T, H] -> [V], [T, V]"""
        library, logits = namespace(h), doubled(self.all_logits(h))
        place = library.arange(1, device=h.device)  # where tables are looked up: an accelerator is not waited for
        scores, log_probs, first = logits[:, :1] * 0, [], 0
        for level in self.tree.levels:
            own = logits[:, first : first + level.num_nodes]
            turns = log_sigmoid(library.stack([-own, own], -1)) + scores[..., None]
            turns, first = turns.reshape(len(h), 2 * level.num_nodes), first + level.num_nodes
            log_probs.append(turns[:, level.words.like(place)])
            scores = turns[:, level.nodes.like(place)]
        return self.tree.words.like(place), library.concatenate(log_probs, -1)

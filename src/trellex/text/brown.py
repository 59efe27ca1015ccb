"""Brown clusters (Brown et al. 1992): a tree of all words, in which words with like neighbours are near each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.arrays import as_count
from trellex.text.bigrams import Bigrams, bigrams
from trellex.text.brown_joins import Links, join_rest, join_words, no_clusters
from trellex.text.parallel import Ids

CLUSTERS = 512  # that there are at a time
MOST = np.iinfo(np.int32).max  # bigrams
PORTION = 256  # words between two reports

Ints = NDArray[Any]
Report = Callable[[int, int], None]  # how many words are joined, and of how many


def brown_order(
    ids: Ints,
    lengths: Ids,
    vocab_size: int,
    clusters: int = CLUSTERS,
    report: Report = lambda done, total: None,
) -> Ids:
    """All words in the order of the leaves of their Brown tree, so that like ones are near each other. -> [V]

    Of two subtrees the one with the most frequent word, which has the lowest id, comes first; words that never occur
    come last. The same text gives the same order.

    Args:
        ids: of the words of all sentences, one sentence after another  [tokens]
        lengths: of the sentences  [N]
        vocab_size: V
        clusters: C; every word, the most frequent first, makes one more, and then the best two of them are joined
        report: called now and then; what it raises ends the work
    """
    words, joined = brown_tree(bigrams(ids, lengths, vocab_size), vocab_size, clusters, report)
    order = words[_leaves(words, joined)]
    return np.concatenate((order, np.setdiff1d(np.arange(vocab_size), order)))


def brown_tree(
    pairs: Bigrams, vocab_size: int, clusters: int = CLUSTERS, report: Report = lambda done, total: None
) -> tuple[Ids, Ids]:
    """The words that occur, W of them, and the two nodes that are joined each time. -> words [W], joined [W − 1, 2]

    Nodes below W are places in `words`, which are the most frequent first, and W + t is what was joined at time t.
    """
    clusters = max(2, as_count(clusters, "clusters"))
    if pairs.counts.sum() > MOST:
        raise ValueError(f"pairs: at most {MOST:,} bigrams fit, got {pairs.counts.sum():,}; take a part of the text")
    frequencies = np.bincount(pairs.left, pairs.counts, vocab_size) + np.bincount(pairs.right, pairs.counts, vocab_size)
    words = np.argsort(-frequencies, kind="stable")[: np.count_nonzero(frequencies)]
    ranks = np.empty(vocab_size, np.int64)
    ranks[words] = np.arange(len(words))
    left, right = ranks[pairs.left], ranks[pairs.right]
    links = [_links(*sides, pairs.counts, len(words)) for sides in ((left, right), (right, left))]
    found = no_clusters(min(clusters, len(words)) + 1, len(words))
    for first in range(0, len(words), PORTION):
        last = min(first + PORTION, len(words))
        join_words(found, *links, first, last)
        report(last, len(words))
    join_rest(found, len(words))
    return words, found.joined[: max(0, len(words) - 1)]


def _links(of: Ints, others: Ints, counts: Ints, size: int) -> Links:
    order = np.argsort(of, kind="stable")
    return Links(np.append(0, np.bincount(of, minlength=size).cumsum()), others[order], counts[order])


def _leaves(words: Ids, joined: Ids) -> Ids:
    """The leaves from left to right. words [W], joined [W − 1, 2] -> [W]"""
    size = len(words)
    lowest = np.concatenate((words, np.zeros(len(joined), np.int64)))  # the most frequent word of a node
    for time, pair in enumerate(joined.tolist()):
        lowest[size + time] = lowest[pair].min()
    found, ahead = [], [size + len(joined) - 1] if size else []
    while ahead:
        node = ahead.pop()
        if node < size:
            found.append(node)
        else:
            ahead += sorted(joined[node - size].tolist(), key=lambda child: -lowest[child])
    return np.array(found, np.int64)

"""Brown clusters are joined two by two, each time those that lose least, compiled by numba.

The information that clusters keep is Σ f(n_ij) − Σ f(n_i·) − Σ f(n_·j) up to a constant, where n_ij is how often
cluster j follows cluster i, and f(n) = n log n. To join i and j loses g(n_i·, n_j·) + g(n_·i, n_·j), but for every
neighbour k it keeps g(n_ik, n_jk) + g(n_ki, n_kj), where g(x, y) = f(x + y) − f(x) − f(y), which is 0 where x or y is.
Sums of that are kept for all pairs (Liang 2005), and a rare word changes those of its few neighbours alone. f is
rounded to whole steps, so that sums are exact whatever their order.
"""

from __future__ import annotations

from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from trellex.trellis.compilation import compiled_with

STEPS = 1 << 20  # of f in a nat
TABLE = 1 << 16  # values of f that are looked up

compiled = compiled_with(nogil=True, error_model="numpy")


class Clusters(NamedTuple):
    """Clusters that may be joined, each in a place, as compiled code takes them. S places, V words.

    A node is a word, or what two others were joined to: V and above, in their order.
    """

    follow: NDArray[np.int32]  # how often one follows another: n of left and right  [S, S]
    precede: NDArray[np.int32]  # the same transposed  [S, S]
    totals: NDArray[np.int64]  # of their rows  [2, S]
    kept: NDArray[np.int64]  # the sum of g(n_ik, n_jk) + g(n_ki, n_kj) over all k  [S, S]
    losses: NDArray[np.int64]  # of information, were two joined  [S, S]
    nearest: NDArray[np.int64]  # with which the loss is least, −1 where that must be looked for  [S]
    is_changed: NDArray[np.bool_]  # whether losses must be computed again  [S]
    nodes: NDArray[np.int64]  # of the tree, −1 where a place is free  [S]
    above: NDArray[np.int64]  # a node that this one is part of, itself for a whole cluster  [2 V]
    places: NDArray[np.int64]  # of nodes that are whole clusters  [2 V]
    joined: NDArray[np.int64]  # the two nodes of each further one  [V, 2]
    table: NDArray[np.int64]  # f of small numbers


class Links(NamedTuple):
    """The neighbours of words on one side, and how often each is one."""

    begins: NDArray[np.int64]  # [V + 1]
    words: NDArray[np.int64]  # [P]
    counts: NDArray[np.int64]  # [P]


def no_clusters(size: int, words: int) -> Clusters:
    numbers = np.arange(1, TABLE)
    return Clusters(
        follow=np.zeros((size, size), np.int32),
        precede=np.zeros((size, size), np.int32),
        totals=np.zeros((2, size), np.int64),
        kept=np.zeros((size, size), np.int64),
        losses=np.zeros((size, size), np.int64),
        nearest=np.full(size, -1),
        is_changed=np.ones(size, bool),
        nodes=np.full(size, -1),
        above=np.arange(2 * words),
        places=np.full(2 * words, -1),
        joined=np.zeros((words, 2), np.int64),
        table=np.append(0, np.rint(numbers * np.log(numbers) * STEPS)).astype(np.int64),
    )


@compiled
def join_words(clusters, right_links, left_links, first, last):
    """Let some words make a cluster each, and join two whenever there is no free place left."""
    for word in range(first, last):
        place = 0
        while clusters.nodes[place] >= 0:
            place += 1
        _enter(clusters, word, place, right_links, left_links)
        if word + 1 >= len(clusters.nodes):
            _join_best(clusters, len(clusters.joined) + word + 1 - len(clusters.nodes))


@compiled
def join_rest(clusters, words):
    for time in range(max(0, words + 1 - len(clusters.nodes)), words - 1):
        _join_best(clusters, words + time)


@compiled
def _enter(clusters, word, place, right_links, left_links):
    """Let a word be a cluster, with those of its neighbours that are in one."""
    clusters.nodes[place] = word
    clusters.places[word] = place
    clusters.nearest[place] = -1
    for link in range(right_links.begins[word], right_links.begins[word + 1]):
        if right_links.words[link] <= word:
            other = clusters.places[_whole(clusters.above, right_links.words[link])]
            _count(clusters, place, other, right_links.counts[link])
    for link in range(left_links.begins[word], left_links.begins[word + 1]):
        if left_links.words[link] < word:
            other = clusters.places[_whole(clusters.above, left_links.words[link])]
            _count(clusters, other, place, left_links.counts[link])
    clusters.kept[place, :] = 0
    clusters.kept[:, place] = 0
    clusters.is_changed[place] = True
    _keep_new(clusters, clusters.follow, clusters.precede, place)
    _keep_new(clusters, clusters.precede, clusters.follow, place)


@compiled
def _whole(above, node):
    """The cluster that a node is part of."""
    while above[node] != node:
        above[node] = above[above[node]]
        node = above[node]
    return node


@compiled
def _count(clusters, left, right, count):
    clusters.follow[left, right] += count
    clusters.precede[right, left] += count
    clusters.totals[0, left] += count
    clusters.totals[1, right] += count


@compiled
def _keep_new(clusters, rows, columns, new):
    """Add what a new cluster keeps with others by its neighbours on one side, and what others keep by it."""
    kept, table = clusters.kept, clusters.table
    near = np.flatnonzero(rows[new])
    for k in near:
        clusters.is_changed[k] = True
        n = rows[new, k]
        for j in range(len(kept)):
            if columns[k, j] > 0 and j != new:
                more = _g(n, columns[k, j], table)
                kept[new, j] += more
                kept[j, new] += more
    for i in near:
        for j in near:
            if i != new and j != new and i != j:
                kept[i, j] += _g(rows[new, i], rows[new, j], table)


@compiled
def _join_best(clusters, node):
    """Join the two clusters whose loss is least: the one with fewer occurrences goes into the other's place."""
    for place in range(len(clusters.nodes)):
        if clusters.is_changed[place] and clusters.nodes[place] >= 0:
            _compute_losses(clusters, place)
    a, least = -1, 0
    for place in range(len(clusters.nodes)):
        if clusters.nodes[place] >= 0:
            if clusters.nearest[place] < 0:
                _find_nearest(clusters, place)
            loss = clusters.losses[place, clusters.nearest[place]]
            if a < 0 or loss < least:
                a, least = place, loss
    b = clusters.nearest[a]
    if clusters.totals[0, a] + clusters.totals[1, a] < clusters.totals[0, b] + clusters.totals[1, b]:
        a, b = b, a
    clusters.joined[node - len(clusters.joined), 0] = clusters.nodes[a]
    clusters.joined[node - len(clusters.joined), 1] = clusters.nodes[b]
    clusters.above[clusters.nodes[a]] = node
    clusters.above[clusters.nodes[b]] = node
    clusters.places[node] = a
    clusters.nodes[a], clusters.nodes[b] = node, -1
    _fold(clusters, clusters.follow, clusters.precede, a, b)
    _fold(clusters, clusters.precede, clusters.follow, a, b)
    clusters.totals[:, a] += clusters.totals[:, b]
    clusters.totals[:, b] = 0
    clusters.is_changed[a] = True
    for place in range(len(clusters.nodes)):
        if clusters.nearest[place] == b:
            clusters.nearest[place] = -1


@compiled
def _fold(clusters, rows, columns, a, b):
    """Add row b to row a, and change what pairs keep by that."""
    kept, table, size = clusters.kept, clusters.table, len(clusters.kept)
    near = np.flatnonzero(rows[b])
    for k in near:  # what a keeps with others by its neighbours
        clusters.is_changed[k] = True
        x, y = rows[a, k], rows[a, k] + rows[b, k]
        before = _f(x, table) - _f(y, table)
        for j in range(size):
            n = columns[k, j]
            if n > 0 and j != a and j != b:
                more = _f(y + n, table) - _f(x + n, table) + before
                kept[a, j] += more
                kept[j, a] += more
    for i in near:  # what others keep by having a, or b, as neighbour
        before = _f(rows[a, i], table) + _f(rows[b, i], table) - _f(rows[a, i] + rows[b, i], table)
        for j in range(size):
            x, y = rows[a, j], rows[b, j]
            if x + y > 0 and j != i and (y == 0 or i < j):
                more = before + _f(rows[a, i] + rows[b, i] + x + y, table) - _f(rows[a, i] + x, table)
                more += _f(x, table) + _f(y, table) - _f(x + y, table) - _f(rows[b, i] + y, table)
                kept[i, j] += more
                kept[j, i] += more
    rows[a] += rows[b]
    rows[b] = 0
    columns[:, a] += columns[:, b]
    columns[:, b] = 0


@compiled
def _compute_losses(clusters, i):
    """What it would lose to join a cluster with any other."""
    n, totals, table = clusters.follow, clusters.totals, clusters.table
    before = _f(totals[0, i], table) + _f(totals[1, i], table)
    nearest, least = -1, 0
    for j in range(len(clusters.nodes)):
        if j == i or clusters.nodes[j] < 0:
            continue
        loss = _f(totals[0, i] + totals[0, j], table) - _f(totals[0, j], table) - before
        loss += _f(totals[1, i] + totals[1, j], table) - _f(totals[1, j], table)
        loss -= clusters.kept[i, j] + _kept_between(n[i, i], n[i, j], n[j, i], n[j, j], table)
        clusters.losses[i, j] = loss
        clusters.losses[j, i] = loss
        if nearest < 0 or loss < least:
            nearest, least = j, loss
        if clusters.nearest[j] == i:
            clusters.nearest[j] = -1
        elif clusters.nearest[j] >= 0 and loss < clusters.losses[j, clusters.nearest[j]]:
            clusters.nearest[j] = i
    clusters.nearest[i] = nearest
    clusters.is_changed[i] = False


@compiled
def _kept_between(ii, ij, ji, jj, table):
    """What two clusters keep when their own four numbers become one, beyond what `kept` has of them."""
    if ij == 0 and ji == 0:
        return _g(ii, jj, table)
    halves = _f(ii + ij, table) + _f(ji + jj, table) + _f(ii + ji, table) + _f(ij + jj, table)
    return _f(ii + ij + ji + jj, table) + _f(ii, table) + _f(ij, table) + _f(ji, table) + _f(jj, table) - halves


@compiled
def _find_nearest(clusters, i):
    nearest, least = -1, 0
    for j in range(len(clusters.nodes)):
        if j != i and clusters.nodes[j] >= 0 and (nearest < 0 or clusters.losses[i, j] < least):
            nearest, least = j, clusters.losses[i, j]
    clusters.nearest[i] = nearest


@compiled
def _g(x, y, table):
    return _f(x + y, table) - _f(x, table) - _f(y, table) if x > 0 and y > 0 else 0


@compiled
def _f(n, table):
    return table[n] if n < len(table) else np.int64(np.rint(n * log(n) * STEPS))

"""Word translations t(target | source), learned from sentence pairs by IBM model 1 (Brown et al. 1993), compiled.

A table of all pairs of words that meet in a sentence would not fit memory. None is kept: with D_k the sum of t_k(w | s)
over the source words of a sentence, t_k(w | s) is the product over i < k of Σ 1 / D_i, where the sum is over all places
in which s meets w, each factor normalised over w. So a number for every target token and step is all that EM needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from trellex.arrays import as_count
from trellex.trellis.compilation import compiled_with

MOST_LINKS, MOST_WORDS = 1 << 24, 1 << 12  # of source words that are looked at together

Ints = NDArray[Any]
Report = Callable[[int, int], None]  # how much is done, and of how much

compiled = compiled_with(nogil=True, error_model="numpy")


class WordTranslations(NamedTuple):
    """The best translations of every source word, the most probable first; those of NULL, that is of no word, last."""

    words: NDArray[np.uint32]  # of all source words, one after another  [T]
    probabilities: NDArray[np.float32]  # t(word | source word)  [T]
    ends: NDArray[np.int64]  # where those of a source word end  [source size + 1]


class Text(NamedTuple):
    """Sentence pairs, as compiled code takes them."""

    meetings: NDArray[np.int32]  # the sentences of every source word, one word after another, NULL last  [M]
    first_meetings: NDArray[np.int64]  # where those of a word begin  [source size + 2]
    targets: NDArray[np.uint32]  # the target words of all sentences  [tokens]
    first_targets: NDArray[np.int64]  # where those of a sentence begin  [N + 1]


def word_translations(
    source: Ints,
    source_lengths: Ints,
    target: Ints,
    target_lengths: Ints,
    *,
    source_size: int,
    target_size: int,
    best: int = 100,
    steps: int = 5,
    report: Report = lambda done, total: None,
) -> WordTranslations:
    """The best translations of each source word by some steps of EM, from equal probabilities on.

    Every target word comes from one of the words of its source sentence, or from NULL. A word that never meets a target
    word has no translations. Memory is that of the text, and 4 bytes more for every target token and step.

    Args:
        source, target: word ids of all sentences, one after another  [tokens]
        source_lengths, target_lengths: of the sentences  [N]
        source_size, target_size: how many words there are
        best: the most translations of a word
        steps: of EM
        report: called now and then; what it raises ends the work
    """
    best, steps = as_count(best, "best"), as_count(steps, "steps")
    text = _arranged(source, source_lengths, target, target_lengths, source_size)
    portions, links = _portions(text)
    done, total = 0, links * steps
    inverses = np.empty((len(target), steps), np.float32)  # 1 / D of each step
    inverses[:, 0] = np.repeat(1 / (source_lengths + 1), target_lengths)  # all probabilities are equal
    room = np.zeros((target_size, steps)), np.zeros(target_size), np.empty(target_size, np.int64)
    for step in range(1, steps):
        sums = np.zeros(len(target), np.float32)
        for first, last, size in portions:
            _add_probabilities(*text, inverses, step, *room, first, last, sums)
            done += size
            report(done, total)
        np.divide(1, sums, out=inverses[:, step])
    found: list[tuple[Ints, ...]] = []
    for first, last, size in portions:
        width = min(best, target_size)
        words, probabilities = np.empty((last - first, width), np.uint32), np.empty((last - first, width), np.float32)
        counts = np.empty(last - first, np.int64)
        _best_translations(*text, inverses, steps, *room, first, last, words, probabilities, counts)
        is_one = np.arange(width) < counts[:, None]
        found.append((words[is_one], probabilities[is_one], counts))
        done += size
        report(done, total)
    words, probabilities, counts = (np.concatenate(column) for column in zip(*found, strict=True))
    return WordTranslations(words, probabilities, counts.cumsum())


def _arranged(source: Ints, source_lengths: Ints, target: Ints, target_lengths: Ints, source_size: int) -> Text:
    sentences = np.arange(len(source_lengths), dtype=np.int32)
    meetings = np.repeat(sentences, source_lengths)[np.argsort(source, kind="stable")]
    counts = np.append(np.bincount(source, minlength=source_size), len(sentences))  # NULL is in every sentence
    return Text(
        np.concatenate((meetings, sentences)),
        np.append(0, counts.cumsum()),
        np.asarray(target, np.uint32),
        np.append(0, np.cumsum(target_lengths)),
    )


def _portions(text: Text) -> tuple[list[tuple[int, int, int]], int]:
    """Source words to look at together, from one to another, with how many links they have; and those of all."""
    links = np.append(0, np.diff(text.first_targets)[text.meetings].cumsum())[text.first_meetings]

    def portions() -> Iterator[tuple[int, int, int]]:
        first, end = 0, len(links) - 1
        while first < end:
            far = int(np.searchsorted(links, links[first] + MOST_LINKS, "right")) - 1
            last = max(first + 1, min(far, first + MOST_WORDS, end))
            yield first, last, int(links[last] - links[first])
            first = last

    return list(portions()), int(links[-1])


@compiled
def _add_probabilities(
    meetings, first_meetings, targets, first_targets, inverses, step, factors, probabilities, seen, first, last, sums
):
    """Add t_step(target | word) of some source words to D of every token that they meet. -> sums [tokens]"""
    for word in range(first, last):
        own = meetings[first_meetings[word] : first_meetings[word + 1]]
        count = _translate(own, targets, first_targets, inverses, step, factors, probabilities, seen)
        for sentence in own:
            for token in range(first_targets[sentence], first_targets[sentence + 1]):
                sums[token] += probabilities[targets[token]]
        _clear(seen[:count], factors, probabilities)


@compiled
def _best_translations(
    meetings,
    first_meetings,
    targets,
    first_targets,
    inverses,
    steps,
    factors,
    probabilities,
    seen,
    first,
    last,
    words,
    best,
    counts,
):
    """The most probable targets of some source words, of equals the more frequent one first. -> [last − first, N]"""
    for word in range(first, last):
        own = meetings[first_meetings[word] : first_meetings[word + 1]]
        count = _translate(own, targets, first_targets, inverses, steps, factors, probabilities, seen)
        candidates = np.sort(seen[:count])
        order = np.argsort(-probabilities[candidates], kind="mergesort")[: words.shape[1]]
        counts[word - first] = len(order)
        for rank in range(len(order)):
            words[word - first, rank] = candidates[order[rank]]
            best[word - first, rank] = probabilities[candidates[order[rank]]]
        _clear(candidates, factors, probabilities)


@compiled
def _translate(own, targets, first_targets, inverses, step, factors, probabilities, seen):
    """t_step(target | word) of a source word that is in these sentences. Returns how many targets it meets.

    own [meetings] -> probabilities [target size], seen: those targets; factors: room, all 0  [target size, steps]
    """
    count = 0
    for sentence in own:
        for token in range(first_targets[sentence], first_targets[sentence + 1]):
            target = targets[token]
            if probabilities[target] == 0:
                probabilities[target] = 1
                seen[count] = target
                count += 1
            for place in range(step):
                factors[target, place] += inverses[token, place]
    for place in range(step):
        total = 0.0
        for target in seen[:count]:
            probabilities[target] *= factors[target, place]
            total += probabilities[target]
        for target in seen[:count]:
            probabilities[target] /= total
    return count


@compiled
def _clear(seen, factors, probabilities):
    for target in seen:
        probabilities[target] = 0
        factors[target, :] = 0

"""Bootstrap: how far token BLEU may be trusted, from sentences that are drawn again and again.

Koehn, *Statistical Significance Tests for Machine Translation Evaluation* (EMNLP 2004). Sentences are drawn, and
intervals and p-values defined, as in sacreBLEU, but from statistics of sentences: no text is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sacrebleu.metrics.bleu import BLEU

from trellex.evaluation.bleu import check_numbers

STATISTICS = 10  # of a sentence: tokens of translation and reference, right 1- to 4-grams, all 1- to 4-grams
SMOOTHING = "exp"  # sacreBLEU's default, hence token_bleu's


class Interval(NamedTuple):
    """Where 95 % of the scores lie, in percent."""

    low: float
    high: float


class Paired(NamedTuple):
    """How much higher the BLEU of one system is than that of another.

    Attributes:
        difference: ours − theirs, in percent
        low, high: where 95 % of the differences lie
        p_value: as sacreBLEU defines it, see `paired_bootstrap`
    """

    difference: float
    low: float
    high: float
    p_value: float


def sentence_statistics(hypotheses: Sequence[str], references: Sequence[str]) -> list[list[int]]:
    """What token_bleu counts in every sentence, in sacreBLEU's order. lines [S] -> [S, 10]

    Those are the tokens of translation and reference, the right 1- to 4-grams, and all 1- to 4-grams.
    """
    check_numbers(hypotheses, references)
    metric = BLEU(tokenize="none", lowercase=True, force=True, effective_order=True)  # the order changes no counts
    scores = [metric.sentence_score(ours, [theirs]) for ours, theirs in zip(hypotheses, references, strict=True)]
    return [[score.sys_len, score.ref_len, *score.counts, *score.totals] for score in scores]


def bleu_of(statistics: ArrayLike) -> float:
    """Token BLEU of sentences together, in percent. statistics [S, 10]"""
    tokens, expected, *ngrams = _checked(statistics, "statistics").sum(0).tolist()
    return BLEU.compute_bleu(ngrams[:4], ngrams[4:], tokens, expected, smooth_method=SMOOTHING).score


def bootstrap(statistics: ArrayLike, resamples: int = 1000, seed: int = 12345) -> Interval:
    """The 95 % interval of token BLEU. statistics [S, 10]"""
    statistics = _checked(statistics, "statistics")
    return _interval(_scores(_resampled(statistics, resamples, seed)))


def paired_bootstrap(ours: ArrayLike, theirs: ArrayLike, resamples: int = 1000, seed: int = 12345) -> Paired:
    """Compare the token BLEU of two systems on the same sentences. ours, theirs [S, 10]

    The p-value is sacreBLEU's, the share of resamples in which the size of the difference is above its mean by at least
    the difference seen. Sizes have no sign, but only the larger ones count: if resamples agree on the better system,
    this is one tail, about half of a two-sided p-value. Systems that never differ have 1.
    """
    ours, theirs = _checked(ours, "ours"), _checked(theirs, "theirs")
    if len(ours) != len(theirs):
        raise ValueError(f"theirs: expected the statistics of {len(ours)} sentences, as ours has, got {len(theirs)}")
    sums = _resampled(np.concatenate([ours, theirs], 1), resamples, seed)
    differences = _scores(sums[:, :STATISTICS]) - _scores(sums[:, STATISTICS:])
    difference = bleu_of(ours) - bleu_of(theirs)
    sizes = np.abs(differences)
    as_large = int((sizes - sizes.mean() >= abs(difference)).sum())
    return Paired(difference, *_interval(differences), (as_large + 1) / (resamples + 1))


def _checked(statistics: Any, name: str) -> NDArray[np.int64]:
    """-> [S, 10]"""
    array = np.asarray(statistics, np.int64)
    if array.ndim != 2 or array.shape[1] != STATISTICS or len(array) == 0:
        raise ValueError(f"{name}: expected {STATISTICS} numbers for each of at least 1 sentence, got {array.shape}")
    return array


def _resampled(statistics: NDArray[np.int64], resamples: int, seed: int) -> NDArray[np.int64]:
    """The sums over the sentences of each resample. [S, C] -> [R, C]"""
    if resamples < 1:
        raise ValueError(f"resamples: expected at least 1, got {resamples}")
    return np.stack([times @ statistics for times in _draws(len(statistics), resamples, seed)])


def _draws(sentences: int, resamples: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """How often each sentence is in each resample, of which one is in memory at a time. -> [S], R times"""
    random = np.random.default_rng(seed)
    for _ in range(resamples):
        yield np.bincount(random.integers(sentences, size=sentences), minlength=sentences)


def _scores(sums: NDArray[np.int64]) -> NDArray[np.float64]:
    """`bleu_of` for many sums of statistics at once. sums [R, 10] -> [R]"""
    tokens, expected, right, every = sums[:, 0], sums[:, 1], sums[:, 2:6], sums[:, 6:]
    defined = right.any(-1) & every.all(-1)
    smoothed = 0.5 ** np.cumsum(right == 0, -1)  # the first order without a match has half of one, the next a quarter
    precisions = np.where(right == 0, smoothed, right) / np.maximum(every, 1)
    brevity = np.minimum(1 - expected / np.maximum(tokens, 1), 0)
    scores: NDArray[np.float64] = np.where(defined, 100 * np.exp(brevity + np.log(precisions).mean(-1)), 0)
    return scores


def _interval(values: NDArray[np.float64]) -> Interval:
    """values [R], a fortieth of which is left out at either end"""
    left_out = len(values) // 40
    ordered = np.sort(values)
    return Interval(float(ordered[left_out]), float(ordered[-1 - left_out]))

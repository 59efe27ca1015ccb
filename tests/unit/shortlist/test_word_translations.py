"""Translations of words, compared with IBM model 1 as textbooks have it, in double precision and with a table."""

from collections import defaultdict

import numpy as np
import pytest

from trellex.shortlist import word_translations as module
from trellex.shortlist.word_translations import word_translations

SIZES = {"source_size": 9, "target_size": 8}
NULL = SIZES["source_size"]
CORPORA = {
    "one word": [([3], [5])],
    "words in turn": [([3, 4], [3, 4]), ([3, 5], [3, 5]), ([4], [4])],
    "repeated words": [([3, 3, 3, 4], [5, 5, 6]), ([4, 4], [6]), ([3], [5, 5])],
    "empty sentences": [([], [3, 4]), ([3, 4], []), ([], []), ([3], [3])],
    "nothing else": [([], [])],
    "unknown words": [([0, 3], [0, 3]), ([0], [0])],
}
RANDOM = np.random.default_rng(0)
for number in range(4):
    lengths = RANDOM.integers(0, 7, (30, 2))
    CORPORA[f"random {number}"] = [
        (RANDOM.integers(0, SIZES["source_size"], s).tolist(), RANDOM.integers(0, SIZES["target_size"], t).tolist())
        for s, t in lengths
    ]


def by_the_book(pairs, steps):
    """t[source, target], by expected counts."""
    t = defaultdict(lambda: 1.0)
    for _ in range(steps):
        counts, totals = defaultdict(float), defaultdict(float)
        for source, target in pairs:
            sources = [*source, NULL]
            for word in target:
                total = sum(t[s, word] for s in sources)
                for s in sources:
                    counts[s, word] += t[s, word] / total
                    totals[s] += t[s, word] / total
        t = defaultdict(float, {(s, word): count / totals[s] for (s, word), count in counts.items()})
    return t


def learned(pairs, **options):
    """Words and probabilities of every source word."""
    columns = []
    for side in zip(*pairs, strict=True):
        columns += [np.array([word for words in side for word in words], np.int64), np.array(list(map(len, side)))]
    found = word_translations(*columns, **SIZES | options)
    begins = np.append(0, found.ends)
    assert len(found.ends) == NULL + 1
    slices = [slice(*begins[word : word + 2]) for word in range(NULL + 1)]
    return [(found.words[each].tolist(), found.probabilities[each]) for each in slices]


@pytest.mark.parametrize("steps", [1, 2, 5, 12])
@pytest.mark.parametrize("pairs", CORPORA.values(), ids=CORPORA)
def test_probabilities_are_those_of_the_book(pairs, steps):
    expected = by_the_book(pairs, steps)
    for word, (targets, probabilities) in enumerate(learned(pairs, steps=steps)):
        assert sorted(targets) == sorted(target for source, target in expected if source == word)
        np.testing.assert_allclose(probabilities, [expected[word, each] for each in targets], rtol=1e-4, atol=1e-7)
        assert (np.diff(probabilities) <= 0).all()
        if targets:
            assert probabilities.sum() == pytest.approx(1, abs=1e-5)


def test_only_the_best_are_kept():
    pairs = CORPORA["random 0"]
    for (targets, probabilities), (kept, of_kept) in zip(learned(pairs), learned(pairs, best=3), strict=True):
        assert kept == targets[:3]
        assert np.array_equal(of_kept, probabilities[:3])


def test_of_equals_the_more_frequent_is_first():
    assert learned([([3], [7, 4, 6])], steps=1)[3][0] == [4, 6, 7]


def test_portions_change_nothing(monkeypatch):
    pairs, reports = CORPORA["random 1"], []
    whole = learned(pairs)
    monkeypatch.setattr(module, "MOST_LINKS", 20)
    monkeypatch.setattr(module, "MOST_WORDS", 2)
    parts = learned(pairs, report=lambda done, total: reports.append((done, total)))
    for (words, probabilities), (others, of_others) in zip(whole, parts, strict=True):
        assert words == others
        np.testing.assert_allclose(probabilities, of_others, rtol=1e-6)
    links = sum((len(source) + 1) * len(target) for source, target in pairs)
    assert len(reports) > 20
    assert reports == sorted(reports)
    assert reports[-1] == (5 * links, 5 * links)


@pytest.mark.parametrize("name", ["best", "steps"])
def test_numbers_that_are_none(name):
    with pytest.raises(ValueError, match=f"{name}: expected a whole number of at least 1, got 0"):
        learned(CORPORA["one word"], **{name: 0})

"""Shortlists for the small models of `model_of`."""

import numpy as np
import pytest

from trellex.shortlist.shortlist import Shortlist


@pytest.fixture(scope="session")
def shortlist_for():
    """Makes one of random lists for the vocabularies of a model; with `each` = None, of all words."""

    def shortlist_for(loaded, each=3, frequent=5, seed=0):
        source, target = loaded.source_vocabulary, loaded.target_vocabulary
        if each is None:
            return Shortlist.of(source, target, np.zeros(len(source) + 1, np.int64), np.array([]), len(target))
        random = np.random.default_rng(seed)
        lists = [random.choice(len(target), random.integers(0, each + 1), replace=False) for _ in range(len(source))]
        lists.append(np.array([7]))  # NULL's
        ends = np.cumsum([len(words) for words in lists])
        return Shortlist.of(source, target, ends, np.concatenate(lists), frequent)

    return shortlist_for

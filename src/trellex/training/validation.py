"""Validation: translate a held-out split and score it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.evaluation import token_bleu
from trellex.nmt.model import TranslationModel
from trellex.search import Model, SearchSettings, in_batches
from trellex.text.corpus import Corpus

GREEDY = SearchSettings()


def translate_ids(
    model: Model,
    sources: Sequence[NDArray[Any]],
    how: SearchSettings = GREEDY,
    batch_tokens: int = 8192,
) -> list[list[int]]:
    """The best translations in the order of the sources; empty ones stay empty.

    batch_tokens: hypotheses × source words side by side, at most
    """
    random = np.random.default_rng()
    with model.inference():
        found = in_batches(
            lambda batch: how.search(model, batch, random, scores=False), batch_tokens // how.beam, sources
        )
    return [best[0].words if best else [] for best in found]


def translate_split(
    model: Model,
    corpus: Corpus,
    name: str,
    how: SearchSettings = GREEDY,
    sources: Sequence[NDArray[Any]] | None = None,
) -> list[list[str]]:
    """The best translations of dev or test in their order, as the words that token BLEU compares.

    sources: ids of their sentences, if they shall be others than those of known words
    """
    split = corpus.split(name)
    translations = translate_ids(model, sources or [split.source(row) for row in range(len(split))], how)
    tokens = (corpus.target_vocabulary.tokens(np.array(words, np.int64)) for words in translations)
    return list(map(corpus.target_words, tokens))


def split_bleu(model: TranslationModel, corpus: Corpus, name: str) -> float:
    """Case-insensitive token BLEU of dev or test by greedy search, in percent: that of words, also of pieces."""
    hypotheses = [" ".join(words) for words in translate_split(model, corpus, name)]
    return token_bleu(hypotheses, [" ".join(words) for words in corpus.split(name).target_tokens]).score


def corpus_bleu(model: TranslationModel, corpus: Corpus) -> dict[str, float]:
    """That of dev and, where there is such a split, of test, by name."""
    names = [name for name in ("dev", "test") if name in corpus.manifest.settings.splits()]
    return {name: split_bleu(model, corpus, name) for name in names}

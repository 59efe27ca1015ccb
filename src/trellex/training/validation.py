"""Validation: translate a held-out split and score it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.evaluation import token_bleu
from trellex.nmt.model import TranslationModel
from trellex.search import SearchSettings, in_batches
from trellex.text.corpus import Corpus, ParallelIds
from trellex.text.vocabulary import Vocabulary

GREEDY = SearchSettings()


def translate_ids(
    model: TranslationModel,
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
    model: TranslationModel, split: ParallelIds, vocabulary: Vocabulary, how: SearchSettings = GREEDY
) -> list[list[str]]:
    """The tokens of the best translations, in the order of the split."""
    translations = translate_ids(model, [split.source(row) for row in range(len(split))], how)
    return [vocabulary.tokens(np.array(words, np.int64)) for words in translations]


def split_bleu(model: TranslationModel, split: ParallelIds, vocabulary: Vocabulary) -> float:
    """Case-insensitive token BLEU of a split by greedy search, in percent."""
    hypotheses = [" ".join(tokens) for tokens in translate_split(model, split, vocabulary)]
    return token_bleu(hypotheses, [" ".join(tokens) for tokens in split.target_tokens]).score


def corpus_bleu(model: TranslationModel, corpus: Corpus) -> dict[str, float]:
    """That of dev and, where there is such a split, of test, by name."""
    names = [name for name in ("dev", "test") if name in corpus.manifest.settings.splits()]
    return {name: split_bleu(model, corpus.split(name), corpus.target_vocabulary) for name in names}

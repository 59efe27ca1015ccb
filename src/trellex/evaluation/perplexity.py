"""Perplexity: among how many words a model is in doubt, on average, when it knows a reference up to each word."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from trellex.search import in_batches
from trellex.text.batches import flat, pad
from trellex.text.vocabulary import EOS

if TYPE_CHECKING:  # exported models are scored without torch
    from trellex.nmt.model import TranslationModel
    from trellex.text.corpus import ParallelIds

MOST = 700.0  # mean of −log P, so that its exp is a number


def perplexity(log_prob: float, words: int) -> float:
    """exp of the mean −log P. log_prob: log P of all words together"""
    return math.exp(min(-log_prob / words, MOST))


def split_perplexity(
    model: TranslationModel, pairs: ParallelIds, batch_tokens: int = 2048, words: Sequence[int] | None = None
) -> float | None:
    """That of the references of a split, EOS included, unknown words as UNK; None if there is nothing to predict.

    The words of a sentence are predicted side by side, each from the reference's words before it. Pairs with an empty
    source are left out.

    Args:
        pairs: sentences with their references
        batch_tokens: the most source words to read side by side, and the most words to predict
        words: how many each reference has, if the model predicts pieces and the perplexity of words is asked for  [N]
    """
    import torch

    from trellex.nmt.model import PADDING, target_pair

    def log_probs(sources: Sequence[NDArray[Any]], targets: Sequence[NDArray[Any]]) -> list[float]:
        """log P of each sentence."""
        arrays = (pad(sources, EOS), *target_pair(*flat(targets)))
        source, read, predict = (torch.from_numpy(ids).to(model.device) for ids in arrays)
        hidden = model.network(source, torch.tensor([len(each) for each in sources]), read)
        is_word = predict != PADDING
        parts = zip(*(torch.split(each[is_word], batch_tokens) for each in (hidden, predict)), strict=True)
        of_words = torch.cat([model.head.log_prob(*part).double() for part in parts])
        found: list[float] = of_words.new_zeros(predict.shape).masked_scatter(is_word, of_words).sum(-1).tolist()
        return found

    sources, targets = ([side(row) for row in range(len(pairs))] for side in (pairs.source, pairs.target))
    with model.inference():
        scored = in_batches(log_probs, batch_tokens, sources, targets)
    lengths = words or map(len, targets)
    counted = [(found, length + 1) for found, length in zip(scored, lengths, strict=True) if found is not None]
    return perplexity(*map(sum, zip(*counted, strict=True))) if counted else None

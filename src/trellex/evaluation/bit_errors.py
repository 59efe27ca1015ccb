"""Bit errors: how many of the predicted bits are wrong, and how many the error-correcting code leaves wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trellex.search import in_batches, score
from trellex.trellis import CompleteCode

if TYPE_CHECKING:  # a report reads such errors without torch
    from torch import Tensor

    from trellex.heads.code_distribution import CodeDistribution
    from trellex.nmt.model import SearchState, TranslationModel
    from trellex.text.corpus import ParallelIds


@dataclass(frozen=True)
class BitErrors:
    """How often bits are wrong when the words before are the reference's.

    Attributes:
        predictions: words that the bits were asked for
        before: the share of wrong bits of the code words, each bit read on its own
        after: the share of wrong bits of the words that the head decodes
        words: the share of words that have a wrong bit after decoding
    """

    predictions: int
    before: float
    after: float
    words: float


def bit_errors(model: TranslationModel, pairs: ParallelIds, batch_tokens: int = 4096) -> BitErrors | None:
    """The errors of the output layer's bits on a split; None if it has no bits that could be wrong one by one.

    Bits are asked for every word that they may spell, EOS included: those of a hybrid head for the rare words alone,
    whatever its softmax says. Pairs with an empty source are left out.

    Args:
        pairs: sentences with their references
        batch_tokens: the most source words to read side by side
    """
    import torch

    layer = model.head.bits
    if layer is None or isinstance(layer.ecc, CompleteCode):
        return None
    predictions, wrong = 0, np.zeros(3, np.int64)

    def observe(state: SearchState, words: NDArray[np.int64]) -> None:
        nonlocal predictions, wrong
        rows = np.flatnonzero(words >= layer.first_rare)
        if len(rows):
            rows_there, words_there = (torch.from_numpy(x).to(model.device) for x in (rows, words[rows]))
            predictions += len(rows)
            wrong += _wrong(layer, state.hidden[rows_there], words_there)

    sources, targets = ([side(row) for row in range(len(pairs))] for side in (pairs.source, pairs.target))
    with model.inference():
        in_batches(lambda batch, given: score(model, batch, given, observe), batch_tokens, sources, targets)
    asked = predictions * np.array([layer.length, layer.code.num_bits, 1])
    return BitErrors(predictions, *(wrong / np.maximum(asked, 1)).tolist())


def _wrong(layer: CodeDistribution, h: Tensor, words: Tensor) -> NDArray[np.int64]:
    """Wrong bits of the code words, wrong bits of the decoded words, wrong words. h [T, H], words [T] -> [3]"""
    logits, log_weights = layer.outputs(h)
    likeliest = log_weights.argmax(-1)[:, None, None]
    before = (logits.take_along_dim(likeliest, 1)[:, 0] > 0) != layer.redundant_bits(words)  # [T, L]
    after = layer.decoded_bits(h).to(h.device) != layer.code.bits(words - layer.offset)  # [T, B]
    return np.array([before.sum().item(), after.sum().item(), after.any(-1).sum().item()])

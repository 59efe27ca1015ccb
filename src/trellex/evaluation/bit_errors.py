"""Bit errors: how many of the predicted bits are wrong, and how many the error-correcting code leaves wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from trellex.arrays import sigmoid
from trellex.search import in_batches, score

if TYPE_CHECKING:  # a report reads such errors without torch
    from torch import Tensor

    from trellex.heads.bits import BitLayer
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
    """The errors of the output layer's bits on a split; None if it has no bits.

    A binary head's bits are asked for every word and EOS, those of a hybrid head for the rare words alone, whatever its
    softmax says. Pairs with an empty source are left out.

    Args:
        pairs: sentences with their references
        batch_tokens: the most source words to read side by side
    """
    import torch

    from trellex.heads import BinaryHead, HybridHead

    head = model.head
    if not isinstance(head, BinaryHead | HybridHead):
        return None
    first, offset = (head.other, head.offset) if isinstance(head, HybridHead) else (0, 0)
    predictions, wrong = 0, np.zeros(3, np.int64)

    def observe(state: SearchState, words: NDArray[np.int64]) -> None:
        nonlocal predictions, wrong
        rows = np.flatnonzero(words >= first)
        if len(rows):
            rows_there, words_there = (torch.from_numpy(x).to(model.device) for x in (rows, words[rows] - offset))
            predictions += len(rows)
            wrong += _wrong(head.bits, state.hidden[rows_there], words_there)

    sources, targets = ([side(row) for row in range(len(pairs))] for side in (pairs.source, pairs.target))
    with model.inference():
        in_batches(lambda batch, given: score(model, batch, given, observe), batch_tokens, sources, targets)
    asked = predictions * np.array([head.bits.spelling.length, head.bits.spelling.code.num_bits, 1])
    return BitErrors(predictions, *(wrong / np.maximum(asked, 1)).tolist())


def _wrong(layer: BitLayer, h: Tensor, words: Tensor) -> NDArray[np.int64]:
    """Wrong bits of the code words, wrong bits of the decoded words, wrong words. h [T, H], words [T] -> [3]"""
    logits, log_weights = layer.outputs(h)
    likeliest = log_weights.argmax(-1)[:, None, None]
    alone = logits.take_along_dim(likeliest, 1)[:, 0] > 0  # [T, L]
    before = alone != layer.spelling.redundant_bits(words)
    after = _decoded_bits(layer, logits.double(), log_weights) != layer.spelling.code.bits(words)  # [T, B]
    return np.array([before.sum().item(), after.sum().item(), after.any(-1).sum().item()])


def _decoded_bits(layer: BitLayer, logits: Tensor, log_weights: Tensor) -> Tensor:
    """What the layer's own decoding reads, in the paper's be it a word's or not. [T, K, L], [T, K] -> [T, B]"""
    spelling = layer.spelling
    bits: Tensor
    if layer.decoding == "paper":
        bits = spelling.ecc.decode(sigmoid(logits[:, 0]))
    else:
        bits = spelling.code.bits(spelling.topk(logits, log_weights, 1)[0][:, 0])
    return bits

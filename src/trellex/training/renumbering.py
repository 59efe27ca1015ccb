"""Renumbering: words exchange their numbers in the course of training, to have those that suit what the network says.

The loss of a word is the log-sum of all words minus its own score, which is linear in its redundant bits. So what the
logits of all tokens with one target say for any number follows from their sum alone, and numbers can be assigned as
LightRNN does (Li et al. 2016): by matchings of least cost, here within small blocks of words, drawn anew a few times.
With logits as they are, the loss of the tokens that are looked at can but fall. Words that are not among those, of
which nothing is known, keep their numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from trellex.arrays import number_to_bits
from trellex.codes import Code, PermutedCode
from trellex.heads import Head
from trellex.heads.bits import BitLayer
from trellex.nmt.model import TranslationModel

BLOCK = 256  # words that exchange numbers with each other; the time of a matching grows with the cube of them
ROUNDS = 4  # of blocks, so that they gain about what one of blocks four times as large does, in less time
TOKENS = {"cpu": 1 << 19, "cuda": 1 << 22}  # to look at, about, by device, unless an epoch has fewer

Ints = NDArray[np.int64]
Steps = Callable[[Iterable[Any]], Iterable[Any]]  # the same things, or fewer


class Renumbered(NamedTuple):
    code: Code
    moved: int  # words that have another number than before
    gain: float  # nats a token, of those whose target has a number


def renumbered(
    model: TranslationModel,
    batches: Iterable[tuple[Tensor, ...]],
    random: np.random.Generator,
    watched: Steps = iter,
) -> Renumbered:
    """The code after an exchange.

    Args:
        model: whose head has numbered bits
        batches: source [N, S], lengths [N], target_in and target_out [N, T] of each
        random: which words are in a block
        watched: what batches and blocks go through, which may end them early
    """
    part = numbered_bits(model.head)
    size = part.code.vocab_size
    first = model.head.vocab_size - size  # the word whose number may be any below size
    sums, tokens = torch.zeros(size, part.length, device=model.device), 0
    with model.inference():
        for source, lengths, read, target in watched(batches):
            has_number = target >= first
            h, words = model.network(source, lengths, read)[has_number], target[has_number] - first
            sums.index_add_(0, words, part.outputs(h)[0][:, 0].to(sums))
            tokens += len(words)
    before = part.code.numbers(np.arange(size))
    after, gain = exchanged(before, sums.cpu().numpy(), partial(redundant_bits, part), random, watched)
    return Renumbered(PermutedCode(after), int((after != before).sum()), gain / max(1, tokens))


def numbered_bits(head: Head) -> BitLayer:
    """The part of a head whose words can exchange their numbers. Raises ValueError if there is none."""
    if not isinstance(head.bits, BitLayer) or head.bits.automaton is not None:
        raise ValueError(
            f"training.renumber_every: words of {head.spec.label} have no numbers without gaps, which alone can be "
            "exchanged; make it null, or choose another code"
        )
    return head.bits


def redundant_bits(part: BitLayer, numbers: Ints) -> Ints:
    """Those of numbers, whichever words have them. [n] -> [n, L]"""
    bits: Ints = part.ecc.encode(number_to_bits(numbers, part.code.num_bits))
    return bits


def exchanged(
    numbers: Ints,
    sums: NDArray[Any],
    bits_of: Callable[[Ints], Ints],
    random: np.random.Generator,
    watched: Steps = iter,
) -> tuple[Ints, float]:
    """The numbers of words after exchanges within blocks that let the sum of scores grow most, and by how much.

    A word without any logits, whose sum is 0 everywhere, takes no part.

    Args:
        numbers: of all words  [V]
        sums: of the logits of all tokens with this target  [V, L]
        bits_of: the redundant bits of numbers  [n] -> [n, L]
        random: which words are in a block
        watched: what blocks go through, which may end them early
    """
    from scipy.optimize import linear_sum_assignment  # takes a while to import

    numbers, gain = numbers.copy(), 0.0
    for block in watched(_blocks(np.flatnonzero(sums.any(-1)), random)):
        own = numbers[block]
        scores = sums[block] @ bits_of(own).astype(sums.dtype).T  # of every word with every number  [n, n]
        words, places = linear_sum_assignment(scores, maximize=True)
        numbers[block[words]] = own[places]
        gain += float(scores[words, places].sum() - scores.trace())
    return numbers, gain


def _blocks(words: Ints, random: np.random.Generator) -> Iterator[Ints]:
    """All words in every round, a block at a time."""
    for _ in range(ROUNDS):
        order = random.permutation(words)
        yield from (order[first : first + BLOCK] for first in range(0, len(order), BLOCK))

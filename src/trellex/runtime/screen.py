"""A screen: from 4 bits of every weight, what the logits of a layer do not exceed.

A large layer takes as long for one hidden state as its weights take to come from memory. The best word is found sooner
if most words can be told not to be it from a fraction of that. It needs CPUs that multiply 4 bits fast enough.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core.registry import cpu_target
from numpy.typing import NDArray

from trellex.runtime.kernels import BYTE, LANES, LEVELS

SURE = 6.0  # a logit exceeds its bound with a probability of at most exp(−SURE² / 2)
SEED = 20170730  # of the dither, the same each time

Floats = NDArray[Any]


def multiplies_quads() -> bool:
    """Whether numba compiles for CPUs with AVX-512 VNNI, which adds up four products of bytes at once."""
    _, _, features = cpu_target.target_context.codegen().magic_tuple()
    return "+avx512vnni" in features


def screen_of(weight: Floats, bias: Floats) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """The tables of `kernels.bound`.

    Weights are rounded to one of 15 levels after a dither of up to half a level was added, drawn at random for each
    unit, the same for all words, and taken off again after the multiplication. Whatever the weights, the errors of a
    word's units are then independent and uniform within half a level's width. As sinh x / x ≤ exp(x² / 6), Σ error · h
    exceeds k · |h| · width / √12 with a probability of at most exp(−k² / 2), unless weights or h were made to meet
    this dither. That h is rounded, too, adds at most half a step times Σ |level|.

    weight [W, H] -> levels as bytes with two units each [W / LANES, H / 8, LANES, 4]; the dither in levels [H and
    zeros]; the scales of sums of levels [W]; bias and what the rounding of h may add [W]; how much errors may add for
    |h| = 1 [W]
    """
    words, size = weight.shape
    widths = np.maximum(np.abs(weight).max(1), np.finfo(np.float32).tiny) / (LEVELS - 0.5)
    dither = np.random.default_rng(SEED).random(size, np.float32) - np.float32(0.5)
    levels = np.rint(weight / widths[:, None] + dither).astype(np.int8)
    padded = np.pad(levels + LEVELS, ((0, -words % LANES), (0, -size % 8))).astype(np.uint8)
    quads = padded.reshape(-1, LANES, padded.shape[1] // 8, 2, 4).transpose(3, 0, 2, 1, 4)
    ceilings = bias + widths * np.abs(levels).sum(1, dtype=np.int64) * (0.5 / BYTE)
    columns = np.stack([widths / BYTE, ceilings, widths * (SURE / 12**0.5)]).astype(np.float32)
    packed = np.ascontiguousarray(quads[0] | quads[1] << 4)
    return packed, np.pad(dither, (0, -size % 8)), columns[0], columns[1], columns[2]

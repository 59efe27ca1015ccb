"""The text of a corpus, so many sentences at once that memory stays bounded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trellex.text.parallel import Ids
from trellex.text.vocabulary import BOS, EOS

CHUNK = 1 << 21  # tokens counted together


def chunks(ids: NDArray[Any], lengths: Ids) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Words between BOS and EOS, and the sentence of each. ids [tokens], lengths [N] -> several of [T], [T]"""
    ends = np.cumsum(lengths)
    first = 0
    while first < len(lengths):
        start = ends[first] - lengths[first]
        last = max(first + 1, int(np.searchsorted(ends, start + CHUNK, "right")))
        of_chunk = lengths[first:last]
        begins = np.cumsum(of_chunk + 2) - of_chunk - 2
        words = np.empty(int(of_chunk.sum()) + 2 * len(of_chunk), np.int32)
        is_word = np.ones(len(words), bool)
        is_word[begins] = is_word[begins + of_chunk + 1] = False
        words[is_word] = ids[start : ends[last - 1]]
        words[begins], words[begins + of_chunk + 1] = BOS, EOS
        yield words, np.repeat(np.arange(len(of_chunk), dtype=np.int32), of_chunk + 2)
        first = last

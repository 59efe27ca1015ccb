"""Codes that are learned from a text: the numbers of words by their neighbours in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from trellex.codes import Code, PermutedCode
from trellex.heads.coded_spec import CodedSpec
from trellex.heads.spec import HeadSpec
from trellex.text.corpus import Corpus
from trellex.text.word_vectors import word_vectors

if TYPE_CHECKING:  # they bring torch
    from trellex.training.display import Display
    from trellex.training.processes import Processes

Report = Callable[[int, int], None]  # how many words are done, and of how many


def learned(code: str, corpus: Corpus, report: Report = lambda done, total: None) -> dict[str, Any]:
    """What a code is made of that needs a text, as `build_code` takes it: from the target side of the training text."""
    train = corpus.split("train")
    text = train.target_ids, train.target_lengths, len(corpus.target_vocabulary)
    if code == "clusters":
        return {"vectors": word_vectors(*text)}
    from trellex.text.brown import brown_order  # loads numba

    return {"order": brown_order(*text, report=report)}


def new_code(head: HeadSpec, corpus: Corpus, processes: Processes, display: Display) -> Code | None:
    """The code of a new training; None for a head whose code needs no text.

    The first process makes it and tells the others, for another machine may round differently.
    """
    code = head.stand_in(corpus.target_vocabulary)
    if code is None or not isinstance(head, CodedSpec):
        return None
    if processes.is_first:
        display.tell(f"numbering {code.vocab_size:,} words by {'Brown ' * (head.code == 'brown')}clusters")
        code = head.build_code(corpus.target_vocabulary, **learned(head.code, corpus))
    return told(code, processes)


def told(code: Code, processes: Processes) -> Code:
    """The code that the first process has."""
    numbers = processes.from_first(code.numbers(np.arange(code.vocab_size)))
    return PermutedCode(np.array(numbers, np.int64))

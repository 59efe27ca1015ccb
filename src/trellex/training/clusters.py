"""The code by clusters of a new training, from the words' neighbours in the training text."""

from __future__ import annotations

import numpy as np

from trellex.codes import Code, PermutedCode
from trellex.heads.spec import CodedSpec, HeadSpec
from trellex.text.corpus import Corpus
from trellex.text.word_vectors import word_vectors
from trellex.training.display import Display
from trellex.training.processes import Processes


def clusters(head: HeadSpec, corpus: Corpus, processes: Processes, display: Display) -> Code | None:
    """A code of the target words that the head has bits for; None for a head whose code is not clusters.

    The first process makes it and tells the others, for another machine may round differently.
    """
    vocabulary = corpus.target_vocabulary
    code = head.stand_in(vocabulary)
    if code is None or not isinstance(head, CodedSpec):
        return None
    if processes.is_first:
        display.tell(f"numbering {code.vocab_size:,} words by clusters")
        train = corpus.split("train")
        code = head.build_code(vocabulary, word_vectors(train.target_ids, train.target_lengths, len(vocabulary)))
    numbers = processes.from_first(code.numbers(np.arange(code.vocab_size)))
    return PermutedCode(np.array(numbers, np.int64))

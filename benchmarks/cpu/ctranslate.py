"""What else one would take to translate on a CPU: CTranslate2. Imports nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import ctranslate2


class Transformer:
    """A saved Transformer that translates greedily, one thread, translations of exactly so many words."""

    def __init__(self, folder: Path, length: int) -> None:
        self.translator = ctranslate2.Translator(
            str(folder), device="cpu", compute_type="int8", inter_threads=1, intra_threads=1
        )
        self.length = length

    def __call__(self, sentences: list[list[str]]) -> Iterator[list[str]]:
        """Sentences side by side in one batch."""
        found = self.translator.translate_batch(
            sentences, beam_size=1, min_decoding_length=self.length, max_decoding_length=self.length
        )
        return (result.hypotheses[0] for result in found)

"""The codes that composed word vectors are made from: a part of the model, like its weights. No torch."""

from __future__ import annotations

from typing import NamedTuple

from trellex.codes import Code, FrequencyCode
from trellex.nmt.settings import EmbeddingSettings


class WordCodes(NamedTuple):
    """Those of all source words and of all target words."""

    source: Code
    target: Code

    @classmethod
    def of(cls, settings: EmbeddingSettings, source_size: int, target_size: int) -> WordCodes:
        """Those that are known from the number of words alone. Raises ValueError if they are by clusters."""
        return cls(settings.build_code(source_size), settings.build_code(target_size))

    @classmethod
    def stand_in(cls, source_size: int, target_size: int) -> WordCodes:
        """Any of the same sizes."""
        return cls(FrequencyCode(source_size), FrequencyCode(target_size))

    @property
    def by_file(self) -> dict[str, Code]:
        """By the names of the files that models have for them."""
        return {code_file(side): code for side, code in self._asdict().items()}

    def check(self, source_size: int, target_size: int) -> WordCodes:
        """The same. Raises ValueError unless they are codes of so many words, whose numbers have no gaps."""
        for (side, code), size in zip(self._asdict().items(), (source_size, target_size), strict=True):
            check_words(code, size, side)
        return self


def check_words(code: Code, size: int, name: str = "code") -> Code:
    """The same. Raises ValueError unless it is a code of so many words, whose numbers have no gaps."""
    if code.vocab_size != size or code.automaton is not None:
        raise ValueError(f"{name}: expected a code of {size} words whose numbers have no gaps, got {code}")
    return code


def code_file(side: str) -> str:
    """The name of the file for the code of a side's words."""
    return f"code.{side}.json"


WORD_CODES = tuple(map(code_file, WordCodes._fields))

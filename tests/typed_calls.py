"""What a type checker knows of the public interface: never run, but checked by mypy with the source."""

from typing import assert_type

import trellex
from trellex import Translation, Translator


def translations(translator: Translator) -> None:
    assert_type(trellex.load("folder"), Translator)
    assert_type(translator.translate(["line"]), list[str])
    assert_type(translator.translate(["line"], 5, length_penalty=0.5, replace_unknown=True), list[str])
    assert_type(translator.translate(["line"], nbest=1, sample=True, seed=1), list[list[Translation]])
    assert_type(translator.translate(["line"], 5, 3), list[list[Translation]])
    assert_type(translator.translate(["line"], beam=5, nbest=3, attention=True)[0][0].text, str)

"""BLEU by sacreBLEU: of text, with a signature that others can repeat, and of tokens, as in the paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from sacrebleu.metrics.bleu import BLEU

from trellex.text.languages import CHINESE, UNSPACED


class Bleu(NamedTuple):
    """A score in percent and the signature that says how it was computed.

    `interval` is half the width of the 95 % confidence interval, where a bootstrap was asked for.
    """

    score: float
    signature: str
    interval: float | None = None


def text_bleu(hypotheses: Sequence[str], references: Sequence[str], language: str = "en", resamples: int = 0) -> Bleu:
    """BLEU of detokenised text, by sacreBLEU's own tokeniser for the language.

    Chinese has one of its own. Other languages without spaces between words are compared by characters, and so is
    Korean, whose particles stick to its words.
    """
    tokenizer = "zh" if language in CHINESE else "char" if language in UNSPACED | {"ko"} else "13a"
    return _bleu(BLEU(tokenize=tokenizer), hypotheses, references, resamples)


def token_bleu(hypotheses: Sequence[str], references: Sequence[str], resamples: int = 0) -> Bleu:
    """Case-insensitive BLEU of lines that are already tokenised, the paper's measure."""
    return _bleu(BLEU(tokenize="none", lowercase=True, force=True), hypotheses, references, resamples)


def _bleu(metric: BLEU, hypotheses: Sequence[str], references: Sequence[str], resamples: int) -> Bleu:
    check_numbers(hypotheses, references)
    if not references:
        raise ValueError("references: there is nothing to compare with: no lines")
    result = metric.corpus_score(list(hypotheses), [list(references)], n_bootstrap=resamples or 1)
    return Bleu(result.score, str(metric.get_signature()), result._ci if resamples else None)


def check_numbers(hypotheses: Sequence[Any], references: Sequence[Any]) -> None:
    """Raises ValueError unless there is a reference for each translation."""
    if len(hypotheses) != len(references):
        raise ValueError(f"hypotheses and references differ in number: {len(hypotheses)} and {len(references)} lines")

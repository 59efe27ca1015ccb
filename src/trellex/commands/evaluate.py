"""Measure BLEU."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from trellex.terminal import Json, errors_explained, examples, show

MAX_LINES, MAX_CHARACTERS = 1_000_000, 1 << 24  # all are in memory, and much that is counted in them
MAX_DRAWS = 1 << 26  # lines in all resamples, of which sacreBLEU holds some fifty bytes each


@examples("trellex evaluate translations.ja test.ja --language ja --baseline other.ja")
def evaluate(
    hypotheses: Annotated[Path, typer.Argument(help="Translations, one a line.")],
    references: Annotated[Path, typer.Argument(help="What they should be, line by line.")],
    language: Annotated[str, typer.Option(help="The language of the text, an ISO 639 code such as en.")] = "en",
    tokenizer: Annotated[
        str | None,
        typer.Option(
            help="What cuts the text for token BLEU: whitespace (it is cut already), moses, mecab or characters; "
            "unless given, mecab for Japanese, characters for others without spaces between words, moses for the rest."
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(help="Translations by another system, to compare token BLEU with, sentence by sentence."),
    ] = None,
    resamples: Annotated[int, typer.Option(min=0, help="Bootstrap samples for 95 % intervals; 0: none.")] = 1000,
    as_json: Json = False,
) -> None:
    """BLEU by sacreBLEU with its signature, and case-insensitive token BLEU as in the paper."""
    with errors_explained():
        from trellex.evaluation import text_bleu, token_bleu
        from trellex.evaluation.bootstrap import paired_bootstrap, sentence_statistics
        from trellex.text.languages import check_language
        from trellex.text.lines import read_lines, read_pairs
        from trellex.text.tokenizers import build_tokenizer, default_tokenizer, is_of_pieces

        check_language(language)
        if is_of_pieces(tokenizer or ""):
            raise ValueError(
                f"tokenizer: token BLEU is of words, not of pieces ({tokenizer}), so that models of both compare; "
                "give translations as text, and leave it out"
            )
        pairs = _some(read_pairs(hypotheses, references), f"{hypotheses}, {references}")
        if not pairs:
            raise ValueError(f"{references}: no lines to compare with")
        if baseline is not None and not resamples:
            raise ValueError("resamples: a baseline is compared by bootstrap; leave --resamples out")
        if resamples * len(pairs) > MAX_DRAWS:
            raise ValueError(
                f"resamples: {resamples:,} of {len(pairs):,} lines take too much memory; "
                f"give at most --resamples {MAX_DRAWS // len(pairs)}"
            )
        ours, theirs = zip(*pairs, strict=True)
        try:
            tokenize = build_tokenizer(tokenizer or default_tokenizer(language), language).tokenize
        except ImportError as error:
            raise ImportError(f"{error}, or --tokenizer whitespace if the text is cut already") from error

        def cut(lines: Iterable[str]) -> list[str]:
            return [" ".join(tokenize(line)) for line in lines]

        cut_ours, cut_theirs = cut(ours), cut(theirs)
        result: dict[str, Any] = {}
        for name, bleu in (
            ("BLEU", text_bleu(ours, theirs, language, resamples)),
            ("token BLEU", token_bleu(cut_ours, cut_theirs, resamples)),
        ):
            result[name] = round(bleu.score, 2)
            if bleu.interval is not None:
                result[f"{name} ±"] = round(bleu.interval, 2)
            result[f"{name} signature"] = bleu.signature
        if baseline is not None:
            others = cut(line for (line,) in _some(((line,) for line in read_lines(baseline)), str(baseline)))
            if len(others) != len(pairs):
                raise ValueError(f"{baseline} has {len(others)} lines but {references} has {len(pairs)}")
            own, other = (sentence_statistics(lines, cut_theirs) for lines in (cut_ours, others))
            found = paired_bootstrap(own, other, resamples)
            result["token BLEU above baseline"] = round(found.difference, 2)
            result["95 % of resamples"] = f"{found.low:+.2f} to {found.high:+.2f}"
            result["p (one tail)"] = round(found.p_value, 3)
        show(result, as_json)


def _some(rows: Iterable[tuple[str, ...]], name: str) -> list[tuple[str, ...]]:
    """Lines side by side, all of them, unless they are too many to be compared in memory."""
    found: list[tuple[str, ...]] = []
    characters = 0
    for row in rows:
        found.append(row)
        characters += sum(map(len, row))
        if len(found) > MAX_LINES or characters > MAX_CHARACTERS:
            limit = f"{MAX_LINES:,} lines" if len(found) > MAX_LINES else f"{MAX_CHARACTERS:,} characters"
            raise ValueError(f"{name}: more than {limit}, too many to compare at once; evaluate them in parts")
    return found

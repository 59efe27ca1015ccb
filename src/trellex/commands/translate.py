"""Translate text."""

from __future__ import annotations

import json
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trellex.terminal import Verify, complain, errors_explained, examples, stderr, tell

if TYPE_CHECKING:
    from trellex.translator import Translation

IN_JSON = Path("-")  # alignments in the JSON lines alone


@examples(
    "echo 'where is the nearest museum ?' | trellex translate phrasebook/run --beam 5",
    "trellex translate phrasebook/run test.en --beam 5 --nbest 3",
    "echo 'where is the nearest museum ?' | trellex translate phrasebook/run --attention-picture museum.svg",
)
def translate(
    model: Annotated[Path, typer.Argument(help="An exported model, a run or a checkpoint.")],
    files: Annotated[list[Path] | None, typer.Argument(help="Text to translate; stdin unless given.")] = None,
    output: Annotated[Path | None, typer.Option(help="Write here instead of stdout.")] = None,
    beam: Annotated[int, typer.Option(min=1, help="Hypotheses a sentence; 1 is greedy search.")] = 1,
    nbest: Annotated[
        int, typer.Option(min=1, help="Translations of each sentence, at most --beam; more than 1 as JSON lines.")
    ] = 1,
    length_penalty: Annotated[
        float | None, typer.Option(min=0, help="α: rank by log P / words^α; 0 prefers short ones; 1 unless given.")
    ] = None,
    sample: Annotated[bool, typer.Option(help="Draw translations at random; --nbest says how many.")] = False,
    temperature: Annotated[float, typer.Option(help="Below 1 sampling prefers probable words more.")] = 1.0,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Sample the same again: same seed, text and --batch-tokens.")
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "cpu",
    batch_tokens: Annotated[int, typer.Option(min=1, help="Source words translated side by side.")] = 2048,
    verify: Verify = True,
    threads: Annotated[
        int | None, typer.Option(min=1, help="CPU threads; 1 for an exported model unless given.")
    ] = None,
    decoding: Annotated[str | None, typer.Option(help="paper or exact, instead of the model's own.")] = None,
    tokens: Annotated[bool, typer.Option(help="Print tokens with spaces between instead of text.")] = False,
    replace_unknown: Annotated[
        bool, typer.Option("--replace-unknown", help="Put the source word that was looked at most in place of <unk>.")
    ] = False,
    alignments: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write here which source token each token looked at most: 0-0 2-1, source-target, from 0. "
            "JSON lines then have it, too, and all shares; - puts it there alone.",
        ),
    ] = None,
    attention_picture: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Draw where each token looked: a file .svg or .png of the first line, or a folder of the first 100.",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option(help="Stop at the first line that cannot be translated.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines, with the score of every token.")] = False,
) -> None:
    """Translate text line by line. Order and number of lines are kept, empty lines stay empty.

    A line that is no text or too long is reported and left empty, and the exit status is 1 in the end.
    """
    with errors_explained():
        import numpy as np

        from trellex.files import atomic_writer, check_new_file, check_readable, full_disk_named
        from trellex.heat_map import HeatMaps
        from trellex.line_progress import LineProgress
        from trellex.search import SearchSettings
        from trellex.text.lines import read_chunks
        from trellex.translator import load

        if length_penalty is not None and sample:
            raise ValueError("length_penalty: samples are not ranked; leave one of --length-penalty and --sample out")
        settings = SearchSettings(beam, nbest, 1.0 if length_penalty is None else length_penalty, sample, temperature)
        if seed is not None and not sample:
            raise ValueError("seed: only sampling is random; add --sample, or leave --seed out")
        if not files and sys.stdin is None:
            raise ValueError("stdin is closed; name a file to translate")
        if output is None and not sys.stdout.writable():
            raise ValueError("stdout is closed; name a file to write to with --output")
        if output is None and hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8")
        with_scores = as_json or nbest > 1
        if alignments == IN_JSON and not with_scores:
            raise ValueError("alignments: translations are on stdout; name a file, or add --json")
        for path in files or ():
            check_readable(path)
        for written in (output, alignments):
            if written is not None and written != IN_JSON:
                check_new_file(written)
        pictures = None if attention_picture is None else HeatMaps(attention_picture)
        translator = load(model, threads=threads, device=device, decoding=decoding, verify=verify)
        random, problems, done = np.random.default_rng(seed), 0, 0
        attends = alignments is not None or pictures is not None
        wants = random, with_scores, attends, replace_unknown
        shows_progress = stderr.is_terminal and (output is not None or not sys.stdout.isatty())
        with (
            LineProgress(stderr, files or (), shows_progress) as progress,
            atomic_writer(output) if output else nullcontext(sys.stdout) as file,
            atomic_writer(alignments) if alignments not in (None, IN_JSON) else nullcontext() as aligned,
        ):
            for chunk in read_chunks(files or (), eager=not sample, amount=progress.amount):
                found = translator.search([line.text for line in chunk], settings, batch_tokens, *wants)
                for line, best in zip(chunk, found, strict=True):
                    done += 1
                    problem = line.problem or (best if isinstance(best, str) else None)
                    if problem and strict:
                        raise ValueError(f"{line.place}: {problem}")
                    if problem:
                        problems += 1
                        complain(f"{line.place}: {problem}")
                    translations = [] if isinstance(best, str) else best
                    with full_disk_named(output or "stdout"):
                        file.write(_line(translations, tokens, with_scores, problem) + "\n")
                    attention = translations[0].attention if translations else None
                    if aligned is not None:
                        aligned.write((attention.pharaoh() if attention else "") + "\n")
                    if pictures is not None and attention is not None:
                        pictures.add(done, attention.source, translations[0].tokens, attention.shares)
                with full_disk_named(output or "stdout"):
                    file.flush()
                progress.add(chunk)
        if pictures is not None and pictures.left_out:
            tell(f"{attention_picture}: {pictures.left_out:,} more lines have no picture")
        if problems:
            tell(f"{problems:,} of {done:,} lines could not be translated and are empty; --strict stops at one")
            raise typer.Exit(1)


def _line(translations: list[Translation], tokens: bool, with_scores: bool, problem: str | None) -> str:
    """A line of output: the best translation, or as JSON all of them and the problem, if there is one."""
    texts = [" ".join(each.tokens) if tokens else each.text for each in translations]
    best = texts[0] if texts else ""
    if not with_scores:
        return best
    details = [
        {"translation": text, "score": round(each.score, 6)} | each.scores()
        for each, text in zip(translations, texts, strict=True)
    ]
    error = {"error": problem} if problem else {}
    return json.dumps({"translation": best, "nbest": details} | error, ensure_ascii=False)

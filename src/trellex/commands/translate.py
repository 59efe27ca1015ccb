"""Translate text."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from trellex.commands.bulk import bulk_job, check_for_lines, check_for_ray, check_for_shards, translate_bulk
from trellex.terminal import (
    MODEL_HELP,
    SPELLS_NOTHING,
    SpellUnknown,
    Verify,
    complain,
    errors_explained,
    examples,
    stderr,
    tell,
    warn,
)

IN_JSON = Path("-")  # alignments in the JSON lines alone


@examples(
    "echo 'Where is the nearest museum?' | trellex translate en-ja",
    "echo 'where is the nearest museum ?' | trellex translate phrasebook/run --beam 5",
    "trellex translate phrasebook/run test.en --beam 5 --nbest 3",
    "echo 'where is the nearest museum ?' | trellex translate phrasebook/run --attention-picture museum.svg",
    "trellex translate softmax.int8 test.en --shortlist words.shortlist",
    "trellex translate --model phrasebook.int8 large.en.gz large.ja --shard 3/16",
)
def translate(
    model: Annotated[Path | None, typer.Argument(help=MODEL_HELP)] = None,
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Text to translate; stdin unless given. With --shard or --ray: text, and a folder."),
    ] = None,
    model_option: Annotated[
        Path | None, typer.Option("--model", metavar="MODEL", help="The model; then all arguments are text.")
    ] = None,
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
    spell_unknown: SpellUnknown = False,
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
    shortlist: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Of a softmax model: choose from a list of words for each sentence, which `trellex shortlist` made; "
            "probabilities are those given the list.",
        ),
    ] = None,
    strict: Annotated[bool, typer.Option(help="Stop at the first line that cannot be translated.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines, with the score of every token.")] = False,
    shard: Annotated[
        str | None,
        typer.Option(
            metavar="K/N",
            help="Translate part K of N, from 1, of a file or a folder into a folder; all/N is one after the other.",
        ),
    ] = None,
    column: Annotated[str | None, typer.Option(help="Of Parquet, the one to translate; text unless given.")] = None,
    new_column: Annotated[
        str | None, typer.Option(help="Of Parquet, the one to add; translation unless given.")
    ] = None,
    ray: Annotated[bool, typer.Option("--ray", help="Let the workers of a Ray cluster translate all shards.")] = False,
    ray_address: Annotated[
        str | None, typer.Option(help="Of a cluster that is there, or auto; one is started here unless given.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Of Ray; as many as it has cores unless given.")] = None,
) -> None:
    """Translate text line by line. Order and number of lines are kept, empty lines stay empty.

    A line that is no text or too long is reported and left empty, and the exit status is 1 in the end. Large files are
    translated in shards: MODEL IN OUT --shard 3/16. A finished one is skipped, and a killed one begins again.
    """
    with errors_explained():
        import numpy as np

        from trellex.checksums import sha256
        from trellex.files import atomic_writer, check_new_file, check_readable, full_disk_named
        from trellex.heat_map import HeatMaps
        from trellex.line_progress import LineProgress
        from trellex.output_line import output_line
        from trellex.search import SearchSettings
        from trellex.text.lines import read_chunks
        from trellex.translator import load

        if length_penalty is not None and sample:
            raise ValueError("length_penalty: samples are not ranked; leave one of --length-penalty and --sample out")
        settings = SearchSettings(beam, nbest, 1.0 if length_penalty is None else length_penalty, sample, temperature)
        if seed is not None and not sample:
            raise ValueError("seed: only sampling is random; add --sample, or leave --seed out")
        chosen, texts = _model_and_texts(model, files, model_option)
        with_scores = as_json or nbest > 1
        is_bulk = shard is not None or ray
        check_for_ray(ray, ray_address=ray_address, workers=workers)
        check_for_shards(is_bulk, column=column, new_column=new_column)
        check_for_lines(is_bulk, output=output, alignments=alignments, attention_picture=attention_picture)
        if is_bulk:
            how = {"seed": seed, "batch_tokens": batch_tokens, "decoding": decoding, "tokens": tokens}
            how |= {"replace_unknown": replace_unknown, "scores": with_scores, **asdict(settings)}
            how["spell_unknown"] = spell_unknown
            how["shortlist"] = None if shortlist is None else sha256(shortlist)
            run = {"strict": strict, "threads": threads, "device": device, "verify": verify, "shortlist": shortlist}
            job = bulk_job(chosen, texts, column, new_column, how, **run)
            return translate_bulk(job, shard or "all", ray, ray_address, workers)
        if not texts and sys.stdin is None:
            raise ValueError("stdin is closed; name a file to translate")
        if output is None and not sys.stdout.writable():
            raise ValueError("stdout is closed; name a file to write to with --output")
        if output is None and hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8")
        if alignments == IN_JSON and not with_scores:
            raise ValueError("alignments: translations are on stdout; name a file, or add --json")
        if len(texts) == 2 and texts[0].exists() and (texts[1].is_dir() or not texts[1].exists()):
            raise ValueError(f"{texts[1]}: is no file of text; add --shard all to translate into a folder, or --output")
        for path in texts:
            check_readable(path)
        for written in (output, alignments):
            if written is not None and written != IN_JSON:
                check_new_file(written)
        pictures = None if attention_picture is None else HeatMaps(attention_picture)
        translator = load(
            chosen,
            threads=threads,
            device=device,
            decoding=decoding,
            verify=verify,
            shortlist=shortlist,
            spell_unknown=spell_unknown,
        )
        if spell_unknown and not translator.spells_unknown:
            warn(SPELLS_NOTHING)
        random, problems, done = np.random.default_rng(seed), 0, 0
        attends = alignments is not None or pictures is not None
        wants = random, with_scores, attends, replace_unknown
        shows_progress = stderr.is_terminal and (output is not None or not sys.stdout.isatty())
        with (
            LineProgress(stderr, texts, shows_progress) as progress,
            atomic_writer(output) if output else nullcontext(sys.stdout) as file,
            atomic_writer(alignments) if alignments not in (None, IN_JSON) else nullcontext() as aligned,
        ):
            for chunk in read_chunks(texts, eager=not sample, amount=progress.amount):
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
                        file.write(output_line(translations, tokens, with_scores, problem) + "\n")
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


def _model_and_texts(first: Path | None, others: list[Path] | None, named: Path | None) -> tuple[Path, list[Path]]:
    """Which argument is the model: the first, unless `--model` names it."""
    from trellex.kinds import CHECKPOINT, EXPORT, RUN, kinds_of

    texts = list(others or ())
    if named is None and first is None:
        raise ValueError(
            "model: give an exported model, a run or a checkpoint, or en-ja or ja-en, and then text; or --model MODEL"
        )
    if named is None and first is not None:
        if first.is_file():
            raise ValueError(f"{first}: is a file, no model; give the model before it, or as --model MODEL")
        return first, texts
    assert named is not None
    texts = texts if first is None else [first, *texts]
    for path in texts:
        kind = next((kind for kind in kinds_of(path) if kind in (EXPORT, RUN, CHECKPOINT)), None)
        if kind is not None:
            raise ValueError(f"{path}: is {kind}, but with --model {named} all arguments are text; leave one out")
    return named, texts

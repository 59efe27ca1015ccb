"""The command line: one function a verb."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from trellex.terminal import complain, errors_explained, show, stderr, with_options_of
from trellex.text import PrepareSettings
from trellex.text import prepare as prepare_corpus

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    help="Translate with an output layer that costs O(log V): prepare a corpus, train, translate, score, evaluate; "
    "export for CPUs; train whole grids and report them.",
    epilog="Start with: python -m trellex.phrasebook phrases && trellex prepare --help",
)

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


@app.command(epilog="Example: trellex prepare data --train-source train.en --train-target train.ja --dev-source dev.en "
             "--dev-target dev.ja --source-language en --target-language ja --target-tokenizer whitespace")  # fmt: skip
@with_options_of(PrepareSettings)
def prepare(
    folder: Annotated[Path, typer.Argument(help="Where to put the prepared corpus.")],
    *,
    as_json: Json = False,
    **options: Any,
) -> None:
    """Turn line-aligned text into a folder of word ids that training reads. Does nothing if nothing changed."""
    with errors_explained():
        settings = PrepareSettings(**options)
        columns = TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:,}"), TimeElapsedColumn()
        with Progress(*columns, console=stderr, disable=not stderr.is_terminal) as progress:
            tasks: dict[str, Any] = {}

            def report(stage: str, done: int, total: int | None) -> None:
                if stage not in tasks:
                    tasks[stage] = progress.add_task(stage, total=total)
                progress.update(tasks[stage], completed=done, total=total)

            manifest = prepare_corpus(settings, folder, report)
        result: dict[str, Any] = {"folder": str(folder)}
        for name, split in manifest.splits.items():
            result[f"{name} pairs"] = split.pairs
        result |= {"source words": manifest.source_vocabulary, "target words": manifest.target_vocabulary}
        show(result, as_json)


@app.command(epilog="Example: trellex train recipes/phrasebook.yaml --head binary-ec --output runs/binary-ec")
def train(
    recipe: Annotated[Path, typer.Argument(help="A YAML file; see the recipes folder.")],
    head: Annotated[
        str | None, typer.Option(help="Another output layer than the recipe's: a name, or '{type: …}'.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Another output folder than the recipe's.")] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed than the recipe's.")] = None,
    max_steps: Annotated[int | None, typer.Option(help="Another number of batches than the recipe's.")] = None,
    quiet: Annotated[bool, typer.Option(help="Show no progress.")] = False,
    as_json: Json = False,
) -> None:
    """Train a model. Interrupted runs go on where they were when the same command is given again."""
    with errors_explained():
        from trellex.evaluation.curve import averaged_test_bleu, best_evaluation
        from trellex.training.display import Display
        from trellex.training.processes import is_first_process
        from trellex.training.recipe import load_recipe
        from trellex.training.trainer import Trainer

        settings = load_recipe(recipe, head=head, output=output, seed=seed, max_steps=max_steps)
        trainer = Trainer(settings, Display(settings.head.type, quiet or not is_first_process()))
        evaluations = trainer.run()
        if not trainer.processes.is_first:
            return
        if trainer.was_interrupted:
            stderr.print(f"stopped at step {trainer.step:,}; the same command goes on from there")
        result: dict[str, Any] = {"output": str(settings.output), "step": trainer.step}
        if evaluations:
            best = best_evaluation(evaluations)
            result |= {"best step": best.step, "dev BLEU": round(best.dev, 2)}
            if best.test is not None:
                average = averaged_test_bleu(evaluations)
                result |= {"test BLEU": round(best.test, 2), "test BLEU, mean of 5": round(average or 0.0, 2)}
        show(result, as_json)
        if trainer.was_interrupted:
            raise typer.Exit(130)


@app.command(epilog="Example: trellex experiment recipes/grids/phrasebook.yaml\n\n"
             "Example: trellex experiment grid.yaml --only hybrid --only softmax --at-once 4")  # fmt: skip
def experiment(
    grid: Annotated[Path, typer.Argument(help="A YAML file; see recipes/grids.")],
    at_once: Annotated[
        int | None, typer.Option(min=1, help="Another number of trainings side by side than the grid's.")
    ] = None,
    only: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Only cells whose name has this in it; may be repeated.")
    ] = None,
    timing: Annotated[bool, typer.Option(help="Time the cells when all are trained.")] = True,
    list_cells: Annotated[bool, typer.Option("--list", help="Show the cells and how far they are, and end.")] = False,
    as_json: Json = False,
) -> None:
    """Train a grid of output layers, corpora and seeds, several at a time, and write a result file a cell.

    Every cell is trained by its recipe in a process of its own, then scored on
    the test set with its best checkpoint. In the end all of one prepared corpus
    are timed together, unless they have been.
    Cells with a result are not trained again, and interrupted ones go on where
    they were when the same command is given again.
    A training that fails stops no other; its log is in the folder of its run.
    """
    with errors_explained():
        from trellex.experiment.display import table
        from trellex.experiment.grid import Grid
        from trellex.experiment.runner import Runner

        runner = Runner(Grid.load(grid), only or (), at_once)
        if not list_cells:
            runner.run(timing, stderr)
        if as_json:
            print(json.dumps([status.row() for status in runner.statuses], ensure_ascii=False))
        else:
            Console().print(table(runner.statuses))
        for status in runner.failed:
            complain(f"{status.job.name}: {status.problem}")
        if runner.was_stopped:
            stderr.print("stopped; the same command goes on from there")
            raise typer.Exit(130)
        if runner.failed:
            raise typer.Exit(1)


@app.command(epilog="Example: echo 'where is the station ?' | trellex translate phrasebook/run --beam 5\n\n"
             "Example: trellex translate phrasebook/run test.en --beam 5 --nbest 3")  # fmt: skip
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
    threads: Annotated[
        int | None, typer.Option(min=1, help="CPU threads; 1 for an exported model unless given.")
    ] = None,
    decoding: Annotated[str | None, typer.Option(help="paper or exact, instead of the model's own.")] = None,
    tokens: Annotated[bool, typer.Option(help="Print tokens with spaces between instead of text.")] = False,
    strict: Annotated[bool, typer.Option(help="Stop at the first line that cannot be translated.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines, with the score of every token.")] = False,
) -> None:
    """Translate text line by line. Order and number of lines are kept, empty lines stay empty.

    A line that is no text or too long is reported and left empty, and the exit status is 1 in the end.
    """
    with errors_explained():
        import numpy as np

        from trellex.files import atomic_writer
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
        if output is None and sys.stdout is None:
            raise ValueError("stdout is closed; name a file to write to with --output")
        if output is None and hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8")
        for path in files or ():
            _check_readable(path)
        translator = load(model, threads=threads, device=device, decoding=decoding)
        random, with_scores, problems, done = np.random.default_rng(seed), as_json or nbest > 1, 0, 0
        shows_progress = stderr.is_terminal and (output is not None or not sys.stdout.isatty())
        columns = TextColumn("{task.completed:,} lines"), TimeElapsedColumn()
        with (
            Progress(*columns, console=stderr, disable=not shows_progress) as progress,
            atomic_writer(output) if output else nullcontext(sys.stdout) as file,
        ):
            task = progress.add_task("", total=None)
            for chunk in read_chunks(files or (), eager=not sample):
                found = translator.search([line.text for line in chunk], settings, batch_tokens, random, with_scores)
                for line, best in zip(chunk, found, strict=True):
                    problem = line.problem or (best if isinstance(best, str) else None)
                    if problem and strict:
                        raise ValueError(f"{line.place}: {problem}")
                    if problem:
                        problems += 1
                        complain(f"{line.place}: {problem}")
                    file.write(_line([] if isinstance(best, str) else best, tokens, with_scores, problem) + "\n")
                file.flush()
                done += len(chunk)
                progress.update(task, completed=done)
        if problems:
            stderr.print(f"{problems:,} of {done:,} lines could not be translated and are empty; --strict stops at one")
            raise typer.Exit(1)


def _line(translations: list[Any], tokens: bool, with_scores: bool, problem: str | None) -> str:
    """A line of output: the best translation, or as JSON all of them and the problem, if there is one."""
    texts = [" ".join(each.tokens) if tokens else each.text for each in translations]
    best = texts[0] if texts else ""
    if not with_scores:
        return best
    details = [
        {"translation": text, "score": round(each.score, 6)} | _scores(each)
        for each, text in zip(translations, texts, strict=True)
    ]
    error = {"error": problem} if problem else {}
    return json.dumps({"translation": best, "nbest": details} | error, ensure_ascii=False)


def _check_readable(path: Path) -> None:
    if path.is_dir():
        raise IsADirectoryError(f"{path}: is a folder; give the name of a file")
    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file")


def _scores(translation: Any) -> dict[str, Any]:
    """What JSON tells of a translation: log-probabilities of its tokens, the end of the sentence among them."""
    ended = len(translation.log_probs) > len(translation.tokens)
    return {
        "log_prob": round(sum(translation.log_probs), 6),
        "tokens": translation.tokens + ["</s>"] * ended,
        "log_probs": [round(log_prob, 6) for log_prob in translation.log_probs],
    }


@app.command(epilog="Example: trellex score phrasebook/run test.en test.ja --calibration")
def score(
    model: Annotated[Path, typer.Argument(help="An exported model, a run or a checkpoint.")],
    sources: Annotated[Path, typer.Argument(help="Sentences, one a line.")],
    translations: Annotated[Path, typer.Argument(help="Their translations, line by line.")],
    output: Annotated[Path | None, typer.Option(help="Write the scores of every line here, as JSON lines.")] = None,
    calibration: Annotated[bool, typer.Option(help="Tell how often a word of probability p is right.")] = False,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "cpu",
    batch_tokens: Annotated[int, typer.Option(min=1, help="Source words scored side by side.")] = 2048,
    threads: Annotated[
        int | None, typer.Option(min=1, help="CPU threads; 1 for an exported model unless given.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Log-probability and perplexity of given translations, the end of each sentence included.

    Probabilities sum to 1 over the vocabulary whatever the output layer is, so models of one vocabulary compare.
    Unknown words count as the word <unk>, and lines with an empty source are skipped.
    """
    with errors_explained():
        from trellex.evaluation import Calibration
        from trellex.files import atomic_writer
        from trellex.text.lines import read_pairs
        from trellex.translator import load

        for path in (sources, translations):
            _check_readable(path)
        translator = load(model, threads=threads, device=device)
        table = Calibration()

        def observe(state: Any, words: Any) -> None:
            best, log_probs = translator.model.topk(state, 1)
            table.add(best[:, 0], log_probs[:, 0], words)

        scored, skipped = [], 0
        pairs = read_pairs(sources, translations)
        with nullcontext() if output is None else atomic_writer(output) as file:
            for each in translator.score(pairs, batch_tokens, observe if calibration else None):
                skipped += each is None
                if each is not None:
                    scored.append(each)
                if file is not None:
                    file.write(json.dumps(None if each is None else _scores(each), ensure_ascii=False) + "\n")
            if not scored:
                raise ValueError(f"{sources}: no sentences to score")
        tokens, total = sum(len(each.log_probs) for each in scored), sum(sum(each.log_probs) for each in scored)
        result: dict[str, Any] = {"sentences": len(scored), "tokens": tokens}
        if skipped:
            result["skipped for an empty source"] = skipped
        result |= {
            "unknown tokens": sum(each.tokens.count("<unk>") for each in scored),
            "log-probability": round(total, 3),
            "perplexity": round(math.exp(min(-total / tokens, 700)), 4),
        }
        if calibration:
            result["calibration error"] = round(table.error(), 4)
            if as_json:
                result["bands"] = [band._asdict() for band in table.bands()]
            else:
                for band in table.bands():
                    name = f"probability {band.low:.1f}–{band.high:.1f}"
                    result[name] = f"mean {band.probability:.3f}, right {band.right:.3f}, {band.words:,} words"
        show(result, as_json)


@app.command(
    epilog="Example: trellex evaluate translations.ja test.ja --language ja --tokenizer mecab --baseline other.ja"
)
def evaluate(
    hypotheses: Annotated[Path, typer.Argument(help="Translations, one a line.")],
    references: Annotated[Path, typer.Argument(help="What they should be, line by line.")],
    language: Annotated[str, typer.Option(help="The language of the text.")] = "en",
    tokenizer: Annotated[str, typer.Option(help="Tokeniser for token BLEU.")] = "whitespace",
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
        from trellex.text.lines import read_lines, read_pairs
        from trellex.text.tokenizers import build_tokenizer

        pairs = list(read_pairs(hypotheses, references))
        if not pairs:
            raise ValueError(f"{references}: no lines to compare with")
        if baseline is not None and not resamples:
            raise ValueError("resamples: a baseline is compared by bootstrap; leave --resamples out")
        ours, theirs = zip(*pairs, strict=True)
        tokenize = build_tokenizer(tokenizer, language).tokenize

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
            others = cut(read_lines(baseline))
            if len(others) != len(pairs):
                raise ValueError(f"{baseline} has {len(others)} lines but {references} has {len(pairs)}")
            own, other = (sentence_statistics(lines, cut_theirs) for lines in (cut_ours, others))
            found = paired_bootstrap(own, other, resamples)
            result["token BLEU above baseline"] = round(found.difference, 2)
            result["95 % of resamples"] = f"{found.low:+.2f} to {found.high:+.2f}"
            result["p (one tail)"] = round(found.p_value, 3)
        show(result, as_json)


@app.command(epilog="Example: trellex report results/phrasebook --output report")
def report(
    results: Annotated[Path, typer.Argument(help="A folder of result files, as `trellex experiment` leaves it.")],
    output: Annotated[Path, typer.Option(help="The folder for the report; made if it is not there.")],
    as_json: Json = False,
) -> None:
    """Make tables and figures of an experiment: report.md, index.html, and figures as SVG and PNG.

    The paper's table, with its figures beside ours, BLEU with intervals, training curves, bit errors, rare words.
    The same results always give the same bytes.
    """
    with errors_explained():
        from trellex.report.page import write_report

        files = write_report(results, output)
        pages = [str(path) for path in files if path.parent == output]
        if as_json:
            print(json.dumps([str(path) for path in files], ensure_ascii=False))
        else:
            print(*pages, f"and {len(files) - len(pages)} files of figures", sep="\n")


@app.command(epilog="Example: trellex export phrasebook/run phrasebook.int8")
def export(
    model: Annotated[Path, typer.Argument(help="A run or a checkpoint.")],
    folder: Annotated[Path, typer.Argument(help="Where to put the exported model.")],
    precision: Annotated[str, typer.Option(help="fp32, or int8: faster, and somewhat smaller.")] = "int8",
    decoding: Annotated[str | None, typer.Option(help="paper or exact, instead of the model's own.")] = None,
    as_json: Json = False,
) -> None:
    """Write a model for CPUs: `trellex translate` runs it with ONNX Runtime and without torch."""
    with errors_explained():
        from trellex.runtime.export import export as export_model
        from trellex.training.loading import load_checkpoint

        export_model(load_checkpoint(model, decoding=decoding), folder, precision)
        files = {path.name: path.stat().st_size for path in sorted(folder.iterdir())}
        show({"folder": str(folder), "precision": precision, "bytes": sum(files.values()), **files}, as_json)


@app.command(epilog="Example: trellex info phrasebook/run")
def info(
    model: Annotated[Path, typer.Argument(help="An exported model, a run or a checkpoint.")],
    as_json: Json = False,
) -> None:
    """The paper's columns: bits, outputs, and parameters of the output layer and of all, against softmax.

    Of an exported model: what it is, and whether all of its files are as they were written.
    """
    with errors_explained():
        from trellex.runtime.folder import Export, is_export

        if is_export(model):
            export = Export.open(model)
            export.verify()
            manifest = export.manifest
            facts: dict[str, Any] = {"head": manifest.head.as_text(), "precision": manifest.precision}
            facts |= {"target words": manifest.vocab_size, "from": manifest.text.source_language}
            facts |= {"to": manifest.text.target_language, "decoding": getattr(manifest.head, "decoding", "exact")}
            facts |= {"bytes": sum(size for size, _ in manifest.files.values()), "checksums": "right"}
            show(facts, as_json)
            return
        from trellex.evaluation.size import Size
        from trellex.training.loading import load_checkpoint

        loaded = load_checkpoint(model)
        show({"head": loaded.head.as_text(), "step": loaded.step, **Size.of(loaded.model).columns()}, as_json)


if __name__ == "__main__":
    app()
